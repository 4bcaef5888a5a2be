"""HTML pages: a file is a document, its title and its main text, found by resiliparse.

Offsets of passages refer to the text that comes out here, which the index stores.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from longrank.errors import MissingExtra
from longrank.formats.lines import DEFAULT_TEXT, TextOptions, decode, read_bytes
from longrank.formats.markup import cut_out, plain_text
from longrank.formats.records import CorpusOptions, Record, SourceFile
from longrank.formats.text_files import without_nul
from longrank.types import Notes


def read_html(file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[Record]:
    """Yield the page that is the file. Its id is the file's path from the given folder.

    Raises:
        InputError: the file cannot be read as text.
        MissingExtra: the HTML reader is not installed.
    """
    raw = read_bytes(file.path, options.text.limits)
    _resiliparse()
    markup = without_nul(_decoded(raw, file, notes, options.text), file.path)
    title, text = page_text(markup, str(file.path), notes, main_content=True)
    yield Record(file.name, {"title": title, "text": text}, None)


def page_text(markup: str, where: str, notes: Notes, *, main_content: bool) -> tuple[str, str]:
    """Return the title of a page and its text: the main content without navigation and the like, or all of it.

    A page without main content is read whole; so is one whose tags nest so deeply that looking for main
    content would take forever (no page written by people or their programs does). Both are counted.

    Raises:
        MissingExtra: the HTML reader is not installed.
    """
    extract, tree_of = _resiliparse()
    if _is_monstrous(markup):
        notes.add("pages too deeply nested for an HTML parser, read whole", where)
        return _stripped(markup)
    tree = tree_of(markup)
    title = " ".join((tree.title or "").split())
    text = extract(tree, main_content=main_content, list_bullets=False, alt_texts=False).strip()
    if not text and main_content:
        text = extract(tree, main_content=False, list_bullets=False, alt_texts=False).strip()
        notes.add("pages without main content read whole", where, bool(text))
    return title, text


def _resiliparse() -> tuple[Any, Any]:
    try:
        from resiliparse.extract.html2text import extract_plain_text
        from resiliparse.parse.html import HTMLTree
    except ImportError:
        raise MissingExtra("reading HTML", "html") from None
    return extract_plain_text, HTMLTree.parse


# --- pages that no parser should be given ---------------------------------------------------------

_TAG = re.compile(r"<(/?)([A-Za-z][^\s/<>]*)([^<>]*)")
_SCRIPT = re.compile(r"<(?:script|style)\b", re.IGNORECASE)
_SCRIPT_END = re.compile(r"</(?:script|style)\b", re.IGNORECASE)
_TITLE, _TITLE_END = re.compile(r"<title\b[^<>]*>", re.IGNORECASE), re.compile(r"</title\b", re.IGNORECASE)
_NEVER_PILES_UP = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
    | {"body", "colgroup", "dd", "dt", "head", "html", "li", "optgroup", "option", "p", "rp", "rt"}
    | {"tbody", "td", "tfoot", "th", "thead", "tr"}
)
_MAX_DEPTH = 512  # what browsers allow
_MAX_ATTRIBUTES = 1000


def _is_monstrous(markup: str) -> bool:
    """Say whether parsing could take more than linear time.

    It can where more than 512 elements are open at once or a tag has thousands of attributes: HTML parsers
    and the search for main content walk these lists again and again. Elements are counted by name,
    so that a stray end tag closes nothing.
    """
    opened: Counter[str] = Counter()
    depth = 0
    for closing, name, attributes in _TAG.findall(cut_out(markup, _SCRIPT, _SCRIPT_END)):
        tag = name.lower()
        if len(attributes) > 2 * _MAX_ATTRIBUTES and len(attributes.split()) > _MAX_ATTRIBUTES:
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


def _stripped(markup: str) -> tuple[str, str]:
    """Return title and text by removing the tags, in linear time."""
    title = ""
    if (begin := _TITLE.search(markup)) and (end := _TITLE_END.search(markup, begin.end())):
        title = " ".join(plain_text(markup[begin.end() : end.start()]).split())
        markup = markup[: begin.start()] + markup[end.start() :]
    return title, plain_text(markup)


# --- the encoding of a page -----------------------------------------------------------------------

_CHARSET = re.compile(rb"<meta\s[^<>]*?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]+)", re.IGNORECASE)
_CHARSET_WITHIN = 4096  # bytes; the standard asks for it within the first 1024


def _decoded(raw: bytes, file: SourceFile, notes: Notes, options: TextOptions) -> str:
    """Decode a page: as the user says, else as UTF-8 if it is that, else as it declares.

    Bytes that form valid UTF-8 beyond ASCII are UTF-8 whatever the page says; that it says otherwise is
    counted. So is a page that is not what it says it is: it is read as Windows-1252, as browsers would.
    """
    declared = _declared_encoding(raw)
    if options.encoding != DEFAULT_TEXT.encoding or declared is None:
        return decode(raw, file.path, notes, options)
    actual = next((encoding for encoding in ("utf-8", declared) if _is_valid(raw, encoding)), None)
    if actual != declared and not raw.isascii():
        notes.add("pages whose declared charset contradicts their bytes", str(file.path))
    return decode(raw, file.path, notes, TextOptions(actual or "cp1252", "replace", options.limits))


def _declared_encoding(raw: bytes) -> str | None:
    """Return Python's name of the charset in the page's <meta>, as the HTML standard understands it; None if none."""
    from resiliparse.parse.encoding import map_encoding_to_html5

    found = _CHARSET.search(raw[:_CHARSET_WITHIN])
    name = map_encoding_to_html5(found[1].decode("ascii"), fallback_utf8=False) if found else None
    # A <meta> that can be read as ASCII is not UTF-16; the standard says to take such a page as UTF-8.
    return None if name is None else "utf-8" if name.startswith("utf-16") else name


def _is_valid(raw: bytes, encoding: str) -> bool:
    try:
        raw.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
