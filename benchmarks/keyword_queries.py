"""Do whole questions serve better than keywords? Each system with both, on the same collection.

    python -m benchmarks.keyword_queries DATA --model FOLDER [--only time] [--folder FOLDER] [--results docs/results]

The collections have questions only, so keywords are made of them, in two ways: without the analyzer's stop words, which
is nothing to BM25 but something to a cross-encoder; and only the three words that are in the fewest documents, in the
question's order. The papers' titles were written by people: this is a stand-in. FOLDER is a cross-encoder.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from benchmarks.gains_report import mean, values_of
from benchmarks.gains_tasks import Prepared, Task, run, write_queries
from longrank.evaluation.significance import differences, t_test
from longrank.formats.queries import read_queries
from longrank.index import Index
from longrank.types import Notes, Query

TASKS = {
    "time": Task("time", "nDCG@10", 20, None, "news, questions of a sentence"),
    "cranfield": Task("cranfield", "nDCG@10", 20, None, "abstracts, questions of a sentence"),
}
N_WORDS = 3


def main() -> None:
    """Make keywords, rank with both, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--only", choices=list(TASKS), action="append")
    parser.add_argument("--folder", type=Path, default=Path("work/gains"))
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    args = parser.parse_args()
    for name in args.only or TASKS:
        found = measured(Prepared(args.data, TASKS[name], args.folder), args.model)
        path = args.results / f"keyword-queries-{name}.json"
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        for row in found["rows"]:
            print(row)


def measured(prepared: Prepared, model: Path) -> dict[str, Any]:
    """Return a row for each system: the measure with each form of queries, and p of its difference to questions."""
    folder = prepared["keywords"]
    folder.mkdir(exist_ok=True)
    index = Index.open(prepared.index)
    questions = read_queries(prepared["queries.jsonl"], Notes())
    values: dict[str, dict[str, dict[str, float]]] = {}
    for kind, words in FORMS.items():
        queries = folder / f"{kind}.jsonl"
        write_queries([Query(one.query_id, words(one.text, index) or one.text) for one in questions], queries)
        for system, output in ranked(prepared, queries, folder / kind, model).items():
            values.setdefault(system, {})[kind] = values_of(prepared, output, prepared.qrels)
    rows = [_row(system, found) for system, found in values.items()]
    task = prepared.task
    about = {"collection": task.collection, "measure": task.measure, "depth": task.depth}
    return {**about, "queries": len(prepared.qrels), "words": N_WORDS, "rows": rows}


def _whole(question: str, index: Index) -> str:
    return question


def without_stop_words(question: str, index: Index) -> str:
    """Return the words of a question that the analyzer keeps."""
    return " ".join(word for word in re.findall(r"\w+", question) if index.analyzer(word))


def rarest(question: str, index: Index) -> str:
    """Return the words of a question that are in the fewest documents, but in some."""
    words = list(dict.fromkeys(re.findall(r"\w+", question)))
    found = {word: max(map(index.df, index.analyzer(word)), default=0) for word in words}
    rare = sorted((word for word in words if found[word]), key=lambda word: found[word])[:N_WORDS]
    return " ".join(word for word in words if word in rare)


FORMS = {"questions": _whole, "without-stop-words": without_stop_words, "rarest": rarest}


def ranked(prepared: Prepared, queries: Path, stem: Path, model: Path) -> dict[str, Path]:
    """Return the runs of a kind of query."""
    runs = {name: stem.with_name(f"{stem.name}-{name}.run") for name in ("bm25", "rm3", "maxp")}
    run("retrieve", prepared.index, queries, "-o", runs["bm25"])
    run("retrieve", prepared.index, queries, "-o", runs["rm3"], "--preset", "bm25-anserini+rm3")
    options = ("--pipeline", "maxp", "--model", model, "--depth", prepared.task.depth)
    read = ("--set", "passages.preset=parade-paper", "--set", "scorer.options.dtype=bf16")
    run("rerank", prepared.index, queries, runs["bm25"], "-o", runs["maxp"], *options, *read)
    return runs


def _row(system: str, values: dict[str, dict[str, float]]) -> dict[str, Any]:
    whole = values["questions"]
    row: dict[str, Any] = {"system": system} | {form: round(mean(found), 4) for form, found in values.items()}
    return row | {
        "p": {form: t_test(differences(found, whole)) for form, found in values.items() if found is not whole}
    }


if __name__ == "__main__":
    main()
