"""Compare approximate search by faiss and usearch with exact search, over passage vectors of several indexes.

    pip install faiss-cpu usearch
    OMP_NUM_THREADS=1 python -m benchmarks.ann DATA --folder work/hybrid [--copies 3]

The folder is that of `benchmarks.hybrid_recall`: its indexes hold the vectors, and the queries of DATA are encoded by
MiniLM. --copies adds copies with noise, for a larger number. One thread; times are processor time. Prints, for each
library and beam width: recall@100 against exact search, milliseconds per query, seconds to build, bytes of the file
beside the vectors' own, and whether a second build gives the same bytes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.passages import sampled
from longrank.collections import open_collection, read_queries
from longrank.index import Index
from longrank.index.vectors import stored_vectors
from longrank.networks.model_files import find_model
from longrank.retrieval.nearest import products
from longrank.scoring.bi_encoder import BiEncoder
from longrank.types import Notes

K, LINKS, BUILDING, BEAMS = 100, 16, 200, (100, 200, 400, 800)
Vectors = NDArray[np.float32]
Search = Callable[[Vectors, int], NDArray[Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("work/hybrid"))
    parser.add_argument("--copies", type=int, default=0)
    parser.add_argument("--queries", type=int, default=50, help="of each collection")
    args = parser.parse_args()
    folders = sorted(path.parent for path in args.folder.glob("*/index") if Index(path).vectors)
    matrix = np.concatenate([stored_vectors(Index(folder / "index")).matrix for folder in folders])
    rng = np.random.default_rng(1)
    noisy = [matrix + 0.03 * rng.standard_normal(matrix.shape, np.float32) for _ in range(args.copies)]
    matrix = np.concatenate([matrix, *noisy])
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    encoder = BiEncoder(find_model("minilm"))
    queries = [query for folder in folders for query in _queries(args.data / folder.name, args.queries)]
    asked = np.stack([encoder.query_vector(query) for query in queries])
    began = time.process_time()
    exact = [set(np.argpartition(-products(matrix, query), K)[:K].tolist()) for query in asked]
    print(f"{len(matrix):,} vectors, {len(asked)} queries; exact: {_ms(began, len(asked)):.2f} ms per query")
    for name, row in compared(matrix, asked, exact):
        print(f"{name}: {row}")


def _queries(source: Path, n: int) -> list[Any]:
    return sampled(read_queries(open_collection(source), Notes()), n)[:n]


def compared(matrix: Vectors, asked: Vectors, exact: list[set[int]]) -> Iterator[tuple[str, str]]:
    """Yield the name of a library and its figures."""
    for name, library in {"faiss": faiss_index, "usearch": usearch_index}.items():
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / str(n) for n in (1, 2)]
            began = time.process_time()
            library(matrix, paths[0])
            seconds = time.process_time() - began
            search = library(matrix, paths[1])
            same = paths[0].read_bytes() == paths[1].read_bytes()
            more = paths[0].stat().st_size - matrix.nbytes
            yield name, f"built in {seconds:.1f} s, {more / len(matrix):.0f} bytes per vector more, same bytes: {same}"
            for beam in BEAMS:
                began = time.process_time()
                found = [set(search(query, beam).tolist()) for query in asked]
                shared = np.mean([len(a & b) / K for a, b in zip(found, exact, strict=True)])
                yield name, f"beam {beam}: recall {shared:.4f}, {_ms(began, len(asked)):.2f} ms per query"


def faiss_index(matrix: Vectors, path: Path) -> Search:
    """Build an HNSW index by faiss, write it, and open it memory-mapped."""
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexHNSWFlat(matrix.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = BUILDING
    index.add(matrix)
    faiss.write_index(index, str(path))
    opened = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)

    def search(query: Vectors, beam: int) -> NDArray[Any]:
        return opened.search(query[None], K, params=faiss.SearchParametersHNSW(efSearch=beam))[1][0]

    return search


def usearch_index(matrix: Vectors, path: Path) -> Search:
    """Build an HNSW index by usearch, write it, and open it memory-mapped."""
    from usearch.index import Index as Graph

    graph = Graph(
        ndim=matrix.shape[1], metric="ip", dtype="f32", connectivity=LINKS, expansion_add=BUILDING, multi=False
    )
    graph.add(np.arange(len(matrix)), matrix, threads=1)
    graph.save(str(path))
    opened = Graph.restore(str(path), view=True)

    def search(query: Vectors, beam: int) -> NDArray[Any]:
        opened.expansion_search = beam
        return np.asarray(opened.search(query, K, threads=1).keys)

    return search


def _ms(began: float, n: int) -> float:
    return 1000 * (time.process_time() - began) / n


if __name__ == "__main__":
    main()
