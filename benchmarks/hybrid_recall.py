"""Recall of BM25, dense passages and both fused; then the same passage pipeline behind BM25 and behind both.

    nice -n 5 python -m benchmarks.hybrid_recall DATA --folder work/hybrid [--only cacm]
    python -m benchmarks.hybrid_recall DATA --print

DATA is a folder of collection folders. An index with MiniLM vectors is built for each collection and kept in the
folder. Figures go to docs/results/hybrid-recall.json; --print reads them and prints the tables. Two-sided paired
t-tests over queries, Holm over the collections. Nothing is tuned. Of more than 1,500 queries, a sample by the SHA-256
of their ids; for the pipelines 300 (qmsum 100), of splits that the settings of `mixed` were not chosen on (`SPLITS`).
Of qmsum, the 70 meetings of its splits "val" and "test", and R@10: the first 100 would be all of them.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.mixing import kept_documents, of_split
from benchmarks.passages import sampled
from longrank.collections import open_collection, read_qrels, read_queries
from longrank.collections.documents import locate_documents
from longrank.evaluation.measures import evaluate
from longrank.evaluation.significance import corrected, differences, t_test
from longrank.index import Index
from longrank.ranking.build import add_vectors
from longrank.ranking.one_query import rank_one
from longrank.ranking.pipeline import open_pipeline
from longrank.retrieval import make_retriever
from longrank.types import Notes, Qrels, Query, Run

COLLECTIONS = ("cacm", "cranfield", "scifact", "time", "squad-dev-mixed", "qmsum")
STAGES = ("bm25-anserini", "dense", "hybrid")
PIPELINES = ("mixed", "mixed-hybrid")
GAIN = "nDCG@10"
RECALLS = {"qmsum": "R@10"}
"""Measure of the first stages; of other collections, R@100."""
QUERIES = 1500
RERANKED = {"qmsum": 100}
"""Most queries of the pipelines; of other collections, 300."""
SPLITS = {"scifact": "dev", "squad-dev-mixed": "other", "qmsum": "test"}
"""Queries of the pipelines; of other collections, all."""


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
        for row in measured(args.data / name, args.folder / name / "index"):
            rows = json.loads(args.results.read_text(encoding="utf-8")) if args.results.is_file() else {}
            args.results.write_text(json.dumps(rows | {name: row}, indent=1) + "\n", encoding="utf-8")
            print(name, json.dumps(row), flush=True)
    rows = json.loads(args.results.read_text(encoding="utf-8"))
    print(table({name: rows[name] for name in COLLECTIONS if name in rows}))


def measured(source: Path, path: Path) -> Iterator[dict[str, Any]]:
    """Yield the figures of a collection's first stages, then also of the pipelines; builds the index, if need be."""
    notes, folder = Notes(), open_collection(source)
    queries, qrels = read_queries(folder, notes), read_qrels(folder, notes)
    if not path.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        keep = kept_documents(source.name, source, queries)
        Index.build([one.document for one in locate_documents([str(source)], notes) if keep(one.document.doc_id)], path)
    add_vectors(path, "minilm", "tokens", notes, lambda n: None)
    index = Index.open(path)
    judged = [query for query in queries if any(doc_id in index for doc_id in qrels.get(query.query_id, ()))]
    asked, recall = sampled(judged, QUERIES), RECALLS.get(source.name, "R@100")
    runs = {name: retrieved(index, name, asked) for name in STAGES}
    found: dict[str, Any] = {"documents": index.n_docs, "queries": len(asked)}
    found["stages"] = compared(_of(qrels, asked), runs, recall)
    yield found
    unseen = of_split(judged, SPLITS.get(source.name, "all"), source.parent)
    few = sampled(unseen, RERANKED.get(source.name, 300))
    pipelines = {name: reranked(index, name, few) for name in PIPELINES}
    yield found | {"reranked queries": len(few), "pipelines": compared(_of(qrels, few), pipelines, GAIN)}


def _of(qrels: Qrels, queries: Sequence[Query]) -> Qrels:
    return {query.query_id: qrels[query.query_id] for query in queries}


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
    recall = _part(rows, "stages", "queries")
    return "\n".join([*recall, "", *_part({n: row for n, row in rows.items() if "pipelines" in row}, "pipelines")])


def _part(rows: Mapping[str, Any], part: str, queries: str = "reranked queries") -> list[str]:
    names = list(next(iter(rows.values()))[part])
    p_values = [row[part][names[-1]]["p"] for row in rows.values()]
    lines = [
        f"| collection | measure | queries | {' | '.join(names)} | better, worse | p (Holm) |",
        "|---" * (len(names) + 5) + "|",
    ]
    for (name, row), p in zip(rows.items(), corrected(p_values, "holm", len(rows)), strict=True):
        measure, last = next(iter(row[part][names[0]])), row[part][names[-1]]
        cells = [f"{row[part][one][measure]:.3f}" for one in names]
        shown = "-" if p is None else "<.001" if p < 0.001 else f"{p:.3f}".lstrip("0")
        middle = f"{row[queries]:,} | {' | '.join(cells)}"
        lines.append(f"| {name} | {measure} | {middle} | {last['better']}, {last['worse']} | {shown} |")
    return lines


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
