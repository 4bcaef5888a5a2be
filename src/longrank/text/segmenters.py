"""Segmenters, which split a document into passages; `longrank.text.segment` makes them by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

from longrank.errors import InputError
from longrank.text.windows import Units, sampled, trimmed, windows_over
from longrank.types import UNMATCHED, Document, Passage, Segmentation, Span


class UnitFinder(Protocol):
    """Finds the units that windows count: words, wordpieces or sentences."""

    def __call__(self, text: str) -> Units:
        """Return the units of a text."""
        ...


class Cap(NamedTuple):
    """Largest number of passages (0: all), the choice (``head``, ``first_last_random``), and the sample's seed."""

    most: int
    overflow: str
    seed: int

    def choose(self, n: int, doc_id: str) -> Iterable[int]:
        """Return the numbers of the passages to keep of `n`, ascending."""
        if not self.most or n <= self.most:
            return range(n)
        return range(self.most) if self.overflow == "head" else sampled(n, self.most, self.seed, doc_id)


@dataclass(frozen=True)
class SlidingWindows:
    """Windows of `length` units, one every `stride` units.

    With `drop_contained` no window lies wholly in the window before it.
    """

    fingerprint: str
    units: UnitFinder
    length: int
    stride: int
    drop_contained: bool
    cap: Cap

    def segment(self, document: Document) -> Segmentation:
        """Return the windows of a document, in order of appearance."""
        units = self.units(document.text)
        firsts = windows_over(len(units), self.length, self.stride, drop_contained=self.drop_contained)
        spans = (
            (i, units.span(firsts[i], firsts[i] + self.length)) for i in self.cap.choose(len(firsts), document.doc_id)
        )
        return segmentation_of(document, spans, len(firsts))


@dataclass(frozen=True)
class EvenSplit:
    """CEDR's rule: the first `max_units` units in the fewest parts of equal size that have at most `length` units.

    D units give n = ceil(D / length) parts of ceil(D / n) units; the last part may be smaller.
    """

    fingerprint: str
    units: UnitFinder
    length: int
    max_units: int

    def segment(self, document: Document) -> Segmentation:
        """Return the parts of a document; parts beyond `max_units` units are counted, not returned."""
        units = self.units(document.text)
        read = min(len(units), self.max_units)
        size = _ceil_div(read, _ceil_div(read, self.length)) if read else 1
        bounds = [*range(0, read, size), read]
        spans = (((i, units.span(a, b))) for i, (a, b) in enumerate(pairwise(bounds)))
        return segmentation_of(document, spans, _ceil_div(len(units), size))


@dataclass(frozen=True)
class GivenPassages:
    """Passages that the collection defines; a document without passages is a single passage."""

    fingerprint: str
    cap: Cap

    def segment(self, document: Document) -> Segmentation:
        """Return the collection's passages of a document.

        Raises:
            InputError: a span lies outside the text, or begins before the span ahead of it.
        """
        text, last = document.text, 0
        for start, end in document.passages:
            if (start, end) == UNMATCHED:
                fix = "correct them and index again, or choose another passage preset"
                raise InputError(f"the passages of document {document.doc_id!r} do not match its text", fix=fix)
            if not 0 <= start <= end <= len(text):
                raise InputError(
                    f"passage span of document {document.doc_id!r} lies outside its text", got=f"[{start}, {end}]"
                )
            if start < last:
                what = f"passage spans of document {document.doc_id!r} are not in order of appearance"
                raise InputError(what, got=f"[{start}, {end}]", fix="sort them")
            last = start
        passages = document.passages or (trimmed(text, 0, len(text)) or (0, 0),)
        spans = ((i, passages[i]) for i in self.cap.choose(len(passages), document.doc_id))
        return segmentation_of(document, spans, len(passages))


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """One passage: the document, without space at its ends."""

    fingerprint: str

    def segment(self, document: Document) -> Segmentation:
        """Return the document as a passage."""
        span = trimmed(document.text, 0, len(document.text))
        return segmentation_of(document, [(0, span)] if span else [], 1)


def segmentation_of(document: Document, spans: Iterable[tuple[int, Span]], n_passages: int) -> Segmentation:
    """Cut the passages out of the text; a document without units is one empty passage."""
    passages = tuple(
        Passage(document.doc_id, index, document.text[start:end], start, end) for index, (start, end) in spans
    )
    return Segmentation(passages or (Passage(document.doc_id, 0, "", 0, 0),), max(1, n_passages))


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)
