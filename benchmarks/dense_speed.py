"""Time exact search over passage vectors beside the bandwidth of memory, faiss and sentence-transformers.

    pip install faiss-cpu
    OMP_NUM_THREADS=1 taskset -c 1 python -m benchmarks.dense_speed [--passages 1000000]

Vectors are drawn at random, 384 dimensions, in a memory-mapped file; 50 passages a document. One core; the least
processor time of each way, in milliseconds a query. The read of all bytes is the fastest of three: a sum, a largest
integer and a product with itself.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.retrieval.nearest import best_documents, products

H, PASSAGES, K = 384, 50, 100
_AT_ONCE = 1 << 14
Vectors = NDArray[np.float32]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        matrix = drawn(Path(folder) / "vectors", args.passages)
        query = np.random.default_rng(2).standard_normal(H).astype(np.float32)
        query /= np.linalg.norm(query)
        times = {name: least(way, args.repeats) for name, way in ways(matrix, query).items()}
    read = min(value for name, value in times.items() if name.startswith("read"))
    print(f"{args.passages:,} passages; {matrix.nbytes / 1e9 / read * 1e3:.1f} GB/s read")
    for name, value in times.items():
        print(f"| {name} | {value:.1f} | {read / value:.2f} |")


def drawn(path: Path, n: int) -> Vectors:
    """Return random unit vectors, float32[n, 384], memory-mapped."""
    rng = np.random.default_rng(1)
    with path.open("wb") as file:
        for start in range(0, n, _AT_ONCE):
            rows = rng.standard_normal((min(_AT_ONCE, n - start), H), np.float32)
            file.write((rows / np.linalg.norm(rows, axis=1, keepdims=True)).tobytes())
    return np.memmap(path, np.float32, "r").reshape(n, H)


def ways(matrix: Vectors, query: Vectors) -> dict[str, Callable[[], object]]:
    """Return ways to read or search the vectors, by name."""
    import faiss
    from sentence_transformers.util import semantic_search

    faiss.omp_set_num_threads(1)
    n_docs = len(matrix) // PASSAGES
    offsets = np.append(np.arange(n_docs) * PASSAGES, len(matrix)).astype(np.uint64)
    stored: Any = SimpleNamespace(matrix=matrix, offsets=offsets)
    ranks = np.arange(n_docs, dtype=np.uint32)
    flat = faiss.IndexFlatIP(H)
    flat.add(matrix)
    return {
        "read: sum": matrix.sum,
        "read: largest integer": lambda: matrix.view(np.int64).max(),
        "read: product with itself": lambda: [np.vdot(b, b) for b in np.array_split(matrix.reshape(-1), 64)],
        "products of all passages": lambda: products(matrix, query),
        "100 best passages": lambda: np.argpartition(-products(matrix, query), K)[:K],
        "100 best documents (MaxP), exact": lambda: best_documents(stored, query, ranks, K),
        "faiss flat, 100 passages": lambda: flat.search(query[None], K),
        "semantic_search, 100 passages": lambda: semantic_search(
            query[None], matrix, top_k=K, corpus_chunk_size=500_000
        ),
    }


def least(way: Callable[[], object], repeats: int) -> float:
    """Return the least processor time, in milliseconds."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        way()
        times.append(1000 * (time.process_time() - began))
    return min(times)


if __name__ == "__main__":
    main()
