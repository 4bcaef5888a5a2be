"""Compare approximate search by faiss and usearch with exact search, over real passage vectors.

    pip install faiss-cpu usearch
    OMP_NUM_THREADS=1 python -m benchmarks.ann DATA --folder work/hybrid [--sample 50000] [--only hnsw]

The folder is that of `benchmarks.hybrid_recall`: its indexes hold the vectors, and the queries of DATA are encoded by
MiniLM. --sample takes so many vectors, spread over all, to see how figures grow. One thread; times are processor time.
Prints, for each library: seconds and memory to build, bytes of the file for each vector, whether a second build gives
the same bytes, memory of the opened file beside its mapped pages, and recall@100 against exact search with milliseconds
per query for several widths of the search. faiss' methods are LongRank's own (`longrank.retrieval.ann_methods`).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.memory import peak, unmapped
from benchmarks.passages import sampled
from longrank.collections import open_collection, read_queries
from longrank.index import Index
from longrank.index.vectors import stored_vectors
from longrank.networks.model_files import find_model
from longrank.retrieval.ann_methods import ANN_METHODS, Hnsw, training_rows
from longrank.retrieval.products import products
from longrank.scoring.bi_encoder import BiEncoder
from longrank.types import Notes

K = 100
Vectors = NDArray[np.float32]
Search = Callable[[Vectors, int], NDArray[Any]]


class Library(NamedTuple):
    """A way to build a file, to open it, and widths of its search.

    `more`: passages found for each passage wanted, of which the stored vectors choose.
    """

    build: Callable[[Vectors, Path], None]
    open: Callable[[Path], Search]
    widths: tuple[int, ...]
    more: int = 1


def main() -> None:
    """Print the figures of each library."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("work/hybrid"))
    parser.add_argument("--sample", type=int, help="vectors [default: all]")
    parser.add_argument("--queries", type=int, default=50, help="of each collection")
    parser.add_argument("--only", default="", help="libraries whose name holds this")
    args = parser.parse_args()
    matrix = real_vectors(args.folder)
    if args.sample:
        matrix = matrix[np.linspace(0, len(matrix) - 1, args.sample).astype(np.int64)]
    asked = real_queries(args.data, args.folder, args.queries)
    began = time.process_time()
    exact = [set(np.argpartition(-products(matrix, query), K)[:K].tolist()) for query in asked]
    print(
        f"{len(matrix):,} vectors, {len(asked)} queries; exact: {_ms(began, len(asked)):.2f} ms per query", flush=True
    )
    for name, library in LIBRARIES.items():
        if args.only in name:
            for line in measured(library, matrix, asked, exact):
                print(f"{name}: {line}", flush=True)


def real_vectors(folder: Path) -> Vectors:
    """Return the vectors of all indexes of a folder, float32[n, H]."""
    return np.concatenate([stored_vectors(Index(path / "index")).matrix for path in _collections(folder)])


def real_queries(data: Path, folder: Path, n: int) -> Vectors:
    """Return the vectors of n queries of each collection of a folder, float32[Q, H]."""
    encoder = BiEncoder(find_model("minilm"))
    names = [path.name for path in _collections(folder)]
    queries = [query for name in names for query in sampled(read_queries(open_collection(data / name), Notes()), n)]
    return np.stack([encoder.query_vector(query) for query in queries])


def _collections(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob("*/index") if Index(path).vectors)


def measured(library: Library, matrix: Vectors, asked: Vectors, exact: list[set[int]]) -> Iterator[str]:
    """Yield the figures of a library, a line for the file and one for each width."""
    with tempfile.TemporaryDirectory() as folder:
        paths, before = [Path(folder) / str(n) for n in (1, 2)], unmapped()
        began = time.process_time()
        with peak() as largest:
            library.build(matrix, paths[0])
        seconds = time.process_time() - began
        library.build(matrix, paths[1])
        same, size = paths[0].read_bytes() == paths[1].read_bytes(), paths[0].stat().st_size / len(matrix)
        opening = unmapped()
        search = library.open(paths[0])
        search(asked[0], library.widths[0])
        yield (
            f"built in {seconds:.1f} s with {(largest[0] - before) / 1e6:,.0f} MB, {size:,.0f} bytes per vector, same "
            f"bytes: {same}, opened: {max(0, unmapped() - opening) / 1e6:,.0f} MB"
        )
        for width in library.widths:
            began = time.process_time()
            found = [nearest(matrix, query, search(query, width), library.more) for query in asked]
            shared = np.mean([len(a & b) / K for a, b in zip(found, exact, strict=True)])
            yield f"width {width}: recall {shared:.4f}, {_ms(began, len(asked)):.2f} ms per query"


def nearest(matrix: Vectors, query: Vectors, rows: NDArray[Any], more: int) -> set[int]:
    """Return the 100 passages that are kept of those found."""
    if more == 1:
        return set(rows.tolist())
    rows = rows[rows >= 0]
    return set(rows[np.argpartition(-(matrix[rows] @ query), K)[:K]].tolist())


def build_faiss(method: str) -> Callable[[Vectors, Path], None]:
    """Return a function that builds and writes an index by faiss, as `longrank index --ann` does."""

    def build(matrix: Vectors, path: Path) -> None:
        import faiss

        faiss.omp_set_num_threads(1)
        built = ANN_METHODS[method].untrained(faiss, *matrix.shape)
        if not built.is_trained:
            built.train(matrix[training_rows(len(matrix), built.nlist)])
        built.add(matrix)
        faiss.write_index(built, str(path))

    return build


def open_faiss(path: Path) -> tuple[Any, Any]:
    """Return the module and an index, memory-mapped."""
    import faiss

    return faiss, faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)


def open_hnsw(path: Path) -> Search:
    """Return a search of a graph of faiss; its width is the beam."""
    faiss, opened = open_faiss(path)
    return lambda query, beam: opened.search(query[None], K, params=faiss.SearchParametersHNSW(efSearch=beam))[1][0]


def open_lists(path: Path) -> Search:
    """Return a search of lists of faiss; its width is the number of lists that are read."""
    faiss, opened = open_faiss(path)
    more = ANN_METHODS["ivf-pq"].more
    return lambda query, lists: opened.search(query[None], K * more, params=faiss.SearchParametersIVF(nprobe=lists))[1][
        0
    ]


def build_usearch(dtype: str) -> Callable[[Vectors, Path], None]:
    """Return a function that builds and writes a graph by usearch, of the same shape as faiss'."""

    def build(matrix: Vectors, path: Path) -> None:
        from usearch.index import Index as Graph

        shape = {"connectivity": Hnsw.links, "expansion_add": Hnsw.building}
        graph = Graph(ndim=matrix.shape[1], metric="ip", dtype=dtype, multi=False, **shape)
        graph.add(np.arange(len(matrix)), matrix, threads=1)
        graph.save(str(path))

    return build


def open_usearch(path: Path) -> Search:
    """Return a search of a memory-mapped graph; its width is the beam."""
    from usearch.index import Index as Graph

    opened = Graph.restore(str(path), view=True)

    def search(query: Vectors, beam: int) -> NDArray[Any]:
        opened.expansion_search = beam
        return np.asarray(opened.search(query, K, threads=1).keys)

    return search


def _ms(began: float, n: int) -> float:
    return 1000 * (time.process_time() - began) / n


_BEAMS, _LISTS = (100, 200, 400, 800), (16, 64, 256)
LIBRARIES = {
    "faiss hnsw": Library(build_faiss("hnsw"), open_hnsw, _BEAMS),
    "faiss ivf-pq": Library(build_faiss("ivf-pq"), open_lists, _LISTS, ANN_METHODS["ivf-pq"].more),
    "usearch f32": Library(build_usearch("f32"), open_usearch, _BEAMS),
    "usearch i8": Library(build_usearch("i8"), open_usearch, _BEAMS),
}


if __name__ == "__main__":
    main()
