"""HTML pages: a file is a document with a title and the text of the page without navigation.

Offsets of passages refer to this text, which the index stores.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from longrank.formats.html_pages import read_page, resiliparse
from longrank.formats.lines import DEFAULT_TEXT
from longrank.formats.parsed import encodings
from longrank.formats.parsed.language_codes import language_fields
from longrank.formats.records import CorpusOptions, Record, SourceFile
from longrank.formats.whole_files import counted, decoded, read_whole, without_nul
from longrank.formats.xhtml import as_html, is_xml
from longrank.types import Notes
from longrank.types.pages import HEADINGS, SOURCE


def read_html(file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[Record]:
    """Yield the page of a file. Its id is the file's path relative to the source folder.

    Raises:
        InputError: the file cannot be read as text.
        MissingExtra: the HTML reader is not installed.
    """
    raw = read_whole(file.path, options.text.limits)
    resiliparse()
    markup = without_nul(_decoded(raw, file, notes, options), file.path)
    xml = file.path.name.lower().removesuffix(".gz").endswith(".xhtml") or is_xml(markup)
    page = read_page(as_html(markup) if xml else markup, str(file.path), notes, navigation=False)
    values = {"title": page.title, "text": page.text, SOURCE: file.source, **_language(markup)}
    yield Record(file.name, values | ({HEADINGS: page.headings} if page.headings else {}), None)


_LANGUAGE = re.compile(r"<html\b[^<>]*?\slang\s*=\s*[\"']?([^\s\"'<>]+)", re.IGNORECASE)
_LANGUAGE_WITHIN = 4096  # characters


def _language(markup: str) -> dict[str, str]:
    declared = _LANGUAGE.search(markup, 0, _LANGUAGE_WITHIN)
    return language_fields(declared[1]) if declared else {}


# --- the encoding of a page -----------------------------------------------------------------------

_ALSO = ("x-mac-cyrillic", "x-mac-ukrainian", "x-user-defined")  # charsets of the standard that resiliparse lacks
_CONTRADICTED = "pages whose declared charset contradicts their bytes"


def _decoded(raw: bytes, file: SourceFile, notes: Notes, options: CorpusOptions) -> str:
    """Decode a page by the user's encoding, else as UTF-8 if its bytes are valid, else by its declared charset.

    Bytes beyond ASCII that are valid UTF-8 are UTF-8 whatever the page declares; a contradiction is counted. A page
    whose bytes do not fit its charset, but for a few, is counted, too, and read as Windows-1252, as browsers do.
    """
    declared = _declared_encodings(raw)
    if options.text.encoding != DEFAULT_TEXT.encoding or not declared:
        return decoded(raw, file.path, notes, options)
    bare = raw.removeprefix(codecs.BOM_UTF8)
    notes.add("byte-order mark skipped", str(file.path), bare != raw)
    read = encodings.decoded(bare, ("utf-8", *declared))
    if read.encoding not in declared and not read.text.isascii():
        notes.add(_CONTRADICTED, str(file.path))
    return counted(read, file.path, notes)


def _declared_encodings(raw: bytes) -> list[str]:
    """Return Python's names of the charsets that a page declares, by the rules of the HTML standard."""
    from resiliparse.parse.encoding import map_encoding_to_html5

    labels = encodings.declared_labels(raw)
    names = [label if label.lower() in _ALSO else map_encoding_to_html5(label, fallback_utf8=False) for label in labels]
    # A declaration that can be read as ASCII is not UTF-16; by the standard such a page is UTF-8.
    return ["utf-8" if name.startswith("utf-16") else encodings.codec_of(name) for name in names if name]
