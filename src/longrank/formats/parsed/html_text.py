"""Text and headings of HTML in books and mail, by the standard library's tolerant parser."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from longrank.formats.html_tags import with_signs
from longrank.formats.markup import tags_alone
from longrank.formats.parsed.writer import TextWriter

_CODE = frozenset({"script", "style", "annotation", "annotation-xml"})
_ASIDE = frozenset({"template", "nav", "svg"})
_DRAWN = frozenset({"text", "foreignobject"})  # elements of a drawing with text of its own
INLINE = frozenset(
    {
        "a",
        "abbr",
        "b",
        "big",
        "bdi",
        "bdo",
        "cite",
        "code",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "ins",
        "kbd",
        "mark",
    }
    | {"q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strong", "sub", "sup", "tt", "u", "var", "wbr"}
    | {"acronym", "data", "label", "nobr", "rb", "rtc", "strike", "time"}
)
"""Elements whose tags separate no words."""
FORMULA = frozenset(
    {"math", "semantics", "mrow", "mstyle", "mpadded", "mi", "mn", "mo", "ms", "mtext", "mspace", "mfenced", "menclose"}
    | {"mfrac", "msqrt", "mroot", "msub", "msup", "msubsup", "munder", "mover", "munderover", "mmultiscripts"}
)
_OFFICE = ("o:", "st1:", "w:")  # prefixes of elements of Outlook and Word, which separate no words either
_COMMENT = re.compile(
    r"<(script|style)\b.*?(?:</\1|\Z)|<!\[CDATA\[.*?(?:]]>|\Z)"  # no comment begins inside
    r"|(?P<empty><!--?-?>)|<!--.*?-->|(?P<open><!--.*)",
    re.DOTALL | re.IGNORECASE,
)
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_CELLS = ("td", "th", "mtd")


def add_html(markup: str, writer: TextWriter) -> str:
    """Add the text of an HTML page, one paragraph per block.

    Navigation (``<nav>``), templates, and drawings except the text that they show are left out, unless their end tag is
    missing: the text of the page follows. A heading ends with its first paragraph.

    Returns:
        The page's title, empty if it has none.
    """
    return _read(with_signs(_whole_comments(markup)), writer)


def add_block(markup: str, writer: TextWriter) -> None:
    """Add the text of a block of HTML in Markdown, as `add_html`; a ``<`` that begins no tag is text."""
    if title := _read(tags_alone(with_signs(_whole_comments(markup))), writer):
        writer.add(title)


def _whole_comments(markup: str) -> str:
    """Leave out empty comments, and let a comment without an end be text; Python's parser reads both on to later tags.

    Within another comment ``<!-->`` is its end: ``<!--[if !mso]><!--> text <!--<![endif]-->`` shows its text.
    """

    def read(found: re.Match[str]) -> str:
        return "" if found["empty"] else found[0].replace("<!--", "&lt;!--") if found["open"] else found[0]

    return _COMMENT.sub(read, markup)


def _read(markup: str, writer: TextWriter) -> str:
    reader = _Reader(writer)
    reader.feed(markup)
    reader.close()
    reader.finish()
    return " ".join(reader.title.split())


class _Reader(HTMLParser):
    def __init__(self, writer: TextWriter) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self._writer = writer
        self._parts: list[str] = []
        self._held: list[tuple[str, int]] = []  # blocks since an element of `_ASIDE` began
        self._around: list[int] = []  # open elements of `_ASIDE` around each open element of `_DRAWN`
        self._level = self._aside = self._drawings = self._verbatim = 0
        self._in_title = self._in_code = False

    def unknown_decl(self, data: str) -> None:
        """Read the text of ``<![CDATA[...]]>``, which XHTML allows."""
        if data.startswith("CDATA["):
            self.handle_data(data.removeprefix("CDATA["))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        tag = _unprefixed(tag)
        if tag in _CODE:
            self._in_code = True
        elif self._in_code:
            return
        elif tag in _ASIDE:
            self._end_block()
            self._aside += 1
            self._drawings += tag == "svg"
        elif tag in _DRAWN and 0 < self._aside == self._drawings:
            self._end_block()
            self._around.append(self._aside)
            self._aside = 0
        elif tag == "title" and not self._drawings:
            self._in_title = True
        elif tag == "br":
            self._parts.append("\n")
        elif tag in _CELLS:
            self._parts.append("\t")
        elif _is_block(tag):
            self._end_block()
            self._level = _LEVELS.get(tag, self._level)
            self._verbatim += tag == "pre"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if _unprefixed(tag) not in _CODE | _ASIDE and tag != "title":
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        tag = _unprefixed(tag)
        if tag in _CODE or tag == "math":
            self._in_code = False
        elif self._in_code:
            return
        elif tag in _ASIDE:
            self._end_block()
            self._leave(tag)
        elif tag in _DRAWN and self._around:
            self._end_block()
            self._aside = self._around.pop()
        elif tag == "title":
            self._in_title = False
        elif _is_block(tag) and tag not in _CELLS:
            self._end_block()
            self._level = 0 if tag in _LEVELS else self._level
            self._verbatim = max(0, self._verbatim - (tag == "pre"))

    def _leave(self, tag: str) -> None:
        if tag == "svg":
            self._drawings = max(0, self._drawings - 1)
            self._aside = self._around.pop() if self._around else self._aside  # a <text> that is not closed
        self._aside = max(0, self._aside - 1)
        if not self._aside:
            self._held.clear()

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._in_code:
            self._parts.append(data if self._verbatim else _collapsed(data))

    def finish(self) -> None:
        self._end_block()
        for text, level in self._held:
            self._writer.add(text, level)

    def _end_block(self) -> None:
        text = "".join(self._parts)
        lines = (
            text.splitlines() if self._verbatim else (" ".join(line.split(" ")).strip() for line in text.split("\n"))
        )
        text = "\n".join(lines)
        if self._aside:
            self._held.append((text, self._level))
        else:
            self._writer.add(text, self._level)
        if text.strip():
            self._level = 0
        self._parts = []


def _is_block(tag: str) -> bool:
    return tag not in INLINE and tag not in FORMULA and not tag.startswith(_OFFICE)


def _unprefixed(tag: str) -> str:
    """Return the name of an element without the prefix that many XHTML files give to formulas (``m:math``)."""
    prefix, _, name = tag.rpartition(":")
    return name if prefix in ("m", "mml") else tag


def _collapsed(data: str) -> str:
    inner = " ".join(data.split())
    return (" " * data[:1].isspace() + inner + " " * data[-1:].isspace()) if inner else " " * bool(data)
