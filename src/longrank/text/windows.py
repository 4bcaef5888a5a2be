"""Units of a text, and sliding windows over them.

A unit is a word (a run of non-whitespace), a wordpiece or a sentence, stored as half-open offsets in code points. A
window has `length` units; the next window begins `stride` units later.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np

from longrank.draws import shuffled
from longrank.types import Int32s, Span

_PIECE = 1 << 16  # code points per step, or per call of a tokenizer
_LAST_SPACE = 0x3000  # the ideographic space
_IS_SPACE = np.array([chr(code).isspace() for code in range(_LAST_SPACE + 1)] + [False])


class Units:
    """Offsets of the units of a text, ascending: unit i is ``text[starts[i]:ends[i]]``.

    Each offset takes four bytes: the words of a text of 10 MB take 14 MB, not 250 MB.
    """

    def __init__(self, starts: Int32s, ends: Int32s) -> None:
        self.starts, self.ends = starts, ends

    @classmethod
    def of(cls, spans: Iterable[Span]) -> Units:
        """Return units from their offsets."""
        starts, ends = array("i"), array("i")
        for start, end in spans:
            starts.append(start)
            ends.append(end)
        return cls(np.asarray(starts), np.asarray(ends))

    def __len__(self) -> int:
        return len(self.starts)

    def span(self, first: int, after: int) -> Span:
        """Return the offsets of the text from unit `first` up to, not including, unit `after` (or the last)."""
        return int(self.starts[first]), int(self.ends[min(after, len(self.ends)) - 1])


class OffsetTokenizer(Protocol):
    """Protocol of a model's tokenizer for windows."""

    @property
    def fingerprint(self) -> str:
        """Names the vocabulary; equal fingerprints mean equal offsets."""
        ...

    @property
    def room(self) -> int:
        """Largest number of tokens of a text (a title and a passage) that the model never cuts, whatever the query."""
        ...

    def offsets(self, text: str) -> list[Span]:
        """Return (start, end) in code points of every token of `text`, without special tokens or truncation."""
        ...


def whitespace_words(text: str) -> Units:
    """Return the runs of non-whitespace."""
    edges, in_word = array("i"), False  # starts and ends of words, alternating
    for start in range(0, len(text), _PIECE):
        codes = np.frombuffer(text[start : start + _PIECE].encode("utf-32-le", "surrogatepass"), np.uint32)
        in_words = ~_IS_SPACE[np.minimum(codes, _LAST_SPACE + 1)]
        edges.frombytes((start + np.flatnonzero(np.diff(in_words, prepend=in_word))).astype(np.int32).tobytes())
        in_word = bool(in_words[-1])
    if in_word:
        edges.append(len(text))
    offsets = np.asarray(edges)
    return Units(offsets[::2], offsets[1::2])


def wordpieces(text: str, tokenizer: OffsetTokenizer) -> Units:
    """Return a tokenizer's tokens, without tokens of no characters."""
    tokens = token_offsets(text, tokenizer)
    some = tokens.ends > tokens.starts
    return Units(tokens.starts[some], tokens.ends[some])


def token_offsets(text: str, tokenizer: OffsetTokenizer) -> Units:
    """Return all tokens of a text, which is tokenised in pieces that end before white space."""
    none = np.empty((0, 2), np.int32)
    parts = (start + np.array(tokenizer.offsets(text[start:end]), np.int32) for start, end in pieces(text, _PIECE))
    starts, ends = np.concatenate([none, *(part for part in parts if part.size)]).T
    return Units(starts, ends)


def pieces(text: str, limit: int) -> Iterator[Span]:
    """Cut a text into pieces of at most `limit` code points, see `piece_end`."""
    start = 0
    while start < len(text):
        end = piece_end(text, start, limit)
        yield start, end
        start = end


def piece_end(text: str, start: int, limit: int) -> int:
    """Return the end of a piece that begins at `start`: before white space if there is any, else at `limit`."""
    end = start + limit
    if end >= len(text):
        return len(text)
    while end > start and not text[end].isspace():
        end -= 1
    return end if end > start else start + limit


def trimmed(text: str, start: int, end: int) -> Span | None:
    """Return the span without white space at its ends; None if only white space is in it."""
    body = text[start:end]
    inner = body.strip()
    if not inner:
        return None
    start += len(body) - len(body.lstrip())
    return start, start + len(inner)


def windows_over(n_units: int, length: int, stride: int, *, drop_contained: bool) -> range:
    """Return the first unit of every window over `n_units` units.

    A window begins at every multiple of `stride`, so the last window may lie wholly in the window before it;
    `drop_contained` leaves such a window out. The overlap is length - stride, so this is PARADE's "drop a last window
    that is not longer than the overlap, unless it is the only one".
    """
    stop = max(1, n_units - (length - stride)) if drop_contained else n_units
    return range(0, min(stop, n_units), stride)


def sampled(n: int, most: int, seed: int, doc_id: str) -> list[int]:
    """Choose the first, the last and `most` - 2 other windows of `n` > `most` >= 2, ascending.

    The other windows have the smallest SHA-256 of seed, doc_id and number, so the sample depends on nothing else, not
    even on the version of a random generator.
    """
    return sorted([0, n - 1, *shuffled(range(1, n - 1), seed, doc_id)[: most - 2]])
