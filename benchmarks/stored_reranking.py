"""Time the reranking of 100 long documents from stored vectors: with all passages read, and from vectors alone.

    OMP_NUM_THREADS=1 python -m benchmarks.stored_reranking --folder DIR [--docs 300] [--words 2650]

Documents and vectors are generated, as in `benchmarks.search_latency`. The first way is that of `rerank`, which keeps
the counts of query terms in its evidence file; the second is that of `search`. Both give the same scores. The time of
MiniLM for the query is shown, too, and is part of both. Times are processor time of one thread.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.million import queries
from benchmarks.search_latency import prepared
from longrank.ranking.evidence_blocks import candidates_of
from longrank.ranking.from_vectors import evidence_from_vectors
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.pipeline import open_pipeline
from longrank.scoring.bi_encoder import BiEncoder
from longrank.types import Query, ScoredDoc


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="keeps the index")
    parser.add_argument("--docs", type=int, default=300)
    parser.add_argument("--words", type=int, default=2650)
    parser.add_argument("--queries", type=int, default=30)
    args = parser.parse_args()
    index = prepared(args.folder, args.docs, args.words)
    scorer = open_pipeline(index, "minilm").scorer
    assert isinstance(scorer, PassageDocumentScorer) and isinstance(scorer.scorer, BiEncoder)
    encode = scorer.scorer.query_vector
    asked = [Query(str(n), text) for n, text in enumerate(queries(args.queries, 1))]
    rows = [ScoredDoc("", index.doc_id(n), 1.0) for n in range(min(100, len(index)))]

    def read(query: Query) -> object:
        return scorer.evidence(candidates_of(index, query, rows, len(rows)))

    def uncounted(query: Query) -> object:
        return scorer.evidence(candidates_of(index, query, rows, len(rows)), weights=False)

    def stored(query: Query) -> object:
        return evidence_from_vectors(scorer, index, query, rows)

    passages = scorer.scorer.stored
    print(f"{len(rows)} documents of {args.words:,} words, {len(passages or ()) / len(index):.0f} passages each")
    ways = {"all passages read, terms counted": read, "all passages read": uncounted, "stored vectors alone": stored}
    for name, way in {**ways, "the query alone": encode}.items():
        print(f"{name}: median {median(way, asked):.1f} ms")


def median(way: Callable[[Query], object], asked: list[Query]) -> float:
    """Return the median of the times of all queries, in milliseconds."""
    times = []
    for query in [asked[0], *asked]:
        start = time.process_time()
        way(query)
        times.append(1000 * (time.process_time() - start))
    return statistics.median(times[1:])


if __name__ == "__main__":
    main()
