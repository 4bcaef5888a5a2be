"""Time BM25 of the passages of 100 candidates: CPU milliseconds per query, each document new or kept in memory.

    python -m benchmarks.lexical_scoring COLLECTION --folder DIR [--queries 40]

COLLECTION is a collection folder. `passages` splits the candidates and counts the query's words in each passage, as
every pipeline does; `scores` is BM25. The first query meets new documents and new words, the first pass some new
documents, the second pass kept documents only. Prints medians and a digest of all scores.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from longrank.formats.queries import read_queries
from longrank.index import Index, index_files
from longrank.ranking.one_query import candidates_for
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.pipeline import Pipeline, open_pipeline
from longrank.types import Notes, Query


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--folder", type=Path, required=True, help="keeps the index")
    parser.add_argument("--queries", type=int, default=40)
    args = parser.parse_args()
    path = args.folder / f"{args.collection.name}.index"
    if not path.exists():
        index_files([str(next(args.collection.glob("docs.jsonl*")))], path)
    queries = list(read_queries(args.collection / "queries.jsonl", Notes()))
    asked = queries[:: max(1, len(queries) // args.queries)][: args.queries]
    pipeline = open_pipeline(Index.open(path), "lexical", notes=Notes())
    first, second = measured(pipeline, asked), measured(pipeline, asked)
    print(f"{len(asked)} queries, {first[3] / len(asked):.0f} passages per query, scores {first[2]}")
    for name, passages, scores in (
        ("first query", first[0][:1], first[1][:1]),
        ("first pass", *first[:2]),
        ("second pass", *second[:2]),
    ):
        print(f"{name}: passages {statistics.median(passages):.1f} ms, scores {statistics.median(scores):.1f} ms")


def measured(pipeline: Pipeline, queries: Sequence[Query]) -> tuple[list[float], list[float], str, int]:
    """Return milliseconds of each query for passages and for scores, a digest of the scores, and their number."""
    scorer, digest = pipeline.scorer, hashlib.sha256()
    assert isinstance(scorer, PassageDocumentScorer)
    passages, scores, n = [], [], 0
    for query in queries:
        _, candidates = candidates_for(pipeline, query, 100)
        start = time.process_time()
        tasks = scorer.prepare(candidates).tasks
        between = time.process_time()
        results = scorer.scorer.score(tasks)
        passages.append(1000 * (between - start))
        scores.append(1000 * (time.process_time() - between))
        for result in results:
            digest.update(result.scores.tobytes())
            n += len(result.scores)
    return passages, scores, digest.hexdigest()[:16], n


if __name__ == "__main__":
    main()
