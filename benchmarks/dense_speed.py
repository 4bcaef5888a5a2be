"""Time exact search over passage vectors beside the bandwidth of memory, faiss and sentence-transformers.

    pip install faiss-cpu
    OMP_NUM_THREADS=1 taskset -c 1 python -m benchmarks.dense_speed [--passages 1000000] [--only int8]

Vectors are drawn at random, 384 dimensions, in a memory-mapped file; 50 passages a document. One core; the least
processor time of each way, in milliseconds a query, and the largest memory that the way takes while it is prepared and
asked, beside the mapped files (Linux). The read of all bytes is the fastest of three: a sum, a largest integer and a
product with itself. The best documents by 8-bit numbers are compared with those by float32: they must be equal.
"""

from __future__ import annotations

import argparse
import ctypes
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.memory import peak, unmapped
from longrank.index.int8 import Int8Rows, int8_rows
from longrank.retrieval.nearest import best_documents
from longrank.retrieval.products import int8_products, products

H, PASSAGES, K = 384, 50, 100
_AT_ONCE = 1 << 14
Vectors = NDArray[np.float32]
Way = Callable[[], object]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", default="", help="ways whose name holds this, besides the reads")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        matrix = drawn(Path(folder) / "vectors", args.passages)
        int8 = rounded(Path(folder), matrix)
        query = np.random.default_rng(2).standard_normal(H).astype(np.float32)
        query /= np.linalg.norm(query)
        made = {name: way for name, way in ways(matrix, int8, query).items() if args.only in name or "read" in name}
        rows = {name: measured(prepare, args.repeats) for name, prepare in made.items()}
    read = min(milliseconds for name, (milliseconds, _) in rows.items() if name.startswith("read"))
    print(f"{args.passages:,} passages; {matrix.nbytes / 1e9 / read * 1e3:.1f} GB/s read")
    for name, (milliseconds, n_bytes) in rows.items():
        print(f"| {name} | {milliseconds:.1f} | {read / milliseconds:.2f} | {n_bytes / 1e6:,.0f} |")


def drawn(path: Path, n: int) -> Vectors:
    """Return random unit vectors, float32[n, 384], memory-mapped."""
    rng = np.random.default_rng(1)
    with path.open("wb") as file:
        for start in range(0, n, _AT_ONCE):
            rows = rng.standard_normal((min(_AT_ONCE, n - start), H), np.float32)
            file.write((rows / np.linalg.norm(rows, axis=1, keepdims=True)).tobytes())
    return np.memmap(path, np.float32, "r").reshape(n, H)


def rounded(folder: Path, matrix: Vectors) -> Int8Rows:
    """Return the vectors as 8-bit numbers, memory-mapped."""
    with (folder / "int8").open("wb") as file:
        parts = []
        for start in range(0, len(matrix), _AT_ONCE):
            rows = int8_rows(matrix[start : start + _AT_ONCE])
            file.write(rows.values.tobytes())
            parts.append((rows.scales, rows.errors))
    scales, errors = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Int8Rows(np.memmap(folder / "int8", np.int8, "r").reshape(-1, H).view(np.ndarray), scales, errors)


def ways(matrix: Vectors, int8: Int8Rows, query: Vectors) -> dict[str, Callable[[], Way]]:
    """Return, by name, what prepares a way to read or search the vectors."""
    n_docs = len(matrix) // PASSAGES
    offsets = np.append(np.arange(n_docs) * PASSAGES, len(matrix)).astype(np.uint64)
    stored: Any = SimpleNamespace(matrix=matrix, offsets=offsets, int8=None)
    small: Any = SimpleNamespace(matrix=matrix, offsets=offsets, int8=int8)
    ranks = np.arange(n_docs, dtype=np.uint32)
    plain: dict[str, Way] = {
        "read: sum": matrix.sum,
        "read: largest integer": lambda: matrix.view(np.int64).max(),
        "read: product with itself": lambda: [np.vdot(b, b) for b in np.array_split(matrix.reshape(-1), 64)],
        "products of all passages": lambda: products(matrix, query),
        "100 best passages": lambda: np.argpartition(-products(matrix, query), K)[:K],
        "100 best documents (MaxP)": lambda: best_documents(stored, query, ranks, K),
        "products of all passages, int8": lambda: int8_products(int8, query),
        "100 best documents (MaxP), int8, then float32": lambda: best_documents(small, query, ranks, K),
    }
    found = [best_documents(one, query, ranks, K) for one in (stored, small)]
    assert found[0][0].tolist() == found[1][0].tolist() and found[0][1].tobytes() == found[1][1].tobytes()
    prepared: dict[str, Callable[[], Way]] = {name: (lambda way=way: way) for name, way in plain.items()}
    return prepared | {
        "faiss flat, 100 passages": lambda: flat(matrix, query),
        "semantic_search, 100 passages": lambda: semantic(matrix, query),
    }


def flat(matrix: Vectors, query: Vectors) -> Way:
    """Return a search by faiss, which keeps a copy of the vectors."""
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(H)
    index.add(matrix)
    return lambda: index.search(query[None], K)


def semantic(matrix: Vectors, query: Vectors) -> Way:
    """Return a search by sentence-transformers, with its defaults but for one chunk of half a million vectors."""
    from sentence_transformers.util import semantic_search

    return lambda: semantic_search(query[None], matrix, top_k=K, corpus_chunk_size=500_000)


def measured(prepare: Callable[[], Way], repeats: int) -> tuple[float, int]:
    """Return the least processor time in milliseconds, and the largest memory beside mapped files, in bytes."""
    ctypes.CDLL(None).malloc_trim(0)  # memory that an earlier way freed counts as this way's
    before = unmapped()
    with peak() as largest:
        way, times = prepare(), []
        for _ in range(repeats):
            began = time.process_time()
            way()
            times.append(1000 * (time.process_time() - began))
    return min(times), max(0, largest[0] - before)


if __name__ == "__main__":
    main()
