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
_PIECE = regex.compile(
    r"""<(?:(?P<kind>!--|!\[CDATA\[)
    | (?P<name>[A-Za-z_][^\s/<>"']*+)(?P<rest>(?:[^<>"'/]++|/(?!>)|"[^"<]*+"|'[^'<]*+')*+)/>)""",
    regex.VERBOSE,
)
_ENDS = {"!--": "-->", "![CDATA[": "]]>"}


def is_xml(markup: str) -> bool:
    """Tell whether a page begins with an XML declaration and has XHTML's namespace."""
    return _XML.match(markup) is not None and _NAMESPACE.search(markup, 0, _NAMESPACE_WITHIN) is not None


def as_html(markup: str) -> str:
    """Return an XML page whose empty elements have an end tag, and whose CDATA sections are escaped text."""
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
        kind = piece["kind"]
        end = -1 if kind in endless else markup.find(_ENDS[kind], position)
        if end < 0:
            endless.add(kind)
            continue
        if kind == "![CDATA[":
            parts += [markup[begin : piece.start()], escape(markup[position:end])]
            begin = end + len(_ENDS[kind])
        position = end + len(_ENDS[kind])
    return "".join([*parts, markup[begin:]])
