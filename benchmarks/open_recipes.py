"""Run the papers' recipes on open collections.

    python -m benchmarks.open_recipes DATA --model FOLDER [--recipe NAME ...] [--collection NAME ...]

FOLDER is the cross-encoder of `benchmarks.gains`, which replaces every published passage model. MiniLM replaces
untrained encoders, and the two tiny models of `benchmarks.doc2query_path` replace doc2query. Each of `CASES` is one
`longrank reproduce` command, reduced by its settings (fewer documents, a frozen encoder, few steps). Finished cases
are not run again, and earlier figures stay, so no folder must be kept. Equal conditions (titles and descriptions,
topics of other years) are run once; some recipes run on several collections. Figures go to docs/results/recipes.json,
and as tables to docs/recipes.md. With `--print`, only the commands are printed.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.gains_report import record_of, still_rising
from benchmarks.gains_tasks import TASKS, Task, evaluated_queries, run, weights_of, write_qrels, write_queries
from benchmarks.open_recipes_cases import CASES, CROSS, PREDICTORS, ROUND, UNTRAINED, Case
from benchmarks.open_recipes_report import as_markdown
from benchmarks.training_examples import sample
from benchmarks.training_pools import read_collection
from longrank.reproduction.folders import fingerprint, identity_of
from longrank.reproduction.recipe_files import load_recipe
from longrank.reproduction.selection import select_recipes

PARTLY_TRAINED_ON = {
    **{name: task for name, task in TASKS.items() if name != "time"},
    "scifact": Task("scifact", "nDCG@10", 20, None, "split dev"),
}
"""Collections of which only the queries are taken that nothing was trained on."""


def main() -> None:
    """Run the cases, and write the figures of all cases that have run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", type=Path, required=True, help="the cross-encoder")
    parser.add_argument("--predictors", type=Path, default=Path("work/doc2query"), help="of benchmarks.doc2query_path")
    names = list(dict.fromkeys(case.recipe for case in CASES))
    parser.add_argument("--recipe", action="append", choices=names, metavar="NAME", help="only this one; repeatable")
    places = list(dict.fromkeys(case.collection for case in CASES))
    parser.add_argument("--collection", action="append", choices=places, help="only on this one; repeatable")
    parser.add_argument("--folder", type=Path, default=Path("work/open"))
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    parser.add_argument("--print", action="store_true", help="print the commands, and run nothing")
    args = parser.parse_args()
    models = models_of(args.model, args.predictors)
    asked = [
        case
        for case in CASES
        if case.recipe in (args.recipe or names) and case.collection in (args.collection or [case.collection])
    ]
    if not asked:
        parser.error("no such recipe on such a collection")
    if args.print:
        for case in asked:
            command = command_of(case, models, place_of(args.data, case.collection, args.folder), args.folder)
            print(shlex.join(["longrank", *command]))
    else:
        args.folder.mkdir(parents=True, exist_ok=True)
        for case in asked:
            run(*command_of(case, models, prepared(args.data, case.collection, args.folder), args.folder))
        path = args.results / "recipes.json"
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        found = rows_of(CASES, args.folder, models, known)
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        (args.results.parent / "recipes.md").write_text(as_markdown(found, waiting(found)), encoding="utf-8")


def models_of(cross_encoder: Path, predictors: Path) -> dict[str, str]:
    """Return the models that cases name."""
    predict = {name: str(predictors / name / "model") for name in PREDICTORS}
    return {CROSS: str(cross_encoder), UNTRAINED: UNTRAINED, **predict}


def command_of(case: Case, known: Mapping[str, str], collection: Path, folder: Path) -> list[str]:
    """Return the arguments of `longrank` that reproduce a case."""
    models = [part for role, which in case.models.items() for part in ("--model", f"{role}={known[which]}")]
    settings = [part for one in case.settings for part in ("--set", one)]
    given = str(collection) if case.collection == ROUND else f"{case.collection}={collection}"  # not in the catalogue
    where = ("--collection", given, "-o", str(folder / case.collection))
    return ["reproduce", case.recipe, *where, *models, *settings]


def place_of(data: Path, collection: str, folder: Path) -> Path:
    """Return the collection's folder: as it is, or one that is made of it."""
    made = collection == ROUND or collection in PARTLY_TRAINED_ON
    return folder / "collections" / collection if made else data / collection


def prepared(data: Path, collection: str, folder: Path) -> Path:
    """Return the collection's folder, after writing it where it is ours; queries.jsonl is written last."""
    place = place_of(data, collection, folder)
    if place.parent != data and not (place / "queries.jsonl").exists():
        place.mkdir(parents=True, exist_ok=True)
        if collection == ROUND:
            _write_round(data / "time", place)
        else:
            _write_evaluated(data, PARTLY_TRAINED_ON[collection], place)
    return place


def _write_round(source: Path, place: Path) -> None:
    """Draw half of the documents for each query, by the SHA-256 of both ids: they were judged, most as irrelevant."""
    shutil.copy(source / "docs.jsonl.gz", place)
    documents, _, qrels = read_collection(source)
    doc_ids = [document.doc_id for document in documents]
    now, before = {}, {}
    for query_id, judged in qrels.items():
        drawn = sample(doc_ids, len(doc_ids) // 2, 0, lambda doc_id, query_id=query_id: f"{query_id} {doc_id}")
        before[query_id] = {doc_id: judged.get(doc_id, 0) for doc_id in drawn}
        now[query_id] = {doc_id: grade for doc_id, grade in judged.items() if doc_id not in before[query_id]}
    write_qrels(now, place / "qrels.txt")
    write_qrels(before, place / "judged-before.txt")
    shutil.copy(source / "queries.jsonl", place)


def _write_evaluated(data: Path, task: Task, place: Path) -> None:
    source, queries = data / task.collection, evaluated_queries(data, task)
    kept = {query.query_id for query in queries}
    shutil.copy(source / "docs.jsonl.gz", place)
    for name in ("qrels.txt", "passage_qrels.txt"):
        lines = (source / name).read_text(encoding="utf-8").splitlines(keepends=True)
        (place / name).write_text("".join(one for one in lines if one.split()[0] in kept), encoding="utf-8")
    write_queries(queries, place / "queries.jsonl")


def result_of(case: Case, folder: Path) -> Path:
    """Return where a case's figures are."""
    return folder / case.collection / case.recipe / "results.json"


def rows_of(
    cases: Sequence[Case], folder: Path, models: Mapping[str, str], known: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return a row for each case that was run, here or, by the same command, before.

    Args:
        cases: in the order of the rows.
        folder: where they were run.
        models: which models the cases' names stand for.
        known: rows of before.
    """
    before = {one["command"]: one for one in known}
    found: list[Mapping[str, Any]] = []
    for case in cases:
        if was_run(case, folder, models):
            weights = {"cross_encoder": weights_of(Path(models[CROSS]))} if CROSS in case.models.values() else {}
            found.append(as_row(case, folder) | weights)
        elif shown_command(case) in before:
            found.append(before[shown_command(case)])
    return found


def waiting(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the cases without a row."""
    there = {(one["recipe"], one["collection"]) for one in found}
    return [f"`{case.recipe}` on {case.collection}" for case in CASES if (case.recipe, case.collection) not in there]


def was_run(case: Case, folder: Path, models: Mapping[str, str]) -> bool:
    """Say whether a case's figures are there, of its settings as they are now and of these models."""
    if not result_of(case, folder).exists():
        return False
    known = identity_of(result_of(case, folder).parent)
    own = {role: fingerprint(models[which]) for role, which in case.models.items()}
    (asked,) = select_recipes([case.recipe], case.settings, own)
    return bool((known["settings"], known["models"]) == (json.loads(json.dumps(asked.recipe.settings)), own))


def shown_command(case: Case) -> str:
    """Return the command of a case as a reader would type it."""
    folder = Path("work/open")
    models = models_of(Path("CROSS-ENCODER"), Path("work/doc2query"))
    command = command_of(case, models, place_of(Path("DATA"), case.collection, folder), folder)
    return shlex.join(["longrank", *command])


def as_row(case: Case, folder: Path) -> dict[str, Any]:
    """Return the record of a case: its settings, published figures and obtained figures."""
    result = json.loads(result_of(case, folder).read_text(encoding="utf-8"))
    kept = {key: result[key] for key in ("recipe", "paper", "item", "about", "collection", "queries")}
    rows = [
        {key: row[key] for key in ("row", "published", "obtained", "p", "series", "x") if key in row}
        for row in result["rows"]
        if row["obtained"]
    ]
    how = load_recipe(case.recipe)[0].significance
    test = {} if how is None else {"compare_with": how.baseline, "alpha": how.alpha}
    late = not_converged(result_of(case, folder).parent)
    return {**kept, "command": shown_command(case), "significance": test, "late": late, "rows": rows}


def not_converged(folder: Path) -> dict[str, str]:
    """Return a recipe's trainings that were best on dev at their last validation, and in how many folds."""
    records: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(folder.glob("**/record.json")):
        name = re.sub(r"-s\d+-model$", "", path.relative_to(folder).parts[0])  # a training for each fold
        records.setdefault(name, []).append(record_of(path.parent))
    validated = {name: [one for one in own if one["validations"]] for name, own in records.items()}
    late = {name: sum(map(still_rising, own)) for name, own in validated.items()}
    return {name: f"{n} of {len(validated[name])}" for name, n in late.items() if n}


if __name__ == "__main__":
    main()
