"""Markdown (CommonMark and tables): the text without its markup; front matter gives title and values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from longrank.formats.html_tags import with_signs
from longrank.formats.markup import plain_text, tags_alone
from longrank.formats.parsed import Parsed
from longrank.formats.parsed.front_matter import split_front_matter
from longrank.formats.parsed.html_text import FORMULA, INLINE, add_block
from longrank.formats.parsed.writer import TextWriter

if TYPE_CHECKING:
    from markdown_it.token import Token

_WITHIN_WORDS = INLINE | FORMULA
_LINE_END = re.compile(r"\r\n?|\n")
_BLANKS = {"softbreak": " ", "hardbreak": "\n"}
_TAGS = {"link_close": "</a>", "hardbreak": "<br>"}


def read_markdown(text: str) -> Iterator[Parsed]:
    """Yield the document of a Markdown text."""
    from markdown_it import MarkdownIt

    values, body, n_left_out = split_front_matter(text)
    writer = TextWriter()
    reader = _Reader(writer, _LINE_END.split(body))
    for token in MarkdownIt("commonmark", {"inline_definitions": True}).enable("table").parse(body):
        reader.add(token)
    parsed = writer.parsed(values.pop("title", ""), values)
    parsed.notes = {"lists and nested values of front matter, left out": n_left_out}
    yield parsed


class _Reader:
    def __init__(self, writer: TextWriter, lines: list[str]) -> None:
        self._writer = writer
        self._lines = lines
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
            add_block(token.content, self._writer)
        elif token.type == "definition" and token.meta["label"].startswith("^") and token.map:
            # CommonMark takes a footnote of one word for the address of a link: [^1]: Ibidem
            first, *more = self._lines[slice(*token.map)]
            self._writer.add(" ".join([first[first.find("[^") :].rstrip(), *(line.strip(" >") for line in more)]))
        elif token.type == "paragraph_open":
            self._tight = token.hidden

    def _inline(self, token: Token) -> None:
        text = _text(token.children or ())
        if self._cells is not None:
            self._cells.append(text.replace("\n", " "))
            return
        self._writer.add(text, self._level, "\n" if self._tight and not self._level else "\n\n")
        self._level = 0


def _text(tokens: Sequence[Token]) -> str:
    """Return the text of a paragraph; with tags of HTML among its words, it is read as HTML."""
    if any(token.type == "html_inline" for token in tokens):
        return plain_text(tags_alone(with_signs("".join(map(_markup, tokens)))), _WITHIN_WORDS)
    return "".join(map(_plain, tokens))


def _plain(token: Token) -> str:
    if token.type == "image":
        return _text(token.children or ())
    return token.content if token.type in ("text", "code_inline") else _BLANKS.get(token.type, "")


def _markup(token: Token) -> str:
    if token.type == "html_inline":
        return "" if token.content.startswith(("<!", "<?")) else str(token.content)
    if token.type == "link_open":  # a raised link may be the mark of a note
        return f'<a href="{escape(str(token.attrs["href"]))}">'
    return _TAGS.get(token.type) or escape(_plain(token), quote=False)
