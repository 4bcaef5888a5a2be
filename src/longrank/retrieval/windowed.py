"""Search of packed postings by BM25 or query likelihood: exhaustive, or with terms skipped where that is faster.

Queries are searched in blocks: compiled code runs without Python's lock, so threads with a block each run side by side.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.index.arrays import Array
from longrank.index.documents import Slots
from longrank.index.score_tables import Codes, Weights
from longrank.index.stored_postings import PackedTerms
from longrank.index.window_best import BUCKETS
from longrank.index.window_terms import Docs
from longrank.index.windows import GROUP, WINDOW, Scratch, search_all
from longrank.types import Float32s

_TABLED = 1000  # postings, more than a block has; for fewer, a table of scores takes longer than the scores
_FEWEST_TERMS = 4  # of a query in which terms are skipped
_POSTINGS_PER_HIT = 10_000  # of a query, for each document wanted, where terms are skipped
_BLOCK = 16  # queries
_MOST_KEPT = 1 << 21  # best documents of a block of queries
_NEVER = 1 << 62
_NO_NORMS, _NO_OFFSETS = np.empty(0, np.float32), np.empty(0)


class PackedQuery(NamedTuple):
    """A query of T >= 1 terms in alphabetical order: their postings in each segment, and their weights in a model."""

    segments: Sequence[PackedTerms]
    weights: NDArray[np.floating]


class Found(NamedTuple):
    """The best documents, best first: slots, int64[n], and scores, float32[n]."""

    slots: NDArray[np.int64]
    scores: Float32s


class Windows(ABC):
    """The documents of an index, prepared for a model; safe to use from several threads.

    Attributes:
        window: documents of a window, a multiple of 32.
    """

    window = WINDOW

    def __init__(self, slots: Slots, classes: Array, norms: Float32s, offsets: NDArray[np.float64]) -> None:
        """Prepare for searching.

        Args:
            slots: the slots of the index.
            classes: unsigned[S], the class of each document's length.
            norms, offsets: as in `Docs`; empty where the model has none.
        """
        self._bases = slots.bases.tolist()
        dead = np.zeros(len(classes) if len(slots.dead) else 0, np.bool_)
        dead[slots.dead] = True
        self._by_code = classes.dtype == np.uint8
        classes, ranks = _read_only(classes), _read_only(slots.ranks)
        self._docs = [
            Docs(base, classes[base:end], norms, offsets, ranks[base:end], dead[base:end])
            for base, end in pairwise(self._bases)
        ]
        self._own = threading.local()

    def search(
        self, queries: Sequence[PackedQuery], k: int, descending: bool, excluded: NDArray[np.bool_] | None
    ) -> Iterator[Found]:
        """Yield the best k documents of each query.

        Args:
            queries: the queries.
            k: largest number of documents, >= 1.
            descending: True: the larger rank comes first among equal scores.
            excluded: bool[S], documents to leave out, deleted documents among them; None: deleted documents.
        """
        k = min(k, self._bases[-1])
        size = max(1, min(_BLOCK, _MOST_KEPT // max(k, 1)))
        for first in range(0, len(queries), size):
            yield from self._block(queries[first : first + size], k, descending, excluded)

    def _block(
        self, queries: Sequence[PackedQuery], k: int, descending: bool, excluded: NDArray[np.bool_] | None
    ) -> list[Found]:
        bounds = np.cumsum([0, *(len(query.weights) for query in queries)])
        model = self._model(_joined([query.weights for query in queries]))
        segments = [_codes(packed) for packed in zip(*(query.segments for query in queries), strict=True)]
        n_postings = np.add.reduceat(sum(codes.dfs for codes in segments), bounds[:-1])
        skipping = self._skips(model.weights, bounds, n_postings, k)
        keys, slots = np.empty((len(queries), k), np.uint64), np.empty((len(queries), k), np.int64)
        found, last = np.empty(len(queries), np.int64), len(segments) - 1
        with self._scratch(len(queries), k) as scratch:
            for number, (codes, docs) in enumerate(zip(segments, self._within(excluded), strict=True)):
                search_all(
                    codes, model, bounds, skipping, docs, scratch, descending, keys, slots, found, number == last
                )
        return [_sorted(keys[query, :n], slots[query, :n]) for query, n in enumerate(found.tolist())]

    def _within(self, excluded: NDArray[np.bool_] | None) -> list[Docs]:
        """Return the documents of each segment."""
        if excluded is None:
            return self._docs
        return [docs._replace(excluded=excluded[docs.slot :][: len(docs.ranks)]) for docs in self._docs]

    @property
    def _tabled(self) -> int:
        return _TABLED if self._by_code else _NEVER

    @abstractmethod
    def _model(self, weights: NDArray[np.floating]) -> Weights:
        """Return the model's weights of the terms of all queries of a block."""

    @abstractmethod
    def _skips(
        self, weights: Float32s, bounds: NDArray[np.int64], n_postings: NDArray[np.int64], k: int
    ) -> NDArray[np.bool_]:
        """Return bool[Q], True if terms of a query may be skipped: sums are exact in any order, and it is faster."""

    @contextmanager
    def _scratch(self, n_queries: int, k: int) -> Iterator[Scratch]:
        """Lend the arrays of this thread; after an interruption they are made again, since it may leave sums there."""
        own, size = self._own, 2 * k + self.window
        scratch: Scratch | None = vars(own).pop("scratch", None)
        if scratch is None or scratch.keys.shape[0] < n_queries or scratch.keys.shape[1] < size:
            scratch = _new_scratch(self.window, n_queries, size)
        yield scratch
        own.scratch = scratch


class Bm25Windows(Windows):
    """The documents of an index, prepared for BM25."""

    def __init__(self, slots: Slots, classes: Array, norms: Float32s, code_norms: Float32s, most_tf: int) -> None:
        """Prepare for searching.

        Args:
            slots, classes: as in `Windows`.
            norms: result of `similarity.inverse_norms` for each class.
            code_norms: the same for the 256 length codes.
            most_tf: no term occurs more often in a document.
        """
        super().__init__(slots, classes, norms, _NO_OFFSETS)
        self._code_norms, self._most_tf = code_norms, most_tf

    def _model(self, weights: NDArray[np.floating]) -> Weights:
        return Weights(
            weights.astype(np.float32, copy=False),
            np.empty((len(weights), 0)),
            self._code_norms,
            _NO_OFFSETS,
            self._tabled,
        )

    def _skips(
        self, weights: Float32s, bounds: NDArray[np.int64], n_postings: NDArray[np.int64], k: int
    ) -> NDArray[np.bool_]:
        may_skip = self._may_skip(np.diff(bounds), n_postings, k)
        for query in np.flatnonzero(may_skip).tolist():
            some = weights[bounds[query] : bounds[query + 1]]
            may_skip[query] = sums_are_exact(some, self._code_norms, self._most_tf)
        return may_skip

    def _may_skip(self, n_terms: NDArray[np.int64], n_postings: NDArray[np.int64], k: int) -> NDArray[np.bool_]:
        """Return bool[Q], True if skipping terms of a query is faster, by measurement."""
        return (n_terms >= _FEWEST_TERMS) & (n_postings >= k * _POSTINGS_PER_HIT)


class LikelihoodWindows(Windows):
    """The documents of an index, prepared for query likelihood; its weights are `Terms.factors`."""

    def __init__(
        self, slots: Slots, classes: Array, offsets: NDArray[np.float64], code_offsets: NDArray[np.float64]
    ) -> None:
        """Prepare for searching.

        Args:
            slots, classes: as in `Windows`.
            offsets: result of `similarity.dirichlet_offsets` for each class.
            code_offsets: the same for the 256 length codes.
        """
        super().__init__(slots, classes, _NO_NORMS, offsets)
        self._code_offsets = code_offsets

    def _model(self, weights: NDArray[np.floating]) -> Weights:
        return Weights(
            np.zeros(len(weights), np.float32),
            weights.astype(np.float64, copy=False),
            _NO_NORMS,
            self._code_offsets,
            self._tabled,
        )

    def _skips(
        self, weights: Float32s, bounds: NDArray[np.int64], n_postings: NDArray[np.int64], k: int
    ) -> NDArray[np.bool_]:
        return np.zeros(len(n_postings), np.bool_)  # sums of its scores depend on the order


def _new_scratch(window: int, n_queries: int, size: int) -> Scratch:
    return Scratch(
        np.full(window, -0.0),
        np.empty(window + GROUP, np.uint32),
        np.empty(window, np.uint32),
        np.empty((n_queries, size), np.uint64),
        np.empty((n_queries, size), np.int64),
        np.zeros((n_queries, 2), np.int64),
        np.zeros(n_queries, np.uint64),
        np.zeros((n_queries, BUCKETS), np.int32),
    )


def _sorted(keys: NDArray[np.uint64], slots: NDArray[np.int64]) -> Found:
    """Return documents with these keys, see `longrank.index.window_best`, best first."""
    order = np.argsort(keys)[::-1]
    return Found(slots[order], (keys[order] >> np.uint64(32)).astype(np.uint32).view(np.float32))


def _joined(arrays: Sequence[Array]) -> Array:
    return np.concatenate(arrays) if len(arrays) > 1 else arrays[0]


def _codes(terms: Sequence[PackedTerms]) -> Codes:
    """Return the postings of the terms of all queries in a segment."""
    codes = terms[0].codes
    begins, dfs = _joined([one.begins for one in terms]), _joined([one.dfs for one in terms])
    return Codes(codes, codes.view(np.uint16), codes.view(np.uint32), begins, dfs)


def sums_are_exact(weights: NDArray[np.floating], norms: Float32s, most_tf: int) -> bool:
    """Return True if float64 sums of scores of BM25 are exact, whatever their order.

    A score is ``w - q`` with ``q = w / (1 + tf * norm)`` in float32, so it is a multiple of the last bit of the least q
    possible, which is above q / 2^24. Sums are exact below 2^53 times that bit, so below 2^29 q; half of it is used,
    since q is rounded.
    """
    most = float(norms.max()) * most_tf
    least = float(weights.min()) / (1 + most)
    return bool(np.isfinite(most)) and float(weights.sum(dtype=np.float64)) < 2.0**28 * least


def _read_only(array: Array) -> Array:
    """Return a view that compiled code takes for the same type, whether the array is mapped or not."""
    view: Array = array.view()
    view.flags.writeable = False
    return view
