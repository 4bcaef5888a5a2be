"""Approximate search over stored passage vectors: a graph (HNSW, Malkov and Yashunin 2020) by faiss.

    INDEX/vectors/<model>-<passages>/hnsw/
        graph           faiss' own format: links and a copy of the vectors; memory-mapped
        manifest.json   the vectors (SHA-256), options, and recall@100 against exact search; written last

The graph finds passages; the scores of their documents are computed again from the stored vectors. It is built by one
thread, so equal vectors give equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError, IntegrityError, MissingExtra
from longrank.index import Index
from longrank.index.folder import building
from longrank.index.publishing import discard
from longrank.index.vectors import PassageVectors
from longrank.retrieval.nearest import products, rounding
from longrank.retrieval.searcher import Hits
from longrank.scoring.vectors import cosines
from longrank.storage import MANIFEST, open_manifest, read_manifest, sync_folder, write_manifest
from longrank.types import Float32s

FORMAT, VERSION = "longrank approximate search", 1
LINKS, BUILDING, BEAM = 16, 200, 400
"""Links of a vector, and vectors compared while the graph is built and searched."""

_SAMPLE, _TOP, _AT_ONCE = 200, 100, 8192


class Graph:
    """A graph over stored vectors; opened by `open_graph`. Safe to use from several threads.

    Attributes:
        recall: mean share of the exact 100 nearest passages that the graph finds, for sampled passages.
    """

    def __init__(self, folder: Path, stored: PassageVectors) -> None:
        manifest = open_manifest(folder)
        if (manifest.get("format"), manifest.get("version")) != (FORMAT, VERSION):
            raise IntegrityError(f"{folder}: not a graph of this version; build it again: longrank index --ann")
        if manifest["vectors"] != _digest(stored):
            raise IntegrityError(f"{folder}: of other vectors; build it again: longrank index --ann hnsw")
        faiss = load_faiss()
        self.recall, self._stored = float(manifest["recall@100"]), stored
        self._faiss, self._graph = faiss, faiss.read_index(str(folder / "graph"), faiss.IO_FLAG_MMAP_IFC)

    def passages(self, query: Float32s, n: int) -> NDArray[np.int64]:
        """Return about `n` passages near a query, int64[<= n], as rows of the stored vectors, ascending."""
        n = min(n, len(self._stored))
        beam = self._faiss.SearchParametersHNSW(efSearch=max(BEAM, n))
        found = self._graph.search(query[None], n, params=beam)[1][0]
        return np.sort(found[found >= 0]).astype(np.int64)

    def best_documents(self, query: Float32s, ranks: NDArray[np.uint32], k: int) -> Hits:
        """Return about the k documents with the best passages; their scores are exact for the passages found.

        Args:
            query: unit vector, float32[H].
            ranks: uint32[D]; among equal scores the larger rank comes first.
            k: largest number of documents, >= 1.
        """
        offsets, n = self._stored.offsets.astype(np.int64), 4 * k
        while True:
            rows = self.passages(query, n)
            owners = np.searchsorted(offsets, rows, side="right") - 1
            numbers, starts = np.unique(owners, return_index=True)
            if len(numbers) >= min(k, len(offsets) - 1) or n >= len(self._stored):
                break
            n *= 4
        exact = cosines(self._stored.matrix[rows], query)
        self._stored.check_finite(exact)
        scores = np.maximum.reduceat(exact, starts)
        order = np.lexsort((ranks[numbers], scores))[::-1][:k]
        return Hits(numbers[order], scores[order])


def write_graph(index: Index, stored: PassageVectors, progress: Callable[[int], object] = lambda n: None) -> Graph:
    """Build the graph of stored vectors and measure its recall; a graph of these vectors that is there is kept.

    Args:
        index: the index of the vectors.
        stored: its vectors.
        progress: called with the number of vectors just added.

    Raises:
        InputError: the index cannot be written to, or another process is writing to it.
        MissingExtra: faiss is not installed.
        IntegrityError: a stored vector is not finite.
    """
    faiss, target = load_faiss(), stored.path / "hnsw"
    if (graph := _intact(stored)) is not None:
        return graph
    faiss.omp_set_num_threads(1)
    built = faiss.IndexHNSWFlat(stored.dimension, LINKS, faiss.METRIC_INNER_PRODUCT)
    built.hnsw.efConstruction = BUILDING
    for start in range(0, len(stored), _AT_ONCE):
        block = np.ascontiguousarray(stored.matrix[start : start + _AT_ONCE])
        if not np.isfinite(block).all():
            stored.check_finite(stored.matrix.sum(axis=1))
        built.add(block)
        progress(len(block))
    meta = {"format": FORMAT, "version": VERSION, "vectors": _digest(stored), "links": LINKS, "building": BUILDING}
    with building(index.path) as work:
        faiss.write_index(built, str(work / "graph"))
        write_manifest(work, {**meta, "recall@100": measured(built, faiss, stored.matrix)})
        discard(target, index.path)
        work.rename(target)
        sync_folder(stored.path)
    return Graph(target, stored)


def open_graph(stored: PassageVectors) -> Graph | None:
    """Return the graph of stored vectors; None if there is none.

    Raises:
        MissingExtra: faiss is not installed.
        IntegrityError: the graph is damaged, or of other vectors.
    """
    folder = stored.path / "hnsw"
    return Graph(folder, stored) if (folder / MANIFEST).is_file() else None


def measured(graph: Any, faiss: ModuleType, matrix: NDArray[np.float32]) -> float:
    """Return the mean recall@100 of a graph against exact search, for up to 200 passages spread over the vectors."""
    top, shares = min(_TOP, len(matrix)), []
    for row in np.linspace(0, len(matrix) - 1, min(_SAMPLE, len(matrix))).astype(np.int64).tolist():
        query = np.ascontiguousarray(matrix[row])
        scores = products(matrix, query)
        found = graph.search(query[None], top, params=faiss.SearchParametersHNSW(efSearch=BEAM))[1][0]
        reached = np.sort(scores)[-top] - rounding(query)  # passages of equal scores count alike
        shares.append(np.count_nonzero(scores[found[found >= 0]] >= reached) / top)
    return round(float(np.mean(shares)), 4) if shares else 1.0


def load_faiss() -> ModuleType:
    """Return the module faiss.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        return import_module("faiss")
    except ImportError:
        raise MissingExtra("approximate search", "ann") from None


def _intact(stored: PassageVectors) -> Graph | None:
    try:
        return open_graph(stored)
    except (InputError, IntegrityError):
        return None


def _digest(stored: PassageVectors) -> str:
    return str(read_manifest(stored.path)["files"]["vectors"]["sha256"])
