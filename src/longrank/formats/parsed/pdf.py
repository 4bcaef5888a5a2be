"""PDF files, by pypdfium2: the text layer of each page, in the order of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from longrank.formats.parsed import NoText, Parsed, Unreadable
from longrank.formats.parsed.page_lines import without_hyphens, without_running_lines

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
_SOFT_HYPHEN = re.compile("[\x02\ufffe\xad](\r?\n)")  # PDFium's mark of a hyphen at a line end
_LINE_END = re.compile(r"[ \t]*\r?\n")


def read_pdf(path: str) -> Iterator[Parsed]:
    """Yield the document of a PDF file, with the offset of each page.

    Raises:
        Unreadable: damaged or encrypted.
        NoText: no page has a text layer.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
        n_pages = len(document)
    except pypdfium2.PdfiumError as error:
        raise Unreadable(_fault(str(error))) from None
    try:
        texts, n_failed = _texts(document, n_pages)
        if not any(texts):
            raise NoText("has no text layer" if n_failed < n_pages else "is damaged: no page can be read")
        metadata = document.get_metadata_dict()
    finally:
        document.close()
    yield _parsed(texts, n_failed, metadata)


def _fault(message: str) -> str:
    return "is encrypted: it needs a password" if "assword" in message else "is damaged, or no PDF"


def _texts(document: Any, n_pages: int) -> tuple[list[str], int]:
    """Return the text of each page, and the number of pages that cannot be read."""
    from pypdfium2 import PdfiumError

    texts, failed = [], 0
    for number in range(n_pages):
        try:
            page = document[number]
        except PdfiumError:
            texts.append("")
            failed += 1
            continue
        layer = page.get_textpage()
        texts.append(cleaned(layer.get_text_range()))
        layer.close()
        page.close()
    return texts, failed


def cleaned(text: str) -> str:
    """Return the text of a page with plain line ends and without control characters."""
    return _CONTROL.sub("", _LINE_END.sub("\n", _SOFT_HYPHEN.sub("-\\1", text))).strip()


def _parsed(texts: list[str], n_failed: int, metadata: dict[str, str]) -> Parsed:
    empty = sum(not text for text in texts) - n_failed
    texts, n_running = without_running_lines(texts)
    texts = without_hyphens(texts)
    pages, length = [], 0
    for text in texts:
        pages.append(length)
        length += len(text) + 1
    parsed = Parsed("\n".join(texts), " ".join(_CONTROL.sub("", metadata.get("Title", "")).split()), pages=pages)
    parsed.values = {"author": _CONTROL.sub("", metadata["Author"])} if metadata.get("Author") else {}
    parsed.notes = {
        "PDF pages that cannot be read": n_failed,
        "PDF pages without a text layer": empty,
        "running headers and footers of PDF pages left out": n_running,
    }
    return parsed
