"""Does the best passage help? BM25 against MiniLM passages on real collections.

    python -m benchmarks.passages DATA time
    python -m benchmarks.passages DATA squad-dev-mixed --queries 500 --measure RR@10 --alpha 0.5

DATA is a folder of collection folders (docs.jsonl.gz, queries.jsonl, qrels.txt). For both BM25 settings
the top 100 are reranked with MiniLM by the passages of its pipeline; every aggregation is computed from one
evidence file, alone and mixed with the first stage (min-max, fixed alpha: nothing is tuned here).
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from longrank.aggregation import make_aggregator
from longrank.aggregation.run import aggregate_run
from longrank.collections import open_collection, read_qrels, read_queries
from longrank.evaluation.measures import evaluate
from longrank.evaluation.significance import differences, t_test
from longrank.formats.evidence import read_evidence
from longrank.index import Index, index_files
from longrank.ranking.build import add_vectors
from longrank.ranking.pipeline import open_pipeline, rerank
from longrank.ranking.settings import load_pipeline
from longrank.retrieval import make_retriever
from longrank.types import Notes, Qrels, Query, Run

AGGREGATORS = {"FirstP": ("firstp", None), "MaxP": ("maxp", None), "AvgP": ("avgp", None), "3-max": ("kmaxp", 3)}


def sampled(queries: Sequence[Query], n: int | None) -> list[Query]:
    """Return the first `n` queries by SHA-256 of their id, or all."""
    if n is None:
        return list(queries)
    return sorted(queries, key=lambda query: hashlib.sha256(query.query_id.encode()).hexdigest())[:n]


def main() -> None:
    """Measure one collection and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("collection")
    parser.add_argument("--queries", type=int)
    parser.add_argument("--measure", default="nDCG@10")
    parser.add_argument("--alpha", type=float, default=0.3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        _measure(args, Path(work))


def _measure(args: argparse.Namespace, work: Path) -> None:
    notes, folder = Notes(), open_collection(args.data / args.collection)
    index_files(folder, work / "index", notes=notes)
    add_vectors(work / "index", "minilm", load_pipeline("minilm").passages.preset, notes, lambda n: None)
    index = Index.open(work / "index")
    queries = sampled(read_queries(folder, notes), args.queries)
    wanted = {query.query_id for query in queries}
    qrels = {q: docs for q, docs in read_qrels(folder, notes).items() if q in wanted}
    print(f"{args.collection}: {index.n_docs} documents, {len(qrels)} judged queries, {args.measure}\n")
    print(f"| system | {args.measure} | - BM25 | p (paired t) |\n|---|---|---|---|")
    for preset in ("bm25-anserini", "bm25-lucene"):
        retriever = make_retriever(index, preset)
        first = Run(preset, (row for query in queries for row in retriever.retrieve(query, 1000)))
        pipeline = open_pipeline(index, "minilm", notes=notes)
        path = work / f"{preset}.evidence"
        rerank(pipeline, queries, first, path, tag="minilm", notes=notes)
        _table(args, first, path, qrels)
    print()
    for line in notes.lines():
        print(f"note: {line}")


def _table(args: argparse.Namespace, first: Run, evidence: Path, qrels: Qrels) -> None:
    base = evaluate(qrels, first, [args.measure])[args.measure]
    mean = sum(base.values()) / len(base)
    print(f"| {first.tag} | {mean:.4f} | | |")
    for name, (aggregator, k) in AGGREGATORS.items():
        for alpha in (None, args.alpha):
            run = aggregate_run(
                read_evidence(evidence)[1],
                make_aggregator(aggregator, k=k),
                first_stage=first,
                alpha=alpha,
                normalize="none" if alpha is None else "minmax",
                tail="keep",
                tag=name,
            )
            values = evaluate(qrels, run, [args.measure])[args.measure]
            ours, p = sum(values.values()) / len(values), t_test(differences(values, base))
            label = name if alpha is None else f"{name}, {alpha} x {first.tag}"
            print(f"| {label} | {ours:.4f} | {ours - mean:+.4f} | {p:.2g} |")


if __name__ == "__main__":
    main()
