"""Compare types of stored vectors: bytes, recall of the nearest passages, differences of scores, and speed.

    OMP_NUM_THREADS=1 taskset -c 1 python -m benchmarks.vector_types DATA --folder work/hybrid

The folder is that of `benchmarks.hybrid_recall`: the MiniLM vectors of its indexes are searched together by the queries
of DATA. float16 and int8 alone rank by their own products; "int8, then float32" is what LongRank does with
``--vectors-dtype int8``: passages that can be among the nearest 100 by the bounds of their errors are scored again.
One thread; the median processor time of a query, products and choice of the 100.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.ann import real_queries, real_vectors
from longrank.index.int8 import int8_rows
from longrank.retrieval.nearest import candidates
from longrank.retrieval.products import int8_products, products, rounding
from longrank.scoring.vectors import cosines

K = 100
Vectors = NDArray[np.float32]
Scores = Callable[[Vectors], tuple[NDArray[np.int64], Vectors]]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("work/hybrid"))
    parser.add_argument("--queries", type=int, default=50, help="of each collection")
    args = parser.parse_args()
    matrix, asked = real_vectors(args.folder), real_queries(args.data, args.folder, args.queries)
    print(f"{len(matrix):,} vectors, {len(asked)} queries")
    exact = [np.sort(cosines(matrix, query))[-K:] for query in asked]
    for name, search in searches(matrix).items():
        times, shares, differences, rescored = [], [], [], []
        for query, best in zip(asked, exact, strict=True):
            began = time.process_time()
            rows, scores = search(query)
            order = np.argpartition(scores, len(scores) - K)[-K:]
            times.append(1000 * (time.process_time() - began))
            true = cosines(matrix[rows[order]], query)
            shares.append(np.mean(true >= best[0]))
            differences.append(np.abs(scores[order] - true).max())
            rescored.append(len(rows))
        print(
            f"| {name} | {np.mean(shares):.4f} | {max(differences):.1e} | {np.median(times):.2f} | "
            f"{np.median(rescored):,.0f} |"
        )


def searches(matrix: Vectors) -> dict[str, Scores]:
    """Return, by name, a function from a query to passages and their scores, of which the best 100 are taken."""
    every, half, small = np.arange(len(matrix)), matrix.astype(np.float16), int8_rows(matrix)

    def rescored(query: Vectors) -> tuple[NDArray[np.int64], Vectors]:
        rough = int8_products(small, query)
        rows = candidates(rough.scores - rough.error, rough.scores + rough.error, K)
        return rows, cosines(matrix[rows], query)

    def float32(query: Vectors) -> tuple[NDArray[np.int64], Vectors]:
        scores = products(matrix, query)
        rows = candidates(scores - np.float32(rounding(query)), scores + np.float32(rounding(query)), K)
        return rows, cosines(matrix[rows], query)

    return {
        "float32": float32,
        "float16 alone": lambda query: (every, products_of_half(half, query)),
        "int8 alone": lambda query: (every, int8_products(small, query).scores),
        "int8, then float32": rescored,
    }


def products_of_half(matrix: NDArray[np.float16], query: Vectors, rows: int = 512) -> Vectors:
    """Return the products of half-precision vectors with a query, widened block by block."""
    scores = np.empty(len(matrix), np.float32)
    for start in range(0, len(matrix), rows):
        scores[start : start + rows] = matrix[start : start + rows].astype(np.float32) @ query
    return scores


if __name__ == "__main__":
    main()
