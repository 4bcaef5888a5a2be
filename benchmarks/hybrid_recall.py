"""Recall of BM25, dense passages and both fused; then the same passage pipeline behind BM25 and behind both.

    nice -n 5 python -m benchmarks.hybrid_recall DATA --folder work/hybrid [--only cacm]
    python -m benchmarks.hybrid_recall DATA --print

DATA is a folder of collection folders. An index with MiniLM vectors is built for each collection and kept in the
folder. Figures go to docs/results/hybrid-recall.json; --print reads them and prints the tables. Two-sided paired
t-tests over queries, Holm over the collections. Nothing is tuned. Of more than 1,500 queries, a sample by the SHA-256
of their ids; 300 for the pipelines.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.passages import sampled
from longrank.collections import open_collection, read_qrels, read_queries
from longrank.evaluation.measures import evaluate
from longrank.evaluation.significance import corrected, differences, t_test
from longrank.index import Index, index_files
from longrank.ranking.build import add_vectors
from longrank.ranking.one_query import rank_one
from longrank.ranking.pipeline import open_pipeline
from longrank.retrieval import make_retriever
from longrank.types import Notes, Qrels, Query, Run

COLLECTIONS = ("cacm", "cranfield", "scifact", "time", "squad-dev-mixed", "qmsum")
STAGES = ("bm25-anserini", "dense", "hybrid")
PIPELINES = ("mixed", "mixed-hybrid")
RECALL, GAIN = "R@100", "nDCG@10"
QUERIES, RERANKED_QUERIES = 1500, 300


def main() -> None:
    """Measure the collections, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", choices=COLLECTIONS, action="append")
    parser.add_argument("--folder", type=Path, default=Path("work/hybrid"))
    parser.add_argument("--results", type=Path, default=Path("docs/results/hybrid-recall.json"))
    parser.add_argument("--print", action="store_true", dest="prints")
    args = parser.parse_args()
    for name in () if args.prints else args.only or COLLECTIONS:
        row = measured(args.data / name, args.folder / name / "index")
        rows = json.loads(args.results.read_text(encoding="utf-8")) if args.results.is_file() else {}
        args.results.write_text(json.dumps(rows | {name: row}, indent=1) + "\n", encoding="utf-8")
        print(name, json.dumps(row))
    rows = json.loads(args.results.read_text(encoding="utf-8"))
    print(table({name: rows[name] for name in COLLECTIONS if name in rows}))


def measured(source: Path, path: Path) -> dict[str, Any]:
    """Return the figures of a collection; its index is built first, if need be."""
    notes, folder = Notes(), open_collection(source)
    if not path.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        index_files(folder, path, notes=notes)
    add_vectors(path, "minilm", "tokens", notes, lambda n: None)
    index, qrels = Index.open(path), read_qrels(folder, notes)
    queries = sampled([query for query in read_queries(folder, notes) if query.query_id in qrels], QUERIES)
    qrels = {query.query_id: qrels[query.query_id] for query in queries}
    found: dict[str, Any] = {"documents": index.n_docs, "queries": len(queries)}
    found["stages"] = compared(qrels, {name: retrieved(index, name, queries) for name in STAGES}, RECALL)
    few = queries[:RERANKED_QUERIES]
    judged = {query.query_id: qrels[query.query_id] for query in few}
    pipelines = {name: reranked(index, name, few) for name in PIPELINES}
    return found | {"reranked queries": len(few), "pipelines": compared(judged, pipelines, GAIN)}


def retrieved(index: Index, preset: str, queries: Sequence[Query]) -> Run:
    """Return the 100 first documents of each query."""
    retriever = make_retriever(index, preset)
    return Run(preset, (row for query in queries for row in retriever.retrieve(query, 100)))


def reranked(index: Index, name: str, queries: Sequence[Query]) -> Run:
    """Return the ranking of a pipeline."""
    pipeline = open_pipeline(index, name)
    return Run(name, (row for query in queries for row in rank_one(pipeline, query, 100).run.get(query.query_id)))


def compared(qrels: Qrels, systems: Mapping[str, Run], measure: str) -> dict[str, Any]:
    """Return the mean of each system, and its difference from the first with p of the paired t-test."""
    base: Mapping[str, float] = {}
    figures: dict[str, Any] = {}
    for name, run in systems.items():
        values = evaluate(qrels, run, [measure])[measure]
        figures[name] = {measure: round(fmean(values.values()), 4)}
        if base:
            d = differences(values, base)
            figures[name] |= {"difference": round(float(d.mean()), 4), "p": t_test(d)}
            figures[name] |= {"better": int((d > 0).sum()), "worse": int((d < 0).sum())}
        base = base or values
    return figures


def table(rows: Mapping[str, Any]) -> str:
    """Return Markdown tables of recall and of the pipelines."""
    return "\n".join([*_part(rows, "stages", RECALL), "", *_part(rows, "pipelines", GAIN)])


def _part(rows: Mapping[str, Any], part: str, measure: str) -> list[str]:
    names = list(next(iter(rows.values()))[part])
    p_values = [row[part][names[-1]]["p"] for row in rows.values()]
    queries = "reranked queries" if part == "pipelines" else "queries"
    lines = [
        f"| collection | queries | {' | '.join(names)} | better, worse | p (Holm) |",
        "|---" * (len(names) + 4) + "|",
    ]
    for (name, row), p in zip(rows.items(), corrected(p_values, "holm", len(rows)), strict=True):
        last = row[part][names[-1]]
        cells = [f"{row[part][one][measure]:.3f}" for one in names]
        shown = "-" if p is None else "<.001" if p < 0.001 else f"{p:.3f}".lstrip("0")
        lines.append(
            f"| {name} | {row[queries]:,} | {' | '.join(cells)} | {last['better']}, {last['worse']} | {shown} |"
        )
    return lines


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
