"""Passages that a document's source names itself, as spans of its text."""

from __future__ import annotations

from numbers import Integral
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.registries import plain_value
from longrank.types import UNMATCHED, Document, Notes, Span

_NOTE = "documents whose 'passages' do not match their text, so the passage preset 'given' refuses them"


def passage_spans(passages: Any, text: str, place: str, notes: Notes) -> tuple[Span, ...]:
    """Return half-open (start, end) spans in `text`, in order of appearance; `UNMATCHED` if they do not match it.

    Args:
        passages: a list, a tuple or an array; each item is a string that occurs in `text` after the item before it, a
            pair of offsets, or an object with ``start`` and ``end``, and perhaps its ``text``. Offsets may overlap; no
            passage is empty.
        text: the document's text.
        place: its file and line.
        notes: counts documents whose passages do not match.
    """
    spans: list[Span] = []
    items = plain_value(passages)
    for item in items if isinstance(items, list | tuple) else [None]:
        span = _span(plain_value(item), text, spans[-1] if spans else (0, 0))
        if span is None:
            notes.add(_NOTE, place)
            return (UNMATCHED,)
        spans.append(span)
    return tuple(spans)


def _span(item: Any, text: str, last: Span) -> Span | None:
    """Return the span of an item after the span before it; None if it does not match."""
    if isinstance(item, str):
        return _found(item, text, last)
    if not isinstance(item, dict):
        return _checked(item, text, last)
    span = _checked([item.get("start"), item.get("end")], text, last)
    matches = span is not None and item.get("text") in (None, text[span[0] : span[1]])
    return span if matches else None


def _found(passage: str, text: str, last: Span) -> Span | None:
    start = text.find(passage, last[1])
    return (start, start + len(passage)) if passage and start >= 0 else None


def _checked(value: Any, text: str, last: Span) -> Span | None:
    pair = pair_of(value)
    return pair if pair is not None and last[0] <= pair[0] < pair[1] <= len(text) else None


def spans_of(document: Document, path: Path | None = None, line: int | None = None) -> tuple[Span, ...]:
    """Return the passages of a document that a user made, as pairs of whole numbers; None stands for no passage.

    Raises:
        InputError: passages are no pairs of whole numbers; names the place.
    """
    given = plain_value(document.passages)
    pairs: list[Span] = []
    for span in given if isinstance(given, list | tuple) else [] if given is None else [given]:
        pair = pair_of(span)
        if pair is None:
            what = f"a passage of document {document.doc_id!r} is not (start, end), two whole numbers"
            raise InputError(what, path=path, line=line, got=span)
        pairs.append(pair)
    return tuple(pairs)


def pair_of(value: Any) -> Span | None:
    """Return a list, a tuple or an array of two whole numbers as a pair; None of another value."""
    pair = plain_value(value)
    if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(map(_is_offset, pair)):
        return None
    return int(pair[0]), int(pair[1])


def _is_offset(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
