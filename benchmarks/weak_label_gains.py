"""Does a bi-encoder gain from weak labels of sentences? On the sections of SQuAD's articles.

    python -m benchmarks.weak_label_gains DATA [--folder work/gains] [--results docs/results]

After Santos et al.: MiniLM as it is picks the best sentence of judged documents, for questions about training articles;
it is fine-tuned on triplets of these; before and after, it ranks the sections for questions about other articles by
its FIRST and TERMF sentences (Max, Sum, Weighted Mean).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.gains_report import mean, record_of, values_of
from benchmarks.gains_tasks import TASKS, Prepared, articles_of, run, write_queries
from benchmarks.training_examples import sample
from benchmarks.training_pools import is_training_article
from longrank.evaluation.significance import corrected, differences, t_test
from longrank.formats.queries import read_queries
from longrank.types import Notes

N_QUERIES, STEPS = 300, 300  # queries that are trained on; steps of 8 triplets
AGGREGATORS = ("max", "sum", "wmean")


def main() -> None:
    """Label, train, rank before and after."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("work/gains"))
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    args = parser.parse_args()
    prepared = Prepared(args.data, TASKS["squad-dev-sections"], args.folder)
    folder = prepared["weak-labels"]
    folder.mkdir(exist_ok=True)
    train(args.data, prepared, folder)
    test = prepared["queries.jsonl"], prepared["bm25.run"]
    rank(prepared, *test, folder / "test-before.run", "minilm")
    rank(prepared, *test, folder / "test-after.run", folder / "model" / "model")
    found = compared(prepared, folder)
    path = args.results / "weak-labels-squad-dev-sections.json"
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for row in found["rows"]:
        print(row)


def train(data: Path, prepared: Prepared, folder: Path) -> None:
    """Fine-tune MiniLM on weak labels of questions about training articles."""
    queries = read_queries(data / "squad-dev-sections" / "queries.jsonl", Notes())
    articles = articles_of(data, queries)
    ours = [query for query in queries if is_training_article(articles[query.query_id])]
    write_queries(sample(ours, N_QUERIES, 0, lambda query: query.query_id), folder / "train.queries.jsonl")
    inputs = (prepared.index, folder / "train.queries.jsonl")
    run("retrieve", *inputs, "-o", folder / "train.run", "-k", 50)
    rank(prepared, folder / "train.queries.jsonl", folder / "train.run", folder / "before.run", "minilm", depth=50)
    labels = (folder / "train.jsonl", folder / "dev.jsonl")
    qrels = data / "squad-dev-sections" / "qrels.txt"
    evidence = folder / "before.run.evidence"
    run("weak-labels", *inputs, qrels, folder / "train.run", evidence, "-o", labels[0], "--dev", labels[1])
    steps = ("--set", f"loop.steps={STEPS}", "--set", "loop.validate_every=50", "--set", "network.model=minilm")
    run("train-passages", "santos", labels[0], "-o", folder / "model", "--dev", labels[1], *steps)


def rank(prepared: Prepared, queries: Path, first: Path, output: Path, model: object, depth: int | None = None) -> None:
    """Rank documents by their sentences."""
    options = ("--pipeline", "santos", "--model", model, "--depth", depth or prepared.task.depth)
    run("rerank", prepared.index, queries, first, "-o", output, *options)


def compared(prepared: Prepared, folder: Path) -> dict[str, Any]:
    """Return a row for each aggregator: before, after, difference and its p."""
    rows: list[dict[str, Any]] = []
    for name in AGGREGATORS:
        values = []
        for when in ("before", "after"):
            output = folder / f"{when}-{name}.run"
            run("aggregate", folder / f"test-{when}.run.evidence", "-o", output, "-a", name)
            values.append(values_of(prepared, output, prepared.qrels))
        before, after = map(mean, values)
        p = t_test(differences(values[1], values[0]))
        rows.append({"aggregator": name, "before": round(before, 4), "after": round(after, 4), "p": p})
    holm = corrected([row["p"] for row in rows], "holm", len(rows))
    for row, value in zip(rows, holm, strict=True):
        row["p_holm"] = value
    return {
        "collection": prepared.task.collection,
        "measure": prepared.task.measure,
        "queries": len(prepared.qrels),
        "trained_on": N_QUERIES,
        "steps": STEPS,
        "best_step": record_of(folder / "model")["best_step"],
        "rows": rows,
    }


if __name__ == "__main__":
    main()
