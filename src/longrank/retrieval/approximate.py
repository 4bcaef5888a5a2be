"""Approximate search over stored passage vectors, by faiss: a graph (HNSW), or lists of quantised vectors (IVF-PQ).

    INDEX/vectors/<model>-<passages>/<hnsw or ivf-pq>/
        graph           faiss' own format: links and a copy of the vectors, or lists of codes; memory-mapped
        rows            int64[n]        passages, group after group of almost equal vectors
        groups          int64[G + 1]    first place of each group in `rows`
        manifest.json   the vectors (SHA-256), options, and recall@100 against exact search; written last

A set of vectors has one of them, made of the first vector of each group. It finds groups; the scores of their documents
are computed again from the stored vectors. It is built by one thread, so equal vectors give equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.errors import Changed, InputError, IntegrityError, MissingExtra
from longrank.index import Index
from longrank.index.locking import building
from longrank.index.publishing import discard, replace_folder
from longrank.index.vectors import PassageVectors
from longrank.retrieval.ann_methods import ANN_METHODS, AnnMethod, search, training_rows
from longrank.retrieval.nearest import best_cosines, best_documents, rows_of
from longrank.retrieval.products import products, rounding
from longrank.retrieval.searcher import Hits
from longrank.retrieval.vector_groups import VectorGroups, grouped, open_groups
from longrank.scoring.vectors import cosines
from longrank.storage import MANIFEST, open_manifest, read_manifest, verify, write_manifest
from longrank.types import Float32s

FORMAT, VERSION = "longrank approximate search", 2
_SAMPLE, _TOP, _AT_ONCE = 200, 100, 8192
_SHARE = 4  # from a quarter of all passages on, the fast product of all takes less time than copying them


class Graph:
    """A graph, or lists, over stored vectors; opened by `open_graph`. Safe to use from several threads.

    Attributes:
        method: a key of `ANN_METHODS`, the name of the folder.
        recall: mean share of the exact 100 nearest passages that the graph finds, for sampled passages.
    """

    def __init__(self, folder: Path, stored: PassageVectors) -> None:
        manifest = open_manifest(folder)
        self._fix = fix = f"build it again: longrank index INDEX --vectors MODEL --ann {folder.name}"
        if (manifest.get("format"), manifest.get("version")) != (FORMAT, VERSION):
            raise IntegrityError(f"{folder}: not a graph of this version; {fix}")
        if manifest.get("vectors") != stored.digest:
            raise IntegrityError(f"{folder}: of other vectors; {fix}")
        faiss, self.method, self._stored = load_faiss(), folder.name, stored
        try:
            self.recall = float(manifest["recall@100"])
            self._faiss, self._graph = faiss, faiss.read_index(str(folder / "graph"), faiss.IO_FLAG_MMAP_IFC)
            self._groups = open_groups(folder, len(stored))
        except (KeyError, TypeError, ValueError, RuntimeError) as error:  # RuntimeError: faiss cannot read the graph
            raise IntegrityError(f"{folder}: damaged; {fix}") from error

    def passages(self, query: Float32s, n: int) -> tuple[NDArray[np.int64], Float32s]:
        """Return passages near a query as ascending rows of the stored vectors, int64[m], and about their scores.

        They are at least about `n` passages, with all others of their groups; a group has the score of its first.

        Raises:
            IntegrityError: a group or a row is missing, or a vector is not finite.
        """
        groups = search(ANN_METHODS[self.method], self._faiss, self._graph, query, n)
        try:
            first = self._groups.rows[self._groups.bounds[groups]]
            scores = cosines(self._stored.matrix[first], query)
            rows, of = self._groups.members(groups)
        except IndexError as error:
            raise IntegrityError(f"{self._stored.path / self.method}: damaged; {self._fix}") from error
        self._check_finite(first, scores)
        return rows, scores[of]

    def best_documents(self, query: Float32s, ranks: NDArray[np.uint32], k: int) -> Hits:
        """Return about the k documents with the best passages; their scores are exact.

        Passages are found by the graph, and the k documents of the best passages found are scored by all their
        passages; if these are many, all documents are.

        Args:
            query: unit vector, float32[H].
            ranks: uint32[D]; among equal scores the larger rank comes first.
            k: largest number of documents, >= 1.
        """
        offsets, n = self._stored.offsets.astype(np.int64), 4 * k
        while True:
            rows, found = self.passages(query, n)
            owners = np.searchsorted(offsets, rows, side="right") - 1
            numbers, starts = np.unique(owners, return_index=True)
            if len(numbers) >= min(k, len(offsets) - 1) or n >= len(self._stored):
                break
            n *= 4
        best = np.maximum.reduceat(found, starts)
        numbers = np.sort(numbers[np.lexsort((ranks[numbers], best))[::-1][:k]])
        if _SHARE * int((offsets[numbers + 1] - offsets[numbers]).sum()) > len(self._stored):  # exact search is faster
            return Hits(*best_documents(self._stored, query, ranks, k))
        scores = best_cosines(self._stored.matrix, offsets, numbers, query)
        if not np.isfinite(scores).all():
            every, _ = rows_of(offsets, numbers)
            self._check_finite(every, cosines(self._stored.matrix[every], query))
        order = np.lexsort((ranks[numbers], scores))[::-1]
        return Hits(numbers[order], scores[order])

    def _check_finite(self, rows: NDArray[np.int64], scores: Float32s) -> None:
        if not np.isfinite(scores).all():
            of_all = np.zeros(len(self._stored), np.float32)
            of_all[rows] = scores
            self._stored.check_finite(of_all)


def write_graph(
    index: Index, stored: PassageVectors, method: str = "hnsw", progress: Callable[[int], object] = lambda n: None
) -> Graph:
    """Build the graph or lists of stored vectors and measure the recall; those of these vectors are kept if there.

    Args:
        index: the index of the vectors.
        stored: its vectors.
        method: a key of `ANN_METHODS`; what another method built is removed.
        progress: called with the number of vectors just added.

    Raises:
        InputError: the index cannot be written to, another process is writing to it, or one has replaced the vectors.
        MissingExtra: faiss is not installed.
        IntegrityError: a stored vector is not finite.
    """
    faiss = load_faiss()
    if (graph := _intact(stored, method)) is not None:
        return graph
    faiss.omp_set_num_threads(1)
    groups = _groups(stored)
    built = _built(faiss, stored.matrix, groups.first, ANN_METHODS[method], progress)
    meta = {"format": FORMAT, "version": VERSION, "vectors": stored.digest}
    meta |= ANN_METHODS[method].options(len(groups.first), stored.dimension)
    with building(index.path) as work:
        if read_manifest(stored.path)["files"]["vectors"]["sha256"] != stored.digest:
            raise Changed("these vectors were replaced while their graph was built", path=stored.path, fix="try again")
        faiss.write_index(built, str(work / "graph"))
        groups.write(work)
        recall = measured(built, groups, faiss, stored.matrix, ANN_METHODS[method])
        write_manifest(work, {**meta, "recall@100": recall})
        replace_folder(work, stored.path / method, index.path)
        for name in ANN_METHODS.keys() - {method}:
            discard(stored.path / name, index.path)
    return Graph(stored.path / method, stored)


def _groups(stored: PassageVectors) -> VectorGroups:
    for start in range(0, len(stored), _AT_ONCE):
        if not np.isfinite(stored.matrix[start : start + _AT_ONCE]).all():
            stored.check_finite(stored.matrix.sum(axis=1))
    return grouped(stored.matrix)


def _built(
    faiss: ModuleType,
    matrix: NDArray[np.float32],
    rows: NDArray[np.int64],
    method: AnnMethod,
    progress: Callable[[int], object],
) -> Any:
    """Return a faiss index of some vectors."""
    built = method.untrained(faiss, len(rows), matrix.shape[1])
    if len(rows) and not built.is_trained:
        built.train(matrix[rows[training_rows(len(rows), built.nlist)]])
    for start in range(0, len(rows), _AT_ONCE):
        block = np.ascontiguousarray(matrix[rows[start : start + _AT_ONCE]])
        built.add(block)
        progress(len(block))
    return built


def open_graph(stored: PassageVectors) -> Graph | None:
    """Return the graph or lists of stored vectors; None if there are none.

    Raises:
        MissingExtra: faiss is not installed.
        IntegrityError: they are damaged, or of other vectors.
    """
    folders = (stored.path / name for name in ANN_METHODS)
    return next((Graph(folder, stored) for folder in folders if (folder / MANIFEST).is_file()), None)


def measured(
    built: Any, groups: VectorGroups, faiss: ModuleType, matrix: NDArray[np.float32], method: AnnMethod
) -> float:
    """Return the mean recall@100 against exact search, for up to 200 passages spread over the vectors."""
    top, shares = min(_TOP, len(matrix)), []
    for row in np.linspace(0, len(matrix) - 1, min(_SAMPLE, len(matrix))).astype(np.int64).tolist():
        query = np.ascontiguousarray(matrix[row])
        scores = products(matrix, query)
        found, _ = groups.members(search(method, faiss, built, query, top))
        reached = np.sort(scores)[-top] - rounding(query)  # passages of equal scores count alike
        shares.append(min(1.0, np.count_nonzero(scores[found] >= reached) / top))
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


def _intact(stored: PassageVectors, method: str) -> Graph | None:
    """Return the graph or lists of a method whose files are as they were written; None if there are none."""
    try:
        graph = open_graph(stored)
        if graph is None or graph.method != method:
            return None
        verify(stored.path / method)
        return graph
    except (InputError, IntegrityError):
        return None
