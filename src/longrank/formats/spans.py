"""Passages that a document's source names itself, as spans of its text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from longrank.errors import InputError

_FIX = 'passages are stretches of "text" in their order, or [start, end] pairs of code points'


def passage_spans(passages: Any, text: str, path: Path, line: int | None) -> tuple[tuple[int, int], ...]:
    """Return half-open (start, end) spans in `text`, in order of appearance.

    Args:
        passages: a list; each item is a string that occurs in `text` after the item before it, or a pair of
            offsets. Pairs may overlap; no passage is empty.
        text: the document's text.
        path: its file, for the message.
        line: its line.

    Raises:
        InputError: not a list, a string that does not occur after the item before it, or a pair that lies outside
            the text or begins before the item before it.
    """
    if not isinstance(passages, list):
        raise InputError("'passages' is not a list", path=path, line=line, got=passages, fix=_FIX)
    spans: list[tuple[int, int]] = []
    for index, item in enumerate(passages):
        last = spans[-1] if spans else (0, 0)
        span = _found(item, text, last) if isinstance(item, str) else _checked(item, text, last)
        if span is None:
            raise InputError(f"passage {index} does not match the text", path=path, line=line, got=item, fix=_FIX)
        spans.append(span)
    return tuple(spans)


def _found(passage: str, text: str, last: tuple[int, int]) -> tuple[int, int] | None:
    start = text.find(passage, last[1])
    return (start, start + len(passage)) if passage and start >= 0 else None


def _checked(pair: Any, text: str, last: tuple[int, int]) -> tuple[int, int] | None:
    if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(type(offset) is int for offset in pair):
        return None
    start, end = pair
    return (start, end) if last[0] <= start < end <= len(text) else None
