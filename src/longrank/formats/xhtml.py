"""XHTML in its XML serialization, written as HTML: HTML parsers ignore the slash of ``<script/>``, and drop CDATA."""

from __future__ import annotations

import re
from html import escape

import regex

_XML = re.compile(r"\s*<\?xml\s")
_NAMESPACE = re.compile(r"""<html\b[^<>]*?\sxmlns\s*=\s*["']http://www\.w3\.org/1999/xhtml["']""", re.IGNORECASE)
_NAMESPACE_WITHIN = 4096  # characters
_VOID = frozenset(
    {"area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen", "link"}
    | {"meta", "param", "source", "track", "wbr"}
)
"""Elements that HTML ends at their tag."""
_ATTRIBUTES = r"""(?:[^<>"'/]++|/(?!>)|"[^"<]*+"|'[^'<]*+')*+"""
_PIECE = regex.compile(
    rf"""<(?:(?P<kind>!--|!\[CDATA\[)
    | (?:script|style)(?=[\s>]){_ATTRIBUTES}(?P<code>>)
    | (?P<name>[A-Za-z_][^\s/<>"']*+)(?P<rest>{_ATTRIBUTES})/>)""",
    regex.VERBOSE,
)
_CODE_END = re.compile(r"</(?:script|style)(?=[\s>])")
_CDATA, _CDATA_END, _COMMENT_END = "<![CDATA[", "]]>", "-->"


def is_xml(markup: str) -> bool:
    """Tell whether a page begins with an XML declaration and has XHTML's namespace."""
    return _XML.match(markup) is not None and _NAMESPACE.search(markup, 0, _NAMESPACE_WITHIN) is not None


def as_html(markup: str) -> str:
    """Return an XML page whose empty elements have an end tag, and whose CDATA sections are escaped text.

    Scripts and styles lose their code, which may look like both.
    """
    parts: list[str] = []
    endless: set[str] = set()  # what has no further end: it is looked for once, or time would be quadratic
    begin = position = 0
    while piece := _PIECE.search(markup, position):
        position = piece.end()
        if name := piece["name"]:
            if name.lower() not in _VOID:
                parts += [markup[begin : piece.start()], f"<{name}{piece['rest']}></{name}>"]
                begin = position
            continue
        kind = piece["code"] or piece["kind"]
        end = None if kind in endless else _end(kind, markup, position)
        if end is None:
            endless |= {kind} - {"![CDATA["}  # another section may have an end
            continue
        if kind == ">":
            parts.append(markup[begin:position])
            begin = end
        elif kind == "![CDATA[":
            parts += [markup[begin : piece.start()], escape(markup[position : end - len(_CDATA_END)])]
            begin = end
        position = end
    return "".join([*parts, markup[begin:]])


def _end(kind: str, markup: str, position: int) -> int | None:
    """Return the end of a comment, of a section of CDATA, or of the code of a script that begins at a position."""
    if kind == "!--":
        end = markup.find(_COMMENT_END, position)
        return None if end < 0 else end + len(_COMMENT_END)
    if kind == "![CDATA[":
        following = markup.find(_CDATA, position)  # sections are not nested: this one was left open
        end = markup.find(_CDATA_END, position, following if following >= 0 else len(markup))
        return None if end < 0 else end + len(_CDATA_END)
    found = _CODE_END.search(markup, position)
    section = markup.find(_CDATA, position, found.start()) if found else -1
    if found and section >= 0 and (end := _end("![CDATA[", markup, section + len(_CDATA)) or 0) > found.start():
        found = _CODE_END.search(markup, end)
    return found.start() if found else None
