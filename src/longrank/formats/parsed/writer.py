"""Join the parts of a document to its text, and keep the places of pages and headings."""

from __future__ import annotations

import unicodedata

from longrank.formats.parsed import Parsed

SOFT_HYPHEN = "\u00ad"
"""A place where a word may be broken: it is no part of the word."""


class TextWriter:
    """Collects paragraphs; `parsed` returns the document."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._pages: list[int] = []
        self._placed = 0  # pages whose first paragraph is known
        self._headings: list[tuple[int, int, int]] = []

    def page(self) -> None:
        """Begin a page: it starts where the next paragraph starts."""
        self._pages.append(0)

    def add(self, text: str, level: int = 0, between: str = "\n\n") -> None:
        """Add a paragraph, after `between`; a heading if it has a `level` from 1. Empty text is left out.

        Letters are composed (NFC) before offsets are taken: queries have them composed.
        """
        text = unicodedata.normalize("NFC", text.replace(SOFT_HYPHEN, "")).strip()
        if not text:
            return
        if self._parts:
            self._parts.append(between)
            self._length += len(between)
        start = self._length
        self._place(start)
        self._parts.append(text)
        self._length += len(text)
        if level:
            self._headings.append((start, self._length, level))

    def parsed(self, title: str = "", values: dict[str, str] | None = None) -> Parsed:
        """Return the document; without a title, its title is the first heading of the highest level."""
        self._place(self._length)
        text = "".join(self._parts)
        title = " ".join(title.split())
        if not title and self._headings:
            start, end, _ = min(self._headings, key=lambda heading: heading[2])
            title = " ".join(text[start:end].split())
        return Parsed(text, title, pages=self._pages, headings=self._headings, values=values or {})

    def _place(self, start: int) -> None:
        for number in range(self._placed, len(self._pages)):
            self._pages[number] = start
        self._placed = len(self._pages)
