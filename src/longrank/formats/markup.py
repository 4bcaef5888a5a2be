"""Remove the markup of SGML or HTML in one pass, in time linear in the length.

No tree is built, so no nesting is too deep. TREC's SGML needs it, which parsers of HTML and XML misread, and so do
pages that would take an HTML parser forever.
"""

from __future__ import annotations

import re
from html import unescape
from html.entities import html5

import regex

_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9_.:-]*)(?:[\s/][^<>]*)?>|<[!?][A-Za-z][^<>]*>")
_QUOTED = r"""(?:[^<>"']++|"(?:[^"<\n]|<(?![A-Za-z/!?])){0,1000}"|'(?:[^'<\n]|<(?![A-Za-z/!?])){0,1000}')*+"""
_TAG_OR_SIGN = regex.compile(rf"</?([A-Za-z][A-Za-z0-9_.:-]*)(?:[\s/]{_QUOTED})?>|{_TAG.pattern}|<")
_INLINE = frozenset(
    {"a", "abbr", "b", "big", "em", "font", "i", "inf", "small", "span", "strong", "sub", "sup", "tt", "u"}
)
_PARAGRAPH = frozenset(
    {"address", "blockquote", "br", "dd", "div", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "hr"}
    | {"li", "ol", "p", "pre", "table", "title", "tr", "ul"}
)
_ENTITY = re.compile(r"&(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_TREC_ENTITIES = {"hyph": "-", "blank": " "}  # the Federal Register's own
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_COMMENT, _COMMENT_END = re.compile("<!--"), re.compile("-->")
_SCRIPT = re.compile(r"<(?:script|style)(?![\w-])", re.IGNORECASE)
_SCRIPT_END = re.compile(r"</(?:script|style)\s*>", re.IGNORECASE)


def plain_text(markup: str, inline: frozenset[str] = _INLINE) -> str:
    """Return the text of SGML or HTML: one line per paragraph, white space collapsed.

    An `inline` tag, which formats a word (``<b>``, ``<sub>``), is dropped, a tag that begins a paragraph becomes a line
    end, any other tag a blank. Comments, scripts and styles are dropped with their content. A bare ``<`` or ``&`` and
    an unknown entity stay.
    """

    def blank(tag: re.Match[str]) -> str:
        name = (tag[1] or "").lower()
        return "" if name in inline else "\n\n" if name in _PARAGRAPH else " "

    text = _ENTITY.sub(_character, _TAG.sub(blank, without_hidden(markup)))
    paragraphs = (" ".join(part.split()) for part in _BLANK_LINE.split(text))
    return "\n".join(part for part in paragraphs if part)


def tags_alone(markup: str) -> str:
    """Return HTML without what `without_hidden` leaves out, and without attributes; a ``<`` that begins no tag is text.

    A parser of HTML takes all up to the next ``>`` for a tag, also in ``List<int x``.
    """

    def alone(tag: regex.Match[str]) -> str:
        name = (tag[1] or tag[2] or "").lower()
        if tag[0] == "<":
            return "&lt;"
        if not name or name in ("script", "style"):  # an unclosed script is text
            return " "
        return f"<{'/' * tag[0].startswith('</')}{name}{'/' * tag[0].endswith('/>')}>"

    found: str = _TAG_OR_SIGN.sub(alone, without_hidden(markup))
    return found


def without_hidden(markup: str) -> str:
    """Return the markup without comments, scripts and styles; an unclosed comment, script or style stays."""
    return cut_out(cut_out(markup, _COMMENT, _COMMENT_END), _SCRIPT, _SCRIPT_END)


def cut_out(text: str, begin: re.Pattern[str], end: re.Pattern[str]) -> str:
    """Return `text` with every stretch from a `begin` to the next `end` replaced by a blank.

    Time is linear if the patterns' time is, unlike ``begin.*?end``: the first search that finds no end is the last.
    """
    kept, position = [], 0
    while (opening := begin.search(text, position)) and (closing := end.search(text, opening.end())):
        kept.append(text[position : opening.start()])
        position = closing.end()
    return " ".join([*kept, text[position:]])


def _character(entity: re.Match[str]) -> str:
    name: str = entity[1]
    if name.startswith("#"):
        return unescape(entity[0])
    return _TREC_ENTITIES.get(name) or html5.get(f"{name};", entity[0])
