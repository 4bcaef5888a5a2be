"""HTML pages: a file is a document, its title and its main text, found by resiliparse.

Offsets of passages refer to the text that comes out here, which the index stores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from longrank.formats.html_pages import page_text, resiliparse
from longrank.formats.lines import DEFAULT_TEXT, TextOptions, decode
from longrank.formats.records import CorpusOptions, Record, SourceFile
from longrank.formats.text_files import read_whole, without_nul
from longrank.types import Notes


def read_html(file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[Record]:
    """Yield the page that is the file. Its id is the file's path from the given folder.

    Raises:
        InputError: the file cannot be read as text.
        MissingExtra: the HTML reader is not installed.
    """
    raw = read_whole(file.path, options.text.limits)
    resiliparse()
    markup = without_nul(_decoded(raw, file, notes, options.text), file.path)
    title, text = page_text(markup, str(file.path), notes, main_content=True)
    yield Record(file.name, {"title": title, "text": text}, None)


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
