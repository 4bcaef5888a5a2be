"""HTML pages: a file is a document with a title and the text of the page without navigation.

Offsets of passages refer to this text, which the index stores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from longrank.formats.html_pages import read_page, resiliparse
from longrank.formats.lines import DEFAULT_TEXT, TextOptions, decode
from longrank.formats.parsed.encodings import codec_of, is_iso_2022_jp
from longrank.formats.parsed.language_codes import language_fields
from longrank.formats.records import CorpusOptions, Record, SourceFile
from longrank.formats.whole_files import decoded, iso_2022_jp_text, read_whole, without_nul
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

_CHARSET = re.compile(rb"<meta\s[^<>]*?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]+)", re.IGNORECASE)
_CONTRADICTED = "pages whose declared charset contradicts their bytes"
_CHARSET_WITHIN = 4096  # bytes; the standard requires it within the first 1024


def _decoded(raw: bytes, file: SourceFile, notes: Notes, options: CorpusOptions) -> str:
    """Decode a page by the user's encoding, else as UTF-8 if its bytes are valid, else by its declared charset.

    Bytes beyond ASCII that are valid UTF-8 are UTF-8 whatever the page declares; a contradiction is counted. A page
    whose bytes do not fit its charset is counted, too, and read as Windows-1252, as browsers do.
    """
    declared = _declared_encoding(raw)
    if options.text.encoding != DEFAULT_TEXT.encoding or declared is None:
        return decoded(raw, file.path, notes, options)
    if is_iso_2022_jp(raw):
        if not declared.startswith("iso2022_jp"):
            notes.add(_CONTRADICTED, str(file.path))
        return iso_2022_jp_text(raw, file.path, notes)
    actual = next((encoding for encoding in ("utf-8", declared) if _is_valid(raw, encoding)), None)
    if actual != declared and not raw.isascii():
        notes.add(_CONTRADICTED, str(file.path))
    return decode(raw, file.path, notes, TextOptions(actual or "cp1252", "replace", options.text.limits))


def _declared_encoding(raw: bytes) -> str | None:
    """Return Python's name of the charset in the page's <meta>, by the rules of the HTML standard; None if absent."""
    from resiliparse.parse.encoding import map_encoding_to_html5

    charset = _CHARSET.search(raw[:_CHARSET_WITHIN])
    name = map_encoding_to_html5(charset[1].decode("ascii"), fallback_utf8=False) if charset else None
    # A <meta> that can be read as ASCII is not UTF-16; by the standard such a page is UTF-8.
    return None if name is None else "utf-8" if name.startswith("utf-16") else codec_of(name)


def _is_valid(raw: bytes, encoding: str) -> bool:
    try:
        raw.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
