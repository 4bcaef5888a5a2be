"""Title and text of an HTML page, by resiliparse; pages that would take a parser forever are detected before."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from longrank.errors import MissingExtra
from longrank.formats.markup import cut_out, plain_text
from longrank.formats.parsed.writer import SOFT_HYPHEN
from longrank.types import Notes


def page_text(markup: str, where: str, notes: Notes, *, main_content: bool) -> tuple[str, str]:
    """Return the title of a page and its text: the main content without navigation, or the whole page.

    A page without main content is read whole, and so is a page with tags so deeply nested that the search for main
    content would take forever. Both kinds are counted.

    Raises:
        MissingExtra: the HTML reader is not installed.
    """
    extract, tree_of = resiliparse()
    if _is_monstrous(markup):
        notes.add("pages too deeply nested for an HTML parser, read whole", where)
        return _stripped(markup)
    tree = tree_of(_prepared(markup))
    title = " ".join((tree.title or "").split())
    text = extract(tree, main_content=main_content, list_bullets=False, alt_texts=False).strip()
    if not text and main_content:
        text = extract(tree, main_content=False, list_bullets=False, alt_texts=False).strip()
        notes.add("pages without main content read whole", where, bool(text))
    return title, text


_NAMES = {"ul": "ol", "figure": "div", "figcaption": "p"}
_RENAMED = re.compile(rf"(</?)({'|'.join(_NAMES)})(?=[\s/>])", re.IGNORECASE)
_MENU = re.compile(
    r"(<ul\b[^<>]*>(?:\s*<li\b[^<>]*>\s*<a\b[^<>]*>[^<]*</a\s*>\s*(?:</li\s*>)?)+\s*</ul\s*>)", re.IGNORECASE
)


def _prepared(markup: str) -> str:
    """Return a page without soft hyphens, and with names of tags that the search for the main content keeps.

    It takes lists of bullets near the body, figures and captions for navigation. Lists of links alone keep their name.
    """
    markup = markup.replace(SOFT_HYPHEN, "").replace("&shy;", "")
    parts = _MENU.split(markup)  # every second part is a list of links
    parts[::2] = [_RENAMED.sub(lambda tag: tag[1] + _NAMES[tag[2].lower()], part) for part in parts[::2]]
    return "".join(parts)


_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})


def page_headings(markup: str, text: str) -> list[tuple[int, int, int]]:
    """Return (start, end, level) of the headings of a page in its extracted text, in order.

    A heading is found if its words are a line of the text, after the heading before.
    """
    _, tree_of = resiliparse()
    found, position = [], 0
    if _is_monstrous(markup):
        return []
    for node in list(tree_of(_prepared(markup)).body or ()):  # a walk: selectors take quadratic time
        if node.tag not in _HEADINGS:
            continue
        words = " ".join(node.text.split())
        start = _line(text, words, position) if words else -1
        if start >= 0:
            position = start + len(words)
            found.append((start, position, int(node.tag[1])))
    return found


def _line(text: str, words: str, position: int) -> int:
    """Return the place of a line of `text` from `position` on; -1 if no line has these words alone."""
    start = text.find(words, position)
    while start >= 0:
        end = start + len(words)
        if (start == 0 or text[start - 1] == "\n") and text[end : end + 1] in ("", "\n"):
            return start
        start = text.find(words, end)
    return -1


def resiliparse() -> tuple[Any, Any]:
    """Return the functions ``extract_plain_text`` and ``HTMLTree.parse``.

    Raises:
        MissingExtra: the HTML reader is not installed.
    """
    try:
        from resiliparse.extract.html2text import extract_plain_text
        from resiliparse.parse.html import HTMLTree
    except ImportError:
        raise MissingExtra("reading HTML", "html") from None
    return extract_plain_text, HTMLTree.parse


# --- pages that would take a parser forever -------------------------------------------------------

_TAG = re.compile(r"<(/?)([A-Za-z][^\s/<>]*)([^<>]*)")
_SCRIPT = re.compile(r"<(?:script|style)\b", re.IGNORECASE)
_SCRIPT_END = re.compile(r"</(?:script|style)\b", re.IGNORECASE)
_TITLE, _TITLE_END = re.compile(r"<title\b[^<>]*>", re.IGNORECASE), re.compile(r"</title\b", re.IGNORECASE)
_NEVER_PILES_UP = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
    | {"body", "colgroup", "dd", "dt", "head", "html", "li", "optgroup", "option", "p", "rp", "rt"}
    | {"tbody", "td", "tfoot", "th", "thead", "tr"}
)
_QUOTED_VALUE = re.compile(r"""=\s*(?:"[^"]*"|'[^']*')""")
_BETWEEN_ATTRIBUTES = re.compile(r"[\s/\"'][^\s/\"'=]")
_MAX_DEPTH = 512  # the limit of browsers
_MAX_ATTRIBUTES = 1000


def _is_monstrous(markup: str) -> bool:
    """Tell whether parsing could take more than linear time.

    It can if more than 512 elements are open at once or a tag has thousands of attributes: HTML parsers and the
    search for main content walk these lists repeatedly. Elements are counted by name, so that a stray end tag
    closes nothing.
    """
    if markup.count("<") <= _MAX_DEPTH and len(markup) <= _MAX_DEPTH * _MAX_ATTRIBUTES // 10:
        return False  # most pages: nothing to count
    opened: Counter[str] = Counter()
    depth = 0
    for closing, name, attributes in _TAG.findall(cut_out(markup, _SCRIPT, _SCRIPT_END)):
        tag = name.lower()
        if len(attributes) > 2 * _MAX_ATTRIBUTES and _n_attributes(attributes) > _MAX_ATTRIBUTES:
            return True
        if tag in _NEVER_PILES_UP:
            continue
        if not closing:
            opened[tag] += 1
            depth += 1
            if depth > _MAX_DEPTH:
                return True
        elif opened[tag]:
            opened[tag] -= 1
            depth -= 1
    return False


def _n_attributes(attributes: str) -> int:
    return len(_BETWEEN_ATTRIBUTES.findall(_QUOTED_VALUE.sub("=", attributes)))


def _stripped(markup: str) -> tuple[str, str]:
    """Return title and text by removing the tags, in linear time."""
    title = ""
    if (begin := _TITLE.search(markup)) and (end := _TITLE_END.search(markup, begin.end())):
        title = " ".join(plain_text(markup[begin.end() : end.start()]).split())
        markup = markup[: begin.start()] + markup[end.start() :]
    return title, plain_text(markup)
