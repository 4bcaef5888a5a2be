"""From SGML or HTML to plain text by removing the markup, in one pass and time linear in the length.

Nothing here builds a tree, so no nesting is too deep. It is what TREC's SGML needs, which no parser of
HTML or XML reads as it is meant, and what is left for pages that a real HTML parser would choke on.
"""

from __future__ import annotations

import re
from html import unescape
from html.entities import html5

_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9_.:-]*)(?:[\s/][^<>]*)?>|<[!?][A-Za-z][^<>]*>")
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
_SCRIPT = re.compile(r"<(?:script|style)\b", re.IGNORECASE)
_SCRIPT_END = re.compile(r"</(?:script|style)\s*>", re.IGNORECASE)


def plain_text(markup: str) -> str:
    """Return the text of a piece of SGML or HTML: one line per paragraph, white space collapsed.

    Tags go; those that only dress a word (``<b>``, ``<sub>``) leave nothing, those that begin a
    paragraph a line end, all others a blank. Comments, scripts and styles go with what they hold. A bare
    ``<`` or ``&`` stays, and so does an entity that nobody knows.
    """
    text = _ENTITY.sub(_character, _TAG.sub(_blank, without_hidden(markup)))
    paragraphs = (" ".join(part.split()) for part in _BLANK_LINE.split(text))
    return "\n".join(part for part in paragraphs if part)


def without_hidden(markup: str) -> str:
    """Return the markup without comments, scripts and styles; one that never ends is left as it is."""
    return cut_out(cut_out(markup, _COMMENT, _COMMENT_END), _SCRIPT, _SCRIPT_END)


def cut_out(text: str, begin: re.Pattern[str], end: re.Pattern[str]) -> str:
    """Return `text` with every stretch from a `begin` to the next `end` replaced by a blank.

    Time is linear where the patterns' is, which ``begin.*?end`` is not: after one search for an end that
    finds none it is over.
    """
    kept, position = [], 0
    while (opening := begin.search(text, position)) and (closing := end.search(text, opening.end())):
        kept.append(text[position : opening.start()])
        position = closing.end()
    return " ".join([*kept, text[position:]])


def _blank(tag: re.Match[str]) -> str:
    name = (tag[1] or "").lower()
    return "" if name in _INLINE else "\n\n" if name in _PARAGRAPH else " "


def _character(entity: re.Match[str]) -> str:
    name: str = entity[1]
    if name.startswith("#"):
        return unescape(entity[0])
    return _TREC_ENTITIES.get(name) or html5.get(f"{name};", entity[0])
