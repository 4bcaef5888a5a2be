"""Recognise the format of a file by its first bytes; a zip container by its parts."""

from __future__ import annotations

import re
import zipfile
import zlib
from codecs import getincrementaldecoder
from contextlib import suppress
from pathlib import Path

from longrank.errors import InputError
from longrank.formats.opening import open_bytes

_SNIFFED = 4096  # bytes
_BOM = b"\xef\xbb\xbf"
_ZIP = b"PK\x03\x04"
_PDF, _PDF_WITHIN = b"%PDF-", 1024
_PARTS = {"word/document": "docx", "ppt/presentation": "pptx"}  # some programs add a number before .xml
_MIMETYPES = {
    b"application/vnd.oasis.opendocument.text": "odt",
    b"application/vnd.oasis.opendocument.text-template": "odt",
    b"application/epub+zip": "epub",
}
_LONGEST_MIMETYPE = 100
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, KeyError)
_HTML = re.compile(rb"(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html)[\s>]", re.DOTALL)


def format_of_content(path: Path) -> str | None:
    """Return the format that the first bytes of a file tell; None if they do not tell, or the file cannot be read."""
    if not path.is_file():  # a pipe can be read only once
        return None
    with suppress(OSError):
        with path.open("rb") as stream:
            head = stream.read(_SNIFFED)
        if head.startswith(_ZIP):
            return _zipped(path)
        begins_so = head.removeprefix(_BOM).lstrip().startswith(_PDF)
        if begins_so or (_PDF in head[:_PDF_WITHIN] and not _is_utf8(head)):  # else a text about PDF
            return "pdf"
        return _text(path)
    return None


def _is_utf8(head: bytes) -> bool:
    """Tell whether the first bytes of a file are UTF-8; the last character may be cut."""
    with suppress(UnicodeDecodeError):
        getincrementaldecoder("utf-8")().decode(head)
        return True
    return False


def _zipped(path: Path) -> str | None:
    with suppress(*_DAMAGED), zipfile.ZipFile(path) as archive:
        for start, format in _PARTS.items():
            if any(re.fullmatch(start + r"[0-9]*\.xml", name) for name in archive.NameToInfo):
                return format
        with archive.open("mimetype") as stream:
            return _MIMETYPES.get(stream.read(_LONGEST_MIMETYPE).strip())
    return None


def _text(path: Path) -> str | None:
    head = b""
    with suppress(InputError, OSError, EOFError, zlib.error), open_bytes(path) as stream:
        head = stream.read(_SNIFFED).removeprefix(_BOM).lstrip()
    if head.startswith(b"From ") and re.match(rb"From \S+.*\n(?:>?From .*\n)?[\w-]+:", head):
        return "mbox"
    head = head.lower()
    if head.startswith(b"<") and b"<target_qid>" in head:
        return "webap"
    if re.match(rb"<doc[\s>]", head):
        return "trecweb" if b"<dochdr>" in head else "trectext"
    return "html" if _HTML.match(head) else None
