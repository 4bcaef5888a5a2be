"""Title, text and headings of an HTML page, by resiliparse; pages that would take a parser forever are found before."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple
from unicodedata import normalize

from longrank.errors import MissingExtra
from longrank.formats.html_tags import END, STARTS, prepared
from longrank.formats.markup import cut_out, plain_text
from longrank.formats.parsed.writer import SOFT_HYPHEN
from longrank.types import Notes


class Page(NamedTuple):
    """Title and text of a page, and (start, end, level) of the headings in the text, in order."""

    title: str
    text: str
    headings: list[tuple[int, int, int]]


_NAVIGATION = ("nav", "[role=navigation]", "[role=search]", "a.headerlink")
_HIDDEN = ("annotation", "annotation-xml")  # other forms of a formula, which browsers do not show


def read_page(markup: str, where: str, notes: Notes, *, navigation: bool) -> Page:
    """Return the page.

    Without `navigation`, what the page itself marks as navigation or search form is left out; all if nothing else has
    text, or if a ``<nav>`` is not closed, since it holds the rest of the page. Such pages are counted, and so are pages
    with tags so deeply nested that a parser would take forever: their tags are removed.

    Raises:
        MissingExtra: the HTML reader is not installed.
    """
    extract, tree_of = resiliparse()
    markup = prepared(markup)
    if _is_monstrous(markup):
        notes.add("pages too deeply nested for an HTML parser, read whole", where)
        return _page(*_stripped(markup))
    tree = tree_of(markup)
    text = ""
    if not navigation and _navigation_is_closed(markup):
        text = _extracted(extract, tree, (*_NAVIGATION, *_HIDDEN))
    if not text:
        text = _extracted(extract, tree, _HIDDEN)
        notes.add("pages of navigation alone, or whose <nav> is not closed, read whole", where, bool(text) > navigation)
    return _page(tree.title or "", text)


def _extracted(extract: Any, tree: Any, skipped: tuple[str, ...]) -> str:
    options = {"main_content": False, "list_bullets": False, "alt_texts": False, "noscript": True}
    text: str = extract(tree, **options, skip_elements=list(skipped))
    return text.strip()


_NAV = re.compile(r"<(/?)nav(?=[\s/>])", re.IGNORECASE)


def _navigation_is_closed(markup: str) -> bool:
    slashes = _NAV.findall(markup)
    return slashes.count("") <= slashes.count("/")


def _page(title: str, text: str) -> Page:
    return Page(" ".join(_unmarked(title)[0].split()), *_unmarked(text))


_MARK = re.compile(rf"[{STARTS}{END}](?:(?<!{END})\s*+(?:{END}\s*+)?)?")  # with white space inside a heading


def _unmarked(text: str) -> tuple[str, list[tuple[int, int, int]]]:
    """Return a text without marks and soft hyphens, composed (NFC), and (start, end, level) of the marked headings.

    A heading ends with its paragraph; without a mark of its end, with its line.
    """
    text = normalize("NFC", text.replace(SOFT_HYPHEN, ""))
    parts: list[str] = []
    headings: list[tuple[int, int, int]] = []
    level = start = position = 0
    for mark in [*_MARK.finditer(text), None]:
        part = text[position : mark.start() if mark else len(text)]
        if level:
            closed = mark is not None and mark[0] == END
            part = part.rstrip() if closed else part
            heading = part.partition("\n\n" if closed else "\n")[0].rstrip()
            headings += [(start, start + len(heading), level)] * bool(heading)
        parts.append(part)
        start += len(part)
        if mark:
            position = mark.end()
            level = 0 if END in mark[0] else STARTS.index(mark[0][0]) + 1
    return "".join(parts), headings


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

    It can if more than 512 elements are open at once or a tag has thousands of attributes: HTML parsers walk these
    lists repeatedly. Elements are counted by name, so that a stray end tag
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
