"""Prepare the markup of HTML pages for resiliparse: mark headings, and rename elements that it drops or glues."""

from __future__ import annotations

import re

STARTS, END = "\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4\ufdd5", "\ufdd6"
"""Marks of the starts of headings of level 1 to 6, and of an end. They are noncharacters, which no text holds."""


def prepared(markup: str) -> str:
    """Return a page whose headings begin and end with a mark, and whose elements all are read and separate words.

    Links whose text is only a sign (``¶``, ``§``, ``#``) are removed: headings have them.
    """
    if any(mark in markup for mark in STARTS + END):
        markup = re.sub(f"[{STARTS}{END}]", "", markup)
    return _TAG.sub(_renamed, _without_drawings(markup))


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
_TAG = re.compile(
    rf"""<(?:
      title\b[^<>]*>[\s\S]{{0,500}}?</title            # text: its tags are none
    | h(?P<level>[1-6])(?=[\s/>]){_ATTRIBUTES}>
    | (?P<end>/h[1-6])(?=[\s/>])
    | (?P<sign>a\s[^<>]*>\s*{_SIGN}\s*</a\s*>)
    | (?P<name>/?(?:{"|".join(sorted({name.strip(" </") for name in _NAMES}))}))(?=[\s/>])
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def _renamed(tag: re.Match[str]) -> str:
    if tag["level"]:
        return tag[0] + STARTS[int(tag["level"]) - 1]
    if tag["end"]:
        return END + tag[0]
    if tag["name"]:
        return _NAMES.get(tag[0].lower(), tag[0])
    return "" if tag["sign"] else tag[0]


_DRAWING = re.compile(r"<(/?)(svg)\b[^<>]*?(/?)>|</?script\b|-->", re.IGNORECASE)
_LINE_OF_DRAWING = re.compile(r"<(/?)tspan\b", re.IGNORECASE)
_DRAWN = re.compile(r"<(text|foreignObject)\b[^<>]*>((?:[^<]++|<(?!/?\1\b))*+)</\1", re.IGNORECASE)


def _without_drawings(markup: str) -> str:
    """Return a page with the texts of its drawings (``<svg>``) in their places.

    A drawing with a script stays; a ``<svg>`` in a script or a comment begins none.
    """
    kept: list[str] = []
    begin = depth = position = 0
    for tag in _DRAWING.finditer(markup):
        if not tag[2]:
            depth = 0
        elif not tag[1]:
            begin, depth = begin if depth else tag.start(), depth + (not tag[3])
        elif depth:
            depth -= 1
            if not depth:
                kept += [markup[position:begin], " "]
                texts = (
                    _LINE_OF_DRAWING.sub(r" <\1span", text) for _, text in _DRAWN.findall(markup, begin, tag.start())
                )
                kept += [f"<div>{text}</div>" for text in texts]
                position = tag.end()
    return "".join([*kept, markup[position:]])
