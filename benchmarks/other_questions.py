"""Test the system that dev chooses on 500 other questions of squad-dev-sections.

    python -m benchmarks.other_questions DATA --model FOLDER            train and choose
    python -m benchmarks.other_questions DATA --model FOLDER --test     test, once the choice is written

FOLDER is a cross-encoder that `longrank train-passages` has made. The 500 questions of `benchmarks.gains` are what
the five folds train on and choose by; all of them are somebody's dev, and the system whose dev rankings are best over
all 500 is the choice, one for all folds. It is written to RESULTS/other-questions-choice.json before any ranking of
the others is evaluated. These, the next 500 by the hashes of their ids, are each ranked by the networks of the fold
that tests its article, which have learned from other articles.

The choice is tested against each of tuned BM25, tuned BM25+RM3 and MiniLM's vectors with BM25, Holm over these three:
question by question, as the tables of gains are, and with one value for each document and each article that is asked
about (the mean over its questions), since questions about one text are alike. Everything that is kept is not done
again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.gains import fill_cache, systems
from benchmarks.gains_report import UNTRAINED, System, chosen_among, dev_values, mean, values_of
from benchmarks.gains_tasks import TASKS, Prepared, articles_of, weights_of
from longrank.evaluation.significance import Differences, corrected, differences, t_test
from longrank.formats.queries import read_queries
from longrank.scoring.speed import machine
from longrank.types import Notes

TASK = TASKS["squad-dev-sections"]._replace(n_others=500)
COMPARED = ("BM25 tuned", "BM25+RM3 tuned", "MiniLM vectors, MaxP + BM25")


def main() -> None:
    """Choose a system, or test the chosen system."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", type=Path, required=True, help="the cross-encoder")
    parser.add_argument("--test", action="store_true", help="test what was chosen")
    parser.add_argument("--folder", type=Path, default=Path("work/other-questions"))
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    args = parser.parse_args()
    choice = args.results / "other-questions-choice.json"
    if args.test and not choice.exists():
        parser.error(f"{choice} is not there: choose first, without --test")
    prepared = Prepared(args.data, TASK, args.folder)
    fill_cache(prepared, args.model)
    found = systems(prepared, args.model)
    if not args.test:
        _write(choice, chosen(prepared, found) | {"model": weights_of(args.model)})
        return
    articles = articles_of(args.data, read_queries(prepared["queries.jsonl"], Notes()))
    name = json.loads(choice.read_text(encoding="utf-8"))["chosen"]
    _write(args.results / "other-questions.json", tested(prepared, found, name, articles) | {"machine": machine()})


def chosen(prepared: Prepared, found: list[System]) -> dict[str, Any]:
    """Return the system with the best dev rankings over all folds, and the dev value of each system."""
    means = {}
    for one in chosen_among(found):
        values = [value for fold in prepared.folds for value in dev_values(prepared, one, fold).values()]
        means[one.name] = sum(values) / len(values)
    best = max(means, key=means.__getitem__)
    return {"chosen": best, "measure": TASK.measure, "dev": {name: round(value, 4) for name, value in means.items()}}


def tested(prepared: Prepared, found: list[System], name: str, article_of: Mapping[str, str]) -> dict[str, Any]:
    """Return each system's value on the other questions, and the tests of the chosen system.

    Args:
        prepared: the collection; `prepared.tested` are the other questions.
        found: the systems, their runs made.
        name: the chosen system.
        article_of: query_id -> the article that it is about.
    """
    qrels = prepared.tested
    values = {one.name: values_of(prepared, one.run, qrels) for one in found}
    units = {
        "question": {query_id: query_id for query_id in qrels},
        "document": {query_id: next(iter(judged)) for query_id, judged in qrels.items()},
        "article": {query_id: article_of[query_id] for query_id in qrels},
    }
    trained = [one.name for one in found if one.kind not in UNTRAINED]
    best = max(COMPARED, key=lambda base: mean(values[base]))
    holm = _tests({one: differences(values[one], values[best]) for one in trained})
    return {
        "chosen": name,
        "measure": TASK.measure,
        "depth": TASK.depth,
        "queries": len(qrels),
        "tests": {unit: _against_each(values, name, unit_of) for unit, unit_of in units.items()},
        "compared_with": best,
        "test": f"paired t-test, Holm over {len(trained)}",
        "rows": [
            {"system": one.name, "kind": one.kind, "value": round(mean(values[one.name]), 4)}
            | ({"p_holm": holm[one.name]} if one.name in holm else {})
            for one in found
        ],
    }


def _against_each(
    values: Mapping[str, Mapping[str, float]], name: str, unit_of: Mapping[str, str]
) -> dict[str, dict[str, float | int | None]]:
    """Test a system against each untrained system, with one value for each unit: the mean over its queries."""
    means = {one: _unit_means(values[one], unit_of) for one in (name, *COMPARED)}
    found = {base: differences(means[name], means[base]) for base in COMPARED}
    holm = _tests(found)
    return {
        base: {"n": len(d), "difference": round(float(d.mean()), 4), "p_holm": holm[base]} for base, d in found.items()
    }


def _tests(found: Mapping[str, Differences]) -> dict[str, float | None]:
    return dict(zip(found, corrected([t_test(d) for d in found.values()], "holm", len(found)), strict=True))


def _unit_means(values: Mapping[str, float], unit_of: Mapping[str, str]) -> dict[str, float]:
    by_unit: dict[str, list[float]] = {}
    for query_id, value in values.items():
        by_unit.setdefault(unit_of[query_id], []).append(value)
    return {unit: sum(own) / len(own) for unit, own in by_unit.items()}


def _write(path: Path, found: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
