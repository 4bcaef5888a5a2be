"""The papers' recipes on open collections: what their tables and figures look like there.

    python -m benchmarks.open_recipes DATA --model FOLDER [--recipe NAME ...] [--collection NAME ...]

FOLDER is the cross-encoder of `benchmarks.gains`, which stands for every published model of passages; MiniLM stands
for encoders that have seen no query yet, and the two tiny models of `benchmarks.doc2query_path` for doc2query. Each of
`CASES` is one `longrank reproduce` command, smaller than the paper's as its settings say (fewer documents, a frozen
encoder, few steps). What was finished is not done again, and figures that were written before stay, so that no folder
need be kept. Of conditions that would be the same here (titles and descriptions, topics
of other years) one is run; some recipes are run on several collections. Figures go to docs/results/recipes.json, and
as tables to docs/recipes.md. With `--print`, the commands alone.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gains_report import record_of, still_rising
from benchmarks.gains_tasks import TASKS, Task, evaluated_queries, run, weights_of, write_qrels, write_queries
from benchmarks.training_examples import sample
from longrank.evaluation.render import markdown_text, pipes
from longrank.formats.trec import read_qrels
from longrank.reproduction.asked import ask
from longrank.reproduction.folders import fingerprint, identity_of
from longrank.reproduction.recipe import load_recipe
from longrank.types import Notes

CROSS, UNTRAINED = "cross-encoder", "minilm"
PREDICTORS = ("first", "second")

PARTLY_TRAINED_ON = {
    **{name: task for name, task in TASKS.items() if name != "time"},
    "scifact": Task("scifact", "nDCG@10", 20, None, "split dev"),
}
"""Collections of which only the queries are taken that nothing was trained on."""
ROUND = "time-round2"
"""TIME as a second round: half of each query's relevant documents were judged in the round before."""


class Case(NamedTuple):
    """A recipe on an open collection, with its models (role -> which) and settings."""

    recipe: str
    collection: str
    models: Mapping[str, str] = {}
    settings: Sequence[str] = ()


SHALLOW = ("train.samples.depth=20", "train.test.depth=20")
FROZEN = (*SHALLOW, "train.network.frozen=true", "train.loop.optimizer.learning_rate=1e-3")
REREAD = tuple(f"runs.mpiid5_run{n}.depth={depth}" for n, depth in ((3, 50), (2, 20), (1, 20)))
"""TREC-COVID's runs, over fewer documents."""
STANDALONE = (*FROZEN, "train.loop.steps=200")
"""The aggregator alone, 200 steps of 32 documents, by PARADE's own code."""
PAIRS = (
    *FROZEN,
    "train.validation.depth=20",
    "train.loop.steps=216",
    "train.loop.validate_every=24",
    "train.loop.schedule.options.epoch_steps=6",
)
"""The aggregator alone by PARADE's text: 36 epochs of 6 batches of 24 pairs."""
FEW = ("queries=24", "train.samples.depth=10", "train.test.depth=10")
BATCHES = ("train.loop.steps=24", "train.loop.batch=8", "train.loop.precision=bf16")
ONE_OUTPUT = "train.network.options.outputs=1"  # as the cross-encoder has
BY_EIGHT = ("train.loop.validate_every=8", "train.loop.schedule.options.epoch_steps=1")
PASSAGES = (*FEW, "train.validation.depth=10", ONE_OUTPUT, *BATCHES, *BY_EIGHT)
"""The whole network by MAXP's protocol, on 24 queries: 24 batches of 8 pairs of passages."""
DAI_CALLAN = (*FEW, 'train.network.options={outputs=1,score="logit"}', *BATCHES)
"""The whole network by Dai and Callan's, on single passages."""
EIGHT = ("train.loop.steps=8", *BATCHES[1:], "train.loop.validate_every=4")
CEDR = (*FEW, "train.validation.depth=10", *EIGHT)
"""The whole network by CEDR's protocol: eight batches of pairs of documents in each of many trainings."""
SURVEY = (*CEDR, BY_EIGHT[1])
"""The same by Capreolus', whose learning rate goes by epochs."""
CEDR_PAIRS = (*FEW, "train.validation.depth=10", *BATCHES, *BY_EIGHT)
"""The same, 24 batches."""
PFT = 'systems=["BERT-Base","BERT-Base (pFT)"]'
ENCODERS = {"electra": CROSS}
SIZES = ('sizes=["base","mini"]', "layers.mini=3")
RATES = ('systems=["BERT-Base (pFT)"]', "rates=[0.5]", "seeds=[0]")
ON_BERT = 'systems=["KNRM, BERT","CEDR-KNRM, BERT"]'
VANILLA = 'systems=["VanillaBERT, BERT-MSM"]'
NO_RM3_GRID = "rm3_grid={}"
PARADE_SYSTEMS = (
    'systems=["BM25","BM25+RM3","Birch-Passage","PARADE-Avg","PARADE-Sum","PARADE-Max","PARADE-Attn","PARADE-CNN",'
    '"PARADE-Transformer"]'
)
GENOMICS_SYSTEMS = PARADE_SYSTEMS.replace('"BM25+RM3",', "")
SMALL_GRID = tuple(
    f"tune.{axis}={values}"
    for axis, values in {
        "k1": "0.6,0.75",
        "b": "0.55,0.75",
        "fb_terms": "45,105",
        "fb_docs": "5,20",
        "original_query_weight": "0.2,0.3",
    }.items()
)
WEAK_LABELS = ("label_depth=30", "train.loop.steps=150", "train.loop.validate_every=50")
ONE_CROSS = ('trained_on=["MSM"]',)
MB = {"MB": CROSS}
ONE_MODEL = ('trained_on=["MB"]', "depth=20")
TWO_PREDICTORS = dict(zip(("doc2query-msmarco", "doc2query-car"), PREDICTORS, strict=True))
BERTS = dict.fromkeys(("bert-msmarco", "bert-msmarco-microblog"), CROSS)

CASES = (
    Case("santos/table1-2002", "time"),
    Case("santos/table2-2002", "time", {"encoder": UNTRAINED}, WEAK_LABELS),
    Case("santos/figure2", "time", {"encoder": UNTRAINED}),
    Case("santos/figure3", "time", {"encoder": UNTRAINED}, ("depth=[10,20,30,40,50]",)),
    Case("santos/table5", "time", {"base": UNTRAINED}, ('sizes=["base"]',)),
    Case("santos/table6-2002", "time", {"base": UNTRAINED}, ('sizes=["base"]',)),
    Case("santos/table6-2002", "squad-dev-mixed", {"base": UNTRAINED}, ('sizes=["base"]', "queries=200")),
    Case("santos/table6-2002", "scifact", {"base": UNTRAINED}, ('sizes=["base"]',)),
    Case("birch/table1.1-microblog", "time"),
    Case("birch/table1.2-msmarco", "time", settings=('triples=""',)),
    Case("birch/table1.3-car", "time"),
    Case("birch/results-robust04", "time", {"MSM": CROSS}, (*ONE_CROSS, "depth=20")),
    Case("birch/results-robust04", "squad-dev-mixed", {"MSM": CROSS}, (*ONE_CROSS, "depth=10", "queries=200")),
    Case("birch/results-robust04", "scifact", {"MSM": CROSS}, (*ONE_CROSS, "depth=20")),
    Case("birch/sentences-robust04", "time", {"bert": CROSS}, ("depth=20", "sentences=6")),
    Case("birch/first-version-five-folds", "time", MB, (*ONE_MODEL, *SMALL_GRID)),
    Case("birch/first-version-two-folds", "time", MB, (*ONE_MODEL, *SMALL_GRID)),
    Case("birch/birch-passage-title", "time", {"ELECTRA pFT": CROSS}, ('encoders=["ELECTRA pFT"]', *PAIRS)),
    Case("parade/table1-robust04", "time", {"tokenizer": UNTRAINED}),
    Case("parade/table1-robust04", "cranfield", {"tokenizer": UNTRAINED}),
    Case("parade/table1-robust04", "squad-dev-mixed", {"tokenizer": UNTRAINED}),
    Case("parade/table1-robust04", "squad-dev-sections", {"tokenizer": UNTRAINED}),
    Case("parade/table1-robust04", "qmsum", {"tokenizer": UNTRAINED}),
    Case("parade/table1-robust04", "scifact", {"tokenizer": UNTRAINED}),
    Case("parade/table2-gov2-title", "time", ENCODERS, (PARADE_SYSTEMS, *PAIRS)),
    Case("parade/table3-genomics", "qmsum", ENCODERS, (GENOMICS_SYSTEMS, *PAIRS)),
    Case("parade/table4-dl19", "time", ENCODERS, STANDALONE),
    Case("parade/table5-ntcir-www3", "time", ENCODERS, STANDALONE),
    Case("parade/table6-robust04-title", "time", ENCODERS, (NO_RM3_GRID, *PAIRS)),
    Case("parade/table7-robust04-title", "time", {"base": CROSS}, (*SIZES, *STANDALONE)),
    Case("parade/table8-gov2-title", "time", {"base": CROSS}, ("train_passages=[2,8]", "passages=[2,8]", *STANDALONE)),
    Case("parade/table9-genomics", "qmsum"),
    Case("parade/table9-gov2", "qmsum", settings=('options=["--level","1"]',)),
    Case("parade/table10-covid-round2", ROUND, ENCODERS, (*REREAD, *STANDALONE)),
    Case("parade/journal-table12-robust04-title", "time", ENCODERS, PAIRS),
    Case("parade/readme-standalone-robust04-title", "time", ENCODERS, STANDALONE),
    Case("parade/readme-capreolus-robust04-title", "time", ENCODERS, PAIRS),
    Case("parade/readme-checkpoints-msmarco-passage", "time", ENCODERS, ('systems=["ELECTRA-Base"]', "depth=20")),
    Case("parade/cedr-robust04-title", "time", {"base": CROSS}, CEDR),
    Case("parade/survey-cedr-robust04-title", "time", {"bert": CROSS}, (ON_BERT, *SURVEY)),
    Case("parade/readme-cedr-robust04-title", "time", {"bert-msm": CROSS}, (VANILLA, *CEDR_PAIRS)),
    Case("parade/figure3-gov2-title", "qmsum", {"base": CROSS}, ("passages=[4,16]", *STANDALONE)),
    Case("maxp/figure1-samples-robust04", "cranfield", settings=("rates=[0.3,0.5,0.7,0.9]",)),
    Case("maxp/figure1-robust04-title", "cranfield", {"bert-base-pft": CROSS}, (*RATES, *PASSAGES)),
    Case("maxp/table1a-robust04-title", "time", {"bert-base": CROSS}, DAI_CALLAN),
    Case("maxp/table1b-robust04-title", "time", {"bert-base": CROSS}, PASSAGES),
    Case("maxp/table2-robust04-title", "time", {"bert-base": UNTRAINED, "bert-base-pft": CROSS}, (PFT, *PASSAGES)),
    Case("maxp/table3a-robust04-title", "time", {"bert-base-pft": CROSS}, ('systems=["MS MARCO alone"]', *SHALLOW)),
    Case("h2oloo/table1-passage", "cranfield", {"bert": CROSS, **TWO_PREDICTORS}, ("depth=20", "predicted=2")),
    Case("h2oloo/table2-document", "time", {**BERTS, **TWO_PREDICTORS}, ("depth=20", "predicted=2")),
    Case("h2oloo/doc2query-document", "squad-dev-sections", {"doc2query": PREDICTORS[0]}, ("predicted=2",)),
    Case(
        "h2oloo/doc2query-passage",
        "squad-dev-sections",
        {"bert": CROSS, "doc2query-msmarco": PREDICTORS[0]},
        ("depth=10", "predicted=2"),
    ),
    Case("h2oloo/tuning-passage", "cranfield", settings=("sample_size=100",)),
    Case("h2oloo/tuning-passage", "squad-dev-mixed", settings=("sample_size=100",)),
    Case("h2oloo/tuning-passage", "scifact", settings=("sample_size=100",)),
    Case("h2oloo/tuning-document", "time", settings=("sample_size=40",)),
)


def main() -> None:
    """Run the cases, write what all that were run have come to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", type=Path, required=True, help="the cross-encoder")
    parser.add_argument("--predictors", type=Path, default=Path("work/doc2query"), help="of benchmarks.doc2query_path")
    names = list(dict.fromkeys(case.recipe for case in CASES))
    parser.add_argument("--recipe", action="append", choices=names, metavar="NAME", help="only this one; repeatable")
    parser.add_argument("--collection", action="append", metavar="NAME", help="only on this one; repeatable")
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
    """Draw half of each query's judged documents, rounded down, by the SHA-256 of their ids: those of before."""
    shutil.copy(source / "docs.jsonl.gz", place)
    now, before = {}, {}
    for query_id, judged in read_qrels(source / "qrels.txt", Notes()).items():
        drawn = sample(list(judged), len(judged) // 2, 0, str)
        before[query_id] = {doc_id: judged[doc_id] for doc_id in drawn}
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
    (asked,) = ask([case.recipe], case.settings, own)
    return bool((known["settings"], known["models"]) == (json.loads(json.dumps(asked.recipe.settings)), own))


def shown_command(case: Case) -> str:
    """Return the command of a case as a reader would type it."""
    folder = Path("work/open")
    models = models_of(Path("CROSS-ENCODER"), Path("work/doc2query"))
    command = command_of(case, models, place_of(Path("DATA"), case.collection, folder), folder)
    return shlex.join(["longrank", *command])


def as_row(case: Case, folder: Path) -> dict[str, Any]:
    """Return what is kept of a case: how it was run, what was published and obtained."""
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


def as_markdown(found: Sequence[Mapping[str, Any]], still_to_run: Sequence[str] = ()) -> str:
    """Return the figures as tables: obtained, and in brackets what the paper has on its own collection.

    Args:
        found: rows of `as_row`, in the order of `CASES`: those of one recipe follow each other.
        still_to_run: what is to be run and was not.
    """
    parts = [INTRODUCTION]
    for paper, of_paper in groupby(found, key=lambda one: one["paper"]):
        parts.append(f"## {paper}\n")
        for title, of_recipe in groupby(of_paper, key=lambda one: f"### {one['item']}: {one['about']}\n"):
            parts += [title, *map(_block, of_recipe)]
    still = f"- For want of time: {', '.join(still_to_run)}.\n" if still_to_run else ""
    return "\n".join([*parts, NOT_RUN + still])


INTRODUCTION = """# The papers' recipes on open collections

Written by `python -m benchmarks.open_recipes DATA --model CROSS-ENCODER`; each table by the command below it, too.
CROSS-ENCODER is the one [trained here](results.md#what-training-gains); where a table names it by the first digits of
its weights' SHA-256, it is of a second run of that training ([how they differ](results.md#end-to-end)). Obtained
figures come first; in brackets is what the paper has, on its own collection with its own models: the two are not to
be compared, only how rows stand to each other. Many conditions of a table would be the same here (TIME has one form
of queries), so one is run; some are on several collections. Of squad-dev-mixed, squad-dev-sections, qmsum and scifact
only queries count that nothing was trained on (150 of scifact's 300 had a say in how the cross-encoder's training is
set up). time-round2 is TIME with half of each query's relevant documents judged in a round before, from which is
learned; they are left out of what is measured. The commands are run after `mkdir -p work/open`; DATA and
CROSS-ENCODER stand for your folders, `work/doc2query` is made by `python -m benchmarks.doc2query_path DATA`, and
`work/open/collections`, the questions that nothing was trained on, by the command above. What was reduced (documents,
steps, a frozen encoder) is in the command; nothing was tuned but what the recipes tune. Where only ten or twenty
documents are reranked, P@20 cannot change, or hardly. Trainings of so few steps show that a recipe runs, and less of
what its systems are worth; where no dev queries are used (PARADE's own code: its Tables 4, 5, 7 and 8, Figure 3, its
README), nothing is known of their convergence. Tests are the papers' own.
"""

NOT_RUN = """## Not run here

- What would be the same: descriptions and the other collections of a table that is there, SANTOS' Tables 3 and 4,
  PARADE's Table 4 for 2020.
- Rounds 3 and 4 of TREC-COVID (PARADE's Tables 11 and 12), which are like round 2.
- PARADE's Table 9 on TREC's and MS MARCO's passages, which are not at hand; on FiRA's it is among the
  [analyses](analyses.md#relevant-passages-of-a-document).
"""


def _block(one: Mapping[str, Any]) -> str:
    lines = _points(one["rows"]) if all("x" in row for row in one["rows"]) else _rows(one)
    table = pipes([lines[0], ["---", *("---:" for _ in lines[0][1:])], *lines[1:]])
    test = one["significance"]
    marked = f" \\* differs from {test['compare_with']}, p < {test['alpha']:g}." if test else ""
    weights = f" Cross-encoder {one['cross_encoder']}." if "cross_encoder" in one else ""
    where = f"On {one['collection']}; queries: {one['queries']}.{weights}{marked}"
    late = ", ".join(f"{name} in {n} folds" for name, n in one["late"].items())
    table += f"\nStill rising on dev at the last validation: {late}.\n" if late else ""
    return f"{where}\n\n{table}\n```sh\n{one['command']}\n```\n"


def _rows(one: Mapping[str, Any]) -> list[list[str]]:
    """Return a line for each row, a column for each measure."""
    columns = list(dict.fromkeys(column for row in one["rows"] for column in row["obtained"]))
    alpha = one["significance"].get("alpha", 0.0)
    body = [[markdown_text(row["row"]), *(_cell(row, column, alpha) for column in columns)] for row in one["rows"]]
    return [["", *map(markdown_text, columns)], *body]


def _points(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return a line for each point of a plot, a column for each of its lines and measures."""
    found = {(row["x"], row["series"], name): _cell(row, name, 0.0) for row in rows for name in row["obtained"]}
    columns = list(dict.fromkeys((series, name) for _, series, name in found))
    body = [[f"{x:g}", *(found.get((x, *one), "") for one in columns)] for x in sorted({row["x"] for row in rows})]
    return [["", *(markdown_text(f"{series}, {name}") for series, name in columns)], *body]


def _cell(row: Mapping[str, Any], column: str, alpha: float) -> str:
    if column not in row["obtained"]:
        return ""
    published = row["published"].get(column)
    beside = "" if published is None else f" ({_figure(published)})"
    p = row.get("p", {}).get(column)
    mark = "\\*" if p is not None and p < alpha else ""
    return f"{_figure(row['obtained'][column])}{mark}{beside}"


def _figure(value: float) -> str:
    """Return a share with four decimals, anything else as it is."""
    return f"{value:.4f}".lstrip("0") if 0 < abs(value) < 1 else f"{value:.6g}"


if __name__ == "__main__":
    main()
