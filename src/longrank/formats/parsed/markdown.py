"""Markdown (CommonMark and tables): the text without its markup; front matter gives title and values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from longrank.formats.markup import plain_text
from longrank.formats.parsed import Parsed
from longrank.formats.parsed.front_matter import split_front_matter
from longrank.formats.parsed.html_text import INLINE
from longrank.formats.parsed.writer import TextWriter

if TYPE_CHECKING:
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

_TAG = re.compile(r"</?([A-Za-z][\w-]*)")
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]:")
_BLANKS = {"softbreak": " ", "hardbreak": "\n"}


def read_markdown(text: str) -> Iterator[Parsed]:
    """Yield the document of a Markdown text."""
    from markdown_it import MarkdownIt

    values, body, n_left_out = split_front_matter(text)
    writer = TextWriter()
    reader = _Reader(writer)
    parser = MarkdownIt("commonmark").enable("table")
    parser.block.ruler.before("reference", "footnote", _footnote, {"alt": ["paragraph"]})
    for token in parser.parse(body):
        reader.add(token)
    parsed = writer.parsed(values.pop("title", ""), values)
    parsed.notes = {"lists and nested values of front matter, left out": n_left_out}
    yield parsed


def _footnote(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """Parse a footnote as a paragraph: CommonMark takes ``[^1]: Ibidem`` for the address of a link, and hides it."""

    def begin(number: int) -> int:
        return int(state.bMarks[number] + state.tShift[number])

    if state.is_code_block(line) or not _FOOTNOTE.match(state.src, begin(line)):
        return False
    if not silent:
        state.line = line + 1
        while state.line < end and not state.isEmpty(state.line) and state.src[begin(state.line)] != "[":
            state.line += 1
        state.push("paragraph_open", "p", 1)
        inline = state.push("inline", "", 0)
        inline.content = state.getLines(line, state.line, state.blkIndent, False).strip()
        inline.children = []
        state.push("paragraph_close", "p", -1)
    return True


class _Reader:
    def __init__(self, writer: TextWriter) -> None:
        self._writer = writer
        self._level = 0
        self._tight = False
        self._cells: list[str] | None = None

    def add(self, token: Token) -> None:
        """Add the text of a block token."""
        if token.type == "heading_open":
            self._level = int(token.tag[1:])
        elif token.type == "tr_open":
            self._cells = []
        elif token.type == "tr_close":
            self._writer.add("\t".join(self._cells or ()), between="\n")
            self._cells = None
        elif token.type == "inline":
            self._inline(token)
        elif token.type in ("fence", "code_block"):
            self._writer.add(token.content.strip("\n"))
        elif token.type == "html_block":
            self._writer.add(plain_text(token.content, INLINE))
        elif token.type == "paragraph_open":
            self._tight = token.hidden

    def _inline(self, token: Token) -> None:
        text = _text(token.children or ())
        if self._cells is not None:
            self._cells.append(text)
            return
        self._writer.add(text, self._level, "\n" if self._tight and not self._level else "\n\n")
        self._level = 0


def _text(tokens: Sequence[Token]) -> str:
    parts = []
    for token in tokens:
        if token.type in ("text", "code_inline"):
            parts.append(token.content)
        elif token.type == "image":
            parts.append(_text(token.children or ()))
        elif token.type == "html_inline" and (tag := _TAG.match(token.content)) and tag[1].lower() not in INLINE:
            parts.append(" ")
        parts.append(_BLANKS.get(token.type, ""))
    return "".join(parts)
