"""Windows that fit a scorer's input: counted in its own wordpieces, with borders at sentences or words.

    units     the sentences (or words) of the document, each with its wordpieces; a unit that is longer than a window is
              split into words, a word into wordpieces, a wordpiece of very many characters into characters
    window    as many units as fit; the next window begins at the last border within `stride` wordpieces of its
              beginning, and never lies wholly in it
    room      the wordpieces that a scorer reads of a title and a passage, see `OffsetTokenizer`

The document is tokenised once. A window alone may have a few other tokens at its ends than within the document. So a
window that nearly fills the room, or that ends inside a word, is tokenised again, and gets shorter until it fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.text.packing import MAX_CHARACTERS_PER_TOKEN, SLACK
from longrank.text.segmenters import Cap, UnitFinder, segmentation_of
from longrank.text.windows import (
    OffsetTokenizer,
    Units,
    piece_end,
    pieces,
    token_offsets,
    trimmed,
    whitespace_words,
)
from longrank.types import Document, Int32s, Segmentation, Span


@dataclass(frozen=True)
class FittedWindows:
    """Windows of at most `length` wordpieces, less if the scorer or a title leaves less room.

    With `title`, the scorer reads the title before each window. A title of more than half the room is cut to this half.
    """

    fingerprint: str
    tokenizer: OffsetTokenizer
    borders: UnitFinder
    length: int
    stride: int
    title: bool
    cap: Cap

    def segment(self, document: Document) -> Segmentation:
        """Return the windows of a document, in order of appearance, and its title if it was cut."""
        title = self._read_of(document.title) if self.title else ""
        fit = Fit.of(self.tokenizer, title, self.length)
        windows = _Windows(document.text, self.borders, self.tokenizer, fit)
        spans = list(windows.spans(max(1, self.stride * fit.tokens // self.length)))
        chosen = ((n, spans[n]) for n in self.cap.choose(len(spans), document.doc_id))
        segmentation = segmentation_of(document, chosen, len(spans))
        cut = self.title and title != document.title
        return segmentation._replace(title=title) if cut else segmentation

    def _read_of(self, title: str) -> str:
        """Return the title, or the beginning of it that fits into half of the room."""
        most = max(1, self.tokenizer.room // 2)
        title = title[: MAX_CHARACTERS_PER_TOKEN * most]
        while len(offsets := self.tokenizer.offsets(title)) > most:
            title = title[: min(offsets[most - 1][1], len(title) - 1)]
        return title


class Fit(NamedTuple):
    """Largest window beside a title.

    Attributes:
        tokens: largest number of wordpieces by the document's tokens.
        alone: largest number of wordpieces by the tokens of the window alone.
        characters: largest number of code points.
        before: the title and a blank, or nothing.
        n_before: number of their tokens.
    """

    tokens: int
    alone: int
    characters: int
    before: str
    n_before: int

    @classmethod
    def of(cls, tokenizer: OffsetTokenizer, title: str, length: int) -> Fit:
        """Return the largest window of at most `length` wordpieces."""
        before = f"{title} " if title else ""
        n_before = len(tokenizer.offsets(before)) if before else 0
        room = max(1, tokenizer.room - n_before)
        tokens = min(length, room)
        characters = min(MAX_CHARACTERS_PER_TOKEN * tokens, MAX_CHARACTERS_PER_TOKEN * tokenizer.room - len(before))
        return cls(tokens, min(length + SLACK, room), max(1, characters), before, n_before)

    @property
    def surely(self) -> bool:
        """True if a window fits alone whenever it fits within the document."""
        return self.tokens + SLACK <= self.alone


class _Windows:
    """Windows over the units of a text: unit i has the text[starts[i]:ends[i]], and `before[i]` tokens before it."""

    def __init__(self, text: str, borders: UnitFinder, tokenizer: OffsetTokenizer, fit: Fit) -> None:
        self._text, self._tokenizer, self._fit = text, tokenizer, fit
        self._units, self._before = _fitting(borders(text), text, token_offsets(text, tokenizer).ends, fit)

    def spans(self, stride: int) -> Iterator[Span]:
        """Yield the windows; each reaches farther than the window before."""
        first = reached = 0
        while reached < len(self._units):
            after = self._after(first)
            if after <= reached:
                first += 1  # too much overlap: no further unit fits
                continue
            span = self._units.span(first, after)
            yield from self._halved(*span) if after == first + 1 else (span,)
            reached = after
            within = int(self._before.searchsorted(self._before[first] + stride, side="right")) - 1
            first = min(max(first + 1, within), reached)

    def _after(self, first: int) -> int:
        """Return the unit after the longest window that begins with unit `first`."""
        by_tokens = self._before.searchsorted(self._before[first] + self._fit.tokens, side="right") - 1
        by_characters = self._units.ends.searchsorted(self._units.starts[first] + self._fit.characters, side="right")
        after = max(first + 1, int(min(by_tokens, by_characters)))
        while after > first + 1 and (share := self._filled(*self._units.span(first, after))) > 1:
            after = max(first + 1, min(after - 1, first + int((after - first) / share)))
        return after

    def _halved(self, start: int, end: int) -> Iterator[Span]:
        """Yield a unit, or its halves if it does not fit."""
        if end - start == 1 or self._filled(start, end) <= 1:
            yield start, end
            return
        middle = piece_end(self._text, start, (end - start) // 2)
        for half in (trimmed(self._text, start, middle), trimmed(self._text, middle, end)):
            yield from self._halved(*half) if half else ()

    def _filled(self, start: int, end: int) -> float:
        """Return the share of the room that a window takes; 0 if it surely fits."""
        if self._fit.surely and self._is_border(start) and self._is_border(end):
            return 0
        n = len(self._tokenizer.offsets(self._fit.before + self._text[start:end])) - self._fit.n_before
        return n / self._fit.alone

    def _is_border(self, at: int) -> bool:
        return at in {0, len(self._text)} or self._text[at - 1].isspace() or self._text[at].isspace()


def _fitting(units: Units, text: str, token_ends: Int32s, fit: Fit) -> tuple[Units, Int32s]:
    """Split units that are longer than a window; return all units, and `_tokens_before` them."""
    token_ends = np.maximum.accumulate(token_ends)

    def in_words(start: int, end: int) -> Iterator[Span]:
        words = whitespace_words(text[start:end])
        return ((start + a, start + b) for a, b in zip(words.starts.tolist(), words.ends.tolist(), strict=True))

    def in_tokens(start: int, end: int) -> Iterator[Span]:
        first, after = np.searchsorted(token_ends, [start, end], side="right")
        return pairwise(sorted({start, end, *token_ends[first:after].tolist()}))

    def in_characters(start: int, end: int) -> Iterator[Span]:
        return ((start + a, start + b) for a, b in pieces(text[start:end], fit.characters))

    for finer in (in_words, in_tokens, in_characters):
        before = _tokens_before(units, token_ends)
        too_long = (np.diff(before) > fit.tokens) | (units.ends - units.starts > fit.characters)
        if too_long.any():
            units = Units.of(_refined(units, too_long, finer))
    return units, _tokens_before(units, token_ends)


def _refined(units: Units, too_long: NDArray[np.bool_], finer: Callable[[int, int], Iterator[Span]]) -> Iterator[Span]:
    for n, split in enumerate(too_long):
        yield from finer(*units.span(n, n + 1)) if split else (units.span(n, n + 1),)


def _tokens_before(units: Units, token_ends: Int32s) -> Int32s:
    """Return int[N + 1]: tokens that end before each unit, and before the end of the last."""
    return np.concatenate(([0], np.searchsorted(token_ends, units.ends, side="right"))).astype(np.int32)
