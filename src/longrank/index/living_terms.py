"""Terms of queries in several segments, without numbering the terms of all segments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from longrank.index.arrays import packed
from longrank.index.parts import Int64s, Part
from longrank.index.postings import FoundTerms

_KEPT = 1 << 16  # latest terms that are kept


class LivingTerms:
    """Finds terms in several segments; the latest terms are kept. Safe to use from several threads."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._kept: dict[str, Int64s] = {}

    def found(self, terms: Sequence[str]) -> FoundTerms:
        """Return the terms that living documents have; `terms` are sorted."""
        rows = self._rows(terms)
        living = np.flatnonzero(rows[0])
        if len(living) < len(terms):
            rows = np.ascontiguousarray(rows[:, living])
        bounds = zip(self._parts, rows[2::2], rows[3::2], strict=True)
        segments = [part.postings.stored.terms(*some) for part, *some in bounds]
        return FoundTerms(living, rows[0], rows[1], segments)

    def _rows(self, terms: Sequence[str]) -> Int64s:
        """Return int64[2 + 2 segments, T]: document frequencies, occurrences, bounds in each segment."""
        known = {term: row for term in terms if (row := self._kept.get(term)) is not None}
        missing = [term for term in terms if term not in known]
        found = self._looked_up(missing)
        rows = dict(zip(missing, found.T.copy(), strict=True))
        if len(self._kept) + len(rows) > _KEPT:
            self._kept = {}
        self._kept |= rows
        if not known:
            return found
        known |= rows
        return np.stack([known[term] for term in terms], axis=1)

    def _looked_up(self, terms: Sequence[str]) -> Int64s:
        from longrank.index.sorted_merging import find_terms  # compiled code takes time to load

        rows = np.zeros((2 + 2 * len(self._parts), len(terms)), np.int64)
        if not terms:
            return rows
        needles, places = (
            packed([term.encode(errors="surrogatepass") for term in terms]),
            np.empty(len(terms), np.int64),
        )
        for number, part in enumerate(self._parts, 1):
            find_terms(*part.postings.arrays, needles.text, needles.bounds, places, rows[0], rows[1])
            part.subtract_lost(places, rows[0], rows[1])
            rows[2 * number], rows[2 * number + 1] = part.postings.stored.bounds(places)
        return rows
