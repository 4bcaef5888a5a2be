"""Cut a file of ``<DOC> ... </DOC>`` into documents, block by block, so that a file of any size fits in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from longrank.errors import InputError
from longrank.formats.lines import Block, TextOptions, read_blocks
from longrank.types import Notes

_EDGE = re.compile(r"<(/?)doc(?:\s[^<>]*)?>", re.IGNORECASE)


class RawDocument(NamedTuple):
    """The text between <DOC> and </DOC>, and the document's first line."""

    line: int
    text: str


def raw_documents(path: Path, notes: Notes, options: TextOptions) -> Iterator[RawDocument]:
    """Yield the documents of a TREC file; the tags may stand anywhere in a line.

    Args:
        path: the file.
        notes: counts lines outside documents.
        options: encoding and limits; the line limit holds for documents, too.

    Raises:
        InputError: no ``<DOC>``, a ``<DOC>`` that is not closed (names its line) or holds another at the beginning of
            a line, a ``</DOC>`` too many, or a fault that `read_lines` refuses.
    """
    cutter = _Cutter(path, options.limits.max_line)
    for block in read_blocks(path, notes, options):
        yield from cutter.feed(block)
    cutter.finish(notes)


class _Cutter:
    """Collects the pieces of the open document; all text goes through `_add`."""

    def __init__(self, path: Path, max_length: int) -> None:
        self._path, self._max_length = path, max_length
        self._opened: int | None = None  # the line of the open <DOC>
        self._parts: list[str] = []
        self._length = self._n_documents = self._n_outside = 0

    def feed(self, block: Block) -> Iterator[RawDocument]:
        line, position, seen = block.first, 0, 0
        for edge in _EDGE.finditer(block.text):
            mentioned = self._opened is not None and not edge[1] and not _begins_line(block.text, position, seen, edge)
            seen = edge.end()
            if mentioned:  # running text that mentions <DOC>
                continue
            before, position = block.text[position : edge.start()], edge.end()
            line += before.count("\n")
            self._add(before)
            if edge[1]:
                yield self._close(line)
            else:
                self._open(line)
            line += edge[0].count("\n")
        self._add(block.text[position:])
        self._add("\n" if block.ended else "")

    def finish(self, notes: Notes) -> None:
        if self._opened is not None:
            raise self._error("<DOC> is never closed", self._opened, "the file looks truncated")
        if not self._n_documents:
            raise self._error("holds no <DOC>", None, "see --format")
        notes.add("lines outside <DOC> ... </DOC> left out", str(self._path), self._n_outside)

    def _add(self, text: str) -> None:
        if self._opened is None:
            self._n_outside += sum(1 for line in text.split("\n") if line.strip())
            return
        self._length += len(text)
        if self._length > self._max_length:
            raise self._error(f"<DOC> is longer than {self._max_length} characters", self._opened, "is it closed?")
        self._parts.append(text)

    def _open(self, line: int) -> None:
        if self._opened is not None:
            raise self._error(f"<DOC> inside the <DOC> of line {self._opened}", line)
        self._opened = line

    def _close(self, line: int) -> RawDocument:
        if self._opened is None:
            raise self._error("</DOC> without a <DOC>", line)
        raw = RawDocument(self._opened, "".join(self._parts))
        self._opened, self._parts, self._length = None, [], 0
        self._n_documents += 1
        return raw

    def _error(self, what: str, line: int | None, fix: str | None = None) -> InputError:
        return InputError(what, path=self._path, line=line, fix=fix)


def _begins_line(text: str, position: int, seen: int, edge: re.Match[str]) -> bool:
    """Tell whether only blanks stand before a tag in its line, or between it and the tag that ends at `position`.

    Only the text after `seen`, the end of the last tag or mention, is read, so that many mentions in one line take
    linear time.
    """
    _, newline, before = text[seen : edge.start()].rpartition("\n")
    return not before.strip() and (newline != "" or seen == position)
