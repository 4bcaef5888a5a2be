"""Search of packed postings by BM25 or query likelihood: exhaustive, or with terms skipped where that is faster."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.index.accumulate import GAINS
from longrank.index.arrays import Array
from longrank.index.blocks import BLOCK
from longrank.index.documents import Slots
from longrank.index.score_tables import prepare, prepare_likelihoods
from longrank.index.stored_postings import PackedTerms
from longrank.index.window_best import BUCKETS, Best
from longrank.index.window_terms import TABLE, Docs, Terms
from longrank.index.windows import GROUP, WINDOW, search
from longrank.types import Float32s

_TABLED = 1000  # postings; for fewer, a table of scores takes longer than the scores
_FEWEST_TERMS = 4  # of a query in which terms are skipped
_POSTINGS_PER_HIT = 10_000  # of a query, for each document wanted, where terms are skipped
_ROUNDED = 1 + 1e-9  # sums of bounds are rounded


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
        self._bases, self._norms, self._offsets = slots.bases.tolist(), norms, offsets
        self._classes, self._ranks = _read_only(classes), _read_only(slots.ranks)
        self._by_code = classes.dtype == np.uint8
        self._dead = np.zeros(len(classes) if len(slots.dead) else 0, np.bool_)
        self._dead[slots.dead] = True
        self._own = threading.local()

    def search(
        self,
        segments: Sequence[PackedTerms],
        weights: NDArray[np.floating],
        k: int,
        descending: bool,
        excluded: NDArray[np.bool_] | None,
    ) -> Found:
        """Return the best k documents.

        Args:
            segments: the terms in each segment, in alphabetical order.
            weights: the model's weights of the T terms.
            k: largest number of documents, >= 1.
            descending: True: the larger rank comes first among equal scores.
            excluded: bool[S], documents to leave out, deleted documents among them; None: deleted documents.
        """
        k = min(k, self._bases[-1])
        skipping = self._skips(weights, sum(int(packed.dfs.sum()) for packed in segments), k)
        best, sums, places, met = self._scratch(k, descending)
        left_out = self._dead if excluded is None else excluded
        for packed, (base, end) in zip(segments, pairwise(self._bases), strict=True):
            some = slice(base, end)
            docs = Docs(base, self._classes[some], self._norms, self._offsets, self._ranks[some], left_out[some])
            search(self._terms(packed, weights, skipping), docs, best, skipping, sums, places, met)
        return _sorted(best)

    @abstractmethod
    def _skips(self, weights: NDArray[np.floating], n_postings: int, k: int) -> bool:
        """Return True if terms may be skipped: sums are exact in any order, and it is faster."""

    @abstractmethod
    def _terms(self, packed: PackedTerms, weights: Any, skipping: bool) -> Terms:
        """Return terms with ascending bounds if terms may be skipped, else in reverse alphabetical order."""

    def _scratch(
        self, k: int, descending: bool
    ) -> tuple[Best, NDArray[np.float64], NDArray[np.uint32], NDArray[np.uint32]]:
        """Return the arrays of this thread, reset."""
        own, size = self._own, 2 * k + self.window
        if not hasattr(own, "sums"):
            own.sums, own.places = np.full(self.window, -0.0), np.empty(self.window + GROUP, np.uint32)
            own.met = np.empty(self.window, np.uint32)
            own.counts, own.keys = np.empty(BUCKETS, np.int32), np.empty(0, np.uint64)
        if len(own.keys) < size:
            own.keys, own.docs = np.empty(size, np.uint64), np.empty(size, np.int64)
        own.counts[:] = 0
        state, floor = np.zeros(2, np.int64), np.zeros(1, np.uint64)
        return Best(k, descending, own.keys, own.docs, state, floor, own.counts), own.sums, own.places, own.met

    def _tables(self, dfs: NDArray[np.int64]) -> tuple[NDArray[np.int64], Float32s]:
        """Return places of the tables of terms, -1: none, and the tables, to be filled."""
        tabled = (dfs > _TABLED) & self._by_code
        return np.where(tabled, np.cumsum(tabled) - 1, -1), np.empty((int(tabled.sum()), TABLE), np.float32)


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
        super().__init__(slots, classes, norms, np.empty(0))
        self._code_norms, self._most_tf = code_norms, most_tf

    def _skips(self, weights: NDArray[np.floating], n_postings: int, k: int) -> bool:
        may_skip = self._may_skip(len(weights), n_postings, k)
        return may_skip and sums_are_exact(weights, self._code_norms, self._most_tf)

    def _may_skip(self, n_terms: int, n_postings: int, k: int) -> bool:
        """Return True if skipping terms is faster, by measurement."""
        return n_terms >= _FEWEST_TERMS and k * _POSTINGS_PER_HIT <= n_postings

    def _terms(self, packed: PackedTerms, weights: Float32s, skipping: bool) -> Terms:
        places, tables = self._tables(packed.dfs)
        bounds = np.empty(len(weights))
        prepare(*packed, weights, self._code_norms, places, bounds, tables)
        order = np.argsort(bounds, kind="stable") if skipping else np.arange(len(weights))[::-1]
        none = np.empty((len(weights), 0))
        totals = np.cumsum(bounds[order]) * _ROUNDED
        return _ordered(packed, order, weights, none, none, totals, tables, places)


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
        super().__init__(slots, classes, np.empty(0, np.float32), offsets)
        self._code_offsets = code_offsets

    def _skips(self, weights: NDArray[np.floating], n_postings: int, k: int) -> bool:
        return False  # sums of its scores depend on the order

    def _terms(self, packed: PackedTerms, weights: NDArray[np.float64], skipping: bool) -> Terms:
        n = len(weights)
        places, tables = self._tables(packed.dfs)
        gains = np.empty((n, GAINS))
        prepare_likelihoods(weights, self._code_offsets, places, gains, tables)
        unused, order = np.zeros(n, np.float32), np.arange(n)[::-1]
        return _ordered(packed, order, unused, weights, gains, np.zeros(n), tables, places)


def _ordered(  # noqa: PLR0917 - in the order of `Terms`
    packed: PackedTerms,
    order: NDArray[np.intp],
    weights: Float32s,
    factors: NDArray[np.float64],
    gains: NDArray[np.float64],
    totals: NDArray[np.float64],
    tables: Float32s,
    places: NDArray[np.int64],
) -> Terms:
    """Return terms in an order; `totals` have it already."""
    codes, begins, dfs = packed
    cursors = np.zeros((len(order), 2), np.int64)
    cursors[:, 1] = -1
    docs, tfs = np.empty((2, len(order), BLOCK), np.uint32)
    return Terms(
        codes,
        codes.view(np.uint16),
        codes.view(np.uint32),
        begins[order],
        dfs[order],
        weights[order],
        factors[order],
        gains[order],
        totals,
        tables,
        places[order],
        cursors,
        docs,
        tfs,
    )


def sums_are_exact(weights: NDArray[np.floating], norms: Float32s, most_tf: int) -> bool:
    """Return True if float64 sums of scores of BM25 are exact, whatever their order.

    A score is ``w - q`` with ``q = w / (1 + tf * norm)`` in float32, so it is a multiple of the last bit of the least q
    possible, which is above q / 2^24. Sums are exact below 2^53 times that bit, so below 2^29 q; half of it is used,
    since q is rounded.
    """
    most = float(norms.max()) * most_tf
    least = float(weights.min()) / (1 + most)
    return bool(np.isfinite(most)) and float(weights.sum(dtype=np.float64)) < 2.0**28 * least


def _sorted(best: Best) -> Found:
    n = int(best.state[0])
    keys, slots = best.keys[:n], best.docs[:n]
    if n > best.k:
        kept = np.flatnonzero(keys >= np.partition(keys, n - best.k)[n - best.k])
        keys, slots = keys[kept], slots[kept]
    order = np.argsort(keys)[::-1]
    return Found(slots[order], (keys[order] >> np.uint64(32)).astype(np.uint32).view(np.float32))


def _read_only(array: Array) -> Array:
    """Return a view that compiled code takes for the same type, whether the array is mapped or not."""
    view: Array = array.view()
    view.flags.writeable = False
    return view
