"""Time exact search of learned sparse vectors, by passages (MaxP) and by the maximum of each weight in a document.

    python -m benchmarks.sparse --passages 100000 --folder work/sparse

Vectors are drawn: 150 weights a passage over 30,522 terms by Zipf's law, ten passages a document; queries of 30 and of
6 terms. Prints postings and bytes of both, and median processor time of a query on one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import longrank
from longrank.index import Index
from longrank.index.sparse import SparseDocument, SparseVectors, write_sparse
from longrank.index.vector_folders import VectorsKey
from longrank.retrieval.nearest import candidates, pooled
from longrank.types import Passage, Segmentation

TERMS, WEIGHTS, PASSAGES = 30_522, 150, 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, default=Path("work/sparse"))
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    texts = (longrank.Document(f"d{n:07}", "", "word") for n in range(args.passages // PASSAGES))
    index = longrank.Index.build(texts, args.folder / "index")
    for name, joined in (("maxp", False), ("document-max", True)):
        start = time.process_time()
        path = write_sparse(index, name, VectorsKey("drawn", name), drawn(index, joined))
        built, stored = time.process_time() - start, SparseVectors(path)
        size = sum(one.stat().st_size for one in path.iterdir())
        print(f"{name}\tpostings {len(stored.rows):,}\tbytes {size:,}\tbuilt in {built:.0f} s")
        for n in (30, 6):
            print(f"{name}\tquery of {n} terms\t{1000 * median_seconds(stored, n):.2f} ms")


def drawn(index: Index, joined: bool) -> Iterator[SparseDocument]:
    """Yield vectors of all documents; `joined`: one vector of the maximum of each weight."""
    rng = np.random.default_rng(1)
    for number in range(len(index)):
        terms = [np.unique(zipf(rng, WEIGHTS)) for _ in range(PASSAGES)]
        weights = [rng.random(len(one), np.float32) + 0.1 for one in terms]
        if joined:
            every = np.zeros(TERMS, np.float32)
            for one, values in zip(terms, weights, strict=True):
                every[one] = np.maximum(every[one], values)
            terms, weights = [np.flatnonzero(every)], [every[every > 0]]
        passages = tuple(Passage(index.doc_id(number), n, "", 0, 0) for n in range(len(terms)))
        lengths = np.array([len(one) for one in terms], np.int64)
        truncated = np.zeros(len(terms), np.bool_)
        flat = np.concatenate(terms).astype(np.int32), np.concatenate(weights)
        yield SparseDocument(Segmentation(passages, len(terms)), lengths, *flat, truncated)


def zipf(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return n terms, of probability 1 / rank."""
    return np.minimum((TERMS ** rng.random(n)).astype(np.int64), TERMS - 1)


def median_seconds(stored: SparseVectors, n_terms: int, queries: int = 51) -> float:
    """Return the median processor time of a query for the best 100 documents."""
    rng, times = np.random.default_rng(2), []
    for _ in range(queries):
        terms = np.unique(zipf(rng, n_terms)).astype(np.int32)
        start = time.process_time()
        documents = pooled(stored.scores(terms, np.ones(len(terms), np.float32)), stored.offsets, 1)
        candidates(documents, documents, 100)
        times.append(time.process_time() - start)
    return float(np.median(times))


if __name__ == "__main__":
    main()
