"""PDF files, by pypdfium2: the text layer of each page, in the order of the file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any, NamedTuple

from longrank.formats.parsed import NoText, Parsed, Unreadable
from longrank.formats.parsed.page_lines import SUSPENDING, is_spaced_out, repaired

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
_SOFT_HYPHEN = "\xad"
_VOWEL_SIGN = re.compile("[\u05b0-\u05bc\u05c1\u05c2\u05c7\u064b-\u0652\u0670]")  # of Hebrew and Arabic
_FROM_RIGHT = re.compile("[\u05d0-\u05ea\u0620-\u064a\u0671-\u06d3\ufb1d-\ufdff\ufe70-\ufefc]")
_LATIN = re.compile("[A-Za-z]")
_JOINED = re.compile(  # ABC-12, -1947, a@b.c, New York
    "[A-Za-z0-9][-\u2010\u2011\u2013_@/:]|[-\u2010\u2011\u2013_@/:][A-Za-z0-9]|[A-Za-z](?:\\.|[ \t]+[A-Za-z])"
)
_HYPHEN = re.compile(  # PDFium writes U+FFFE for a hyphen behind a letter, and leaves the line end out
    "(?<=[^\\W_])(?:\ufffe[ \t]*(?:\r?\n)?(?=[^\\W_])|[\x02\u2010\u2011][ \t]*(?:\r?\n|\\Z))"
)
_TYPED = re.compile("\u2010[ \t]*[^\\s]")  # within a line: an author's
_BEFORE_OR = re.compile(f"(?<=[^\\W_])\u2010[ \t]*\r?\n(?=(?:{'|'.join(SUSPENDING)})(?![^\\W_]))")  # creat- or


class _Page(NamedTuple):
    """Text layer of a page, the texts that lie over it, and True if the layer's fonts do not tell its letters."""

    layer: str
    overlaid: str
    lacks_unicode: bool


def read_pdf(path: str) -> Iterator[Parsed]:
    """Yield the document of a PDF file, with the offset of each page.

    Raises:
        Unreadable: damaged or encrypted.
        NoText: no page has a text layer.
    """
    import pypdfium2

    from longrank.formats.parsed.pdf_forms import has_unread_form

    try:
        document = pypdfium2.PdfDocument(path)
        n_pages = len(document)
    except pypdfium2.PdfiumError as error:
        raise Unreadable(_fault(str(error))) from None
    try:
        unread_form, n_attached = has_unread_form(document), document.count_attachments()
        pages = _pages(document, n_pages)
        if not any(page.layer for page in filter(None, pages)):
            raise NoText("has no text layer" if any(pages) else "is damaged: no page can be read")
        metadata = document.get_metadata_dict()
    finally:
        document.close()
    parsed = _parsed(pages, unread_form, metadata)
    parsed.notes["files attached to PDF files, left out"] = n_attached
    yield parsed


def _fault(message: str) -> str:
    return "is encrypted: it needs a password" if "assword" in message else "is damaged, or no PDF"


def _pages(document: Any, n_pages: int) -> list[_Page | None]:
    """Return the pages; None for a page that cannot be read."""
    from pypdfium2 import PdfiumError

    from longrank.formats.parsed.pdf_forms import overlaid
    from longrank.formats.parsed.text_layer import lacks_unicode, text_of, upright_layer

    pages: list[_Page | None] = []
    for number in range(n_pages):
        try:
            page = document[number]
        except PdfiumError:
            pages.append(None)
            continue
        layer = upright_layer(page)
        over = cleaned(overlaid(page).replace(_SOFT_HYPHEN, ""))
        pages.append(_Page(cleaned(text_of(layer)), over, lacks_unicode(layer)))
        layer.close()
        page.close()
    return pages


def cleaned(text: str) -> str:
    """Return the text of a page with plain line ends and composed letters (NFC), and without control characters.

    Its soft hyphens are those that a page shows.
    """
    if not _TYPED.search(text):
        text = _BEFORE_OR.sub("", text)
    text = _HYPHEN.sub("-\n", text.replace(_SOFT_HYPHEN, "-"))
    text = _CONTROL.sub("", text.replace("\r\n", "\n"))
    lines = unicodedata.normalize("NFC", text).split("\n")
    return "\n".join(line.rstrip(" \t") for line in lines).strip()


def _parsed(pages: list[_Page | None], unread_form: bool, metadata: dict[str, str]) -> Parsed:
    n_failed = pages.count(None)
    layers = [page.layer if page else "" for page in pages]
    texts, n_running, n_stamps = repaired(layers)
    n_spaced = sum(map(is_spaced_out, "\n".join(texts).split("\n")))
    n_signed = sum(
        bool(_VOWEL_SIGN.search(word)) for text in texts if _VOWEL_SIGN.search(text) for word in text.split()
    )
    n_mixed = sum(_is_mixed(line) for text in texts if _FROM_RIGHT.search(text) for line in text.split("\n"))
    starts, length = [], 0
    for number, page in enumerate(pages):
        if page and page.overlaid:
            texts[number] = f"{texts[number]}\n{page.overlaid}".strip()
        starts.append(length)
        length += len(texts[number]) + 1
    parsed = Parsed("\n".join(texts), _title(metadata), pages=starts)
    parsed.values = {"author": _CONTROL.sub("", metadata["Author"])} if metadata.get("Author") else {}
    parsed.notes = {
        "PDF pages that cannot be read": n_failed,
        "PDF pages without a text layer (--ocr reads only files without any text layer)": layers.count("") - n_failed,
        "PDF pages whose whole text is repeated on other pages, such as the stamp of a scan": n_stamps,
        "running headers and footers of PDF pages left out": n_running,
        "lines of PDF pages with blanks between the letters (R E P O R T), whose words are not found": n_spaced,
        "words of PDF pages with vowel signs (Arabic, Hebrew), whose letters may be out of order": n_signed,
        "lines of PDF pages from right to left with Latin words or joined numbers, which may be out of order": n_mixed,
        "PDF pages whose fonts do not tell their letters, read as other letters": sum(
            page is not None and page.lacks_unicode for page in pages
        ),
        "PDF files whose form values are not read (XFA)": int(unread_form),
    }
    return parsed


def _is_mixed(line: str) -> bool:
    """Tell whether a line from right to left has parts from left to right, whose order PDFium may not find."""
    return len(_FROM_RIGHT.findall(line)) > len(_LATIN.findall(line)) and _JOINED.search(line) is not None


def _title(metadata: dict[str, str]) -> str:
    title = " ".join(_CONTROL.sub("", metadata.get("Title", "")).split())
    return "" if title.lower() == "untitled" else title  # the default of PDF writers
