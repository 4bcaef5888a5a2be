"""Prepare the markup of HTML pages for resiliparse: mark headings, and rename elements that it drops or glues."""

from __future__ import annotations

import re
from html import escape

import regex

from longrank.formats.mathml import with_bars
from longrank.formats.note_marks import separated_marks
from longrank.formats.ruby import with_readings_behind

STARTS, END = "\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4\ufdd5", "\ufdd6"
"""Marks of the starts of headings of level 1 to 6, and of an end. They are noncharacters, which no text holds."""


def prepared(markup: str) -> str:
    """Return a page whose headings begin and end with a mark, and whose elements all are read and separate words.

    Links whose text is only a sign (``¶``, ``§``, ``#``) are removed: headings have them.
    """
    if any(mark in markup for mark in STARTS + END):
        markup = re.sub(f"[{STARTS}{END}]", "", markup)
    renamed: str = _TAG.sub(_renamed, _without_drawings(with_signs(markup)))
    return renamed


def with_signs(markup: str) -> str:
    """Return a page with bars of fractions, blanks before marks of notes, and readings (ruby) behind their words."""
    return with_readings_behind(with_bars(separated_marks(markup)))


_BLOCKS = {
    **dict.fromkeys(("datalist", "dir", "menu", "select"), "ul"),
    **dict.fromkeys(("dialog", "figcaption", "figure", "legend", "summary", "textarea"), "div"),
    **dict.fromkeys(("frameset", "iframe", "noembed", "noframes"), "div"),
    "listing": "pre",
    "option": "li",
}
_INLINE = ("audio", "button", "label", "object", "video")  # become a <span> between blanks
_NAMES = {
    **{"<" + old: "<" + new for old, new in _BLOCKS.items()},
    **{"</" + old: "</" + new for old, new in _BLOCKS.items()},
    **{"<" + old: " <span" for old in _INLINE},
    **{"</" + old: " </span" for old in _INLINE},
    **{"<" + name: f" <{name}" for name in ("input", "mtd", "td", "th")},
    "<search": '<div role="search"',
    "</search": "</div",
}
_ATTRIBUTES = r"""(?:(?:[^<>"']++|"[^"]{0,1000}+"|'[^']{0,1000}+')*+|[^<>]*+)"""
_SIGN = r"(?:[¶§#]|&para;|&sect;|&\#(?:182|167|35|x0*b6|x0*a7|x23);)"
_TAG = regex.compile(
    rf"""<(?:
      title\b[^<>]*>(?:[^<]|<(?!/?title\b)){{0,500}}+</title   # text: its tags are none
    | h(?P<level>[1-6])(?=[\s/>]){_ATTRIBUTES}>
    | (?P<end>/h[1-6])(?=[\s/>])
    | (?P<sign>a\s[^<>]*>\s*{_SIGN}\s*</a\s*>)
    | (?P<name>/?(?:{"|".join(sorted({name.strip(" </") for name in _NAMES}))}))(?=[\s/>])
    )""",
    regex.IGNORECASE | regex.VERBOSE,
)


def _renamed(tag: regex.Match[str]) -> str:
    whole: str = tag[0]
    if tag["level"]:
        return whole + STARTS[int(tag["level"]) - 1]
    if tag["end"]:
        return END + whole
    if tag["name"]:
        return _NAMES.get(whole.lower(), whole)
    return "" if tag["sign"] else whole


_DRAWING = re.compile(r"<svg(?=[\s/>])", re.IGNORECASE)
_PIECE = regex.compile(
    r"""<(?:(?P<verbatim>!--|!\[CDATA\[)
    | (?P<slash>/?)(?P<name>[a-z][^\s/<>]*+)(?:[^<>=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+)*+>)""",
    regex.IGNORECASE | regex.VERBOSE,
)
_ENDS = {
    "!--": re.compile("--!?>"),
    "![cdata[": re.compile("]]>"),
    **{name: re.compile(rf"</{name}\b", re.IGNORECASE) for name in ("script", "style", "textarea", "title", "xmp")},
}
_VERBATIM_IN_DRAWINGS = ("!--", "![cdata[", "script", "style")
_VERBATIM_ELSEWHERE = ("!--", "script", "style", "textarea", "title", "xmp")
_DRAWN = ("text", "foreignobject")  # elements of a drawing with text of its own
_LINE_OF_DRAWING = re.compile(r"<(/?)tspan\b", re.IGNORECASE)


def _without_drawings(markup: str) -> str:
    """Return a page with the texts of its drawings (``<svg>``) in their places.

    Of a drawing without an end tag, all but the tag is kept. A ``<svg>`` in a comment, a script, a style sheet or the
    value of an attribute begins no drawing.
    """
    if not _DRAWING.search(markup):
        return markup
    page = _Page()
    endless: set[str] = set()  # what has no further end: it is looked for once, or time would be quadratic
    position = begin = 0
    while piece := _PIECE.search(markup, position):
        start, position = piece.span()
        name = (piece["verbatim"] or piece["name"]).lower()
        closing, whole = bool(piece["slash"]), piece[0].endswith("/>")
        if name in (_VERBATIM_IN_DRAWINGS if page.open else _VERBATIM_ELSEWHERE) and not closing:
            if page.open and whole:  # elsewhere, HTML ignores the slash
                page.add(markup[begin:start])
                begin = position
            elif name not in endless:
                end = _ENDS[name].search(markup, start + 2 if name == "!--" else position)  # <!--> is a comment
                if not end:
                    endless.add(name)
                    continue
                if name == "![cdata[":
                    page.add(markup[begin:start])
                    page.add(escape(markup[position : end.start()]))
                    begin = end.end()
                position = end.end()
        elif name == "svg" or (page.open and name in _DRAWN):
            page.add(markup[begin:start])
            begin = position
            if closing:
                page.close(name)
            else:
                page.begin(name, empty=whole)
    page.add(markup[begin:])
    return "".join(page.kept)


class _Page:
    """Kept parts of a page, and the open elements of its drawings."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self.open: list[tuple[str, int]] = []  # with the number of hidden parts before
        self._hidden: list[int] = []  # parts of drawings that show no text, until it is known that the drawing ends

    def add(self, markup: str) -> None:
        if not markup:
            return
        if self.open and self.open[-1][0] == "svg":
            self._hidden.append(len(self.kept))
        self.kept.append(_LINE_OF_DRAWING.sub(r" <\1span", markup) if self.open else markup)

    def begin(self, name: str, *, empty: bool) -> None:
        self.kept.append(" " if name == "svg" or empty else "<div>")
        if not empty:
            self.open.append((name, len(self._hidden)))

    def close(self, name: str) -> None:
        if name == "svg":
            while self.open and self.open[-1][0] != "svg":  # a <text> that is not closed
                self._end()
        if self.open and self.open[-1][0] == name:
            self._end()

    def _end(self) -> None:
        name, before = self.open.pop()
        if name != "svg":
            self.kept.append("</div>")
            return
        for part in self._hidden[before:]:
            self.kept[part] = " "
        del self._hidden[before:]
