"""Texts that lie over a page of a PDF file: values of form fields, and annotations."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import POINTER, cast, create_string_buffer
from typing import Any

import pypdfium2.raw as pdfium

_HIDDEN = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
_WITHOUT_TEXT = (pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP)  # a pop-up shows the text of another annotation
_TEXT_FIELD = pdfium.FPDF_FORMFIELD_TEXTFIELD
_CHOICE_FIELDS = (pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX)


def has_unread_form(document: Any) -> bool:
    """Prepare reading the values of a form; say whether the document has a form whose values cannot be read.

    Forms of XFA are not read: their values are in XML of their own.
    """
    kind = document.get_formtype()
    if kind == pdfium.FORMTYPE_ACRO_FORM:
        document.init_forms()
    return bool(kind != pdfium.FORMTYPE_NONE and document.formenv is None)


def overlaid(page: Any) -> str:
    """Return the values of text fields and choice fields and the texts of annotations that a page shows, in lines."""
    texts = []
    for number in range(pdfium.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium.FPDFPage_GetAnnot(page, number)
        if annotation:
            texts.append(_text(annotation, page.formenv))
            pdfium.FPDFPage_CloseAnnot(annotation)
    return "\n".join(filter(None, texts))


def _text(annotation: Any, form: Any) -> str:
    kind = pdfium.FPDFAnnot_GetSubtype(annotation)
    if kind in _WITHOUT_TEXT or pdfium.FPDFAnnot_GetFlags(annotation) & _HIDDEN:
        return ""
    if kind != pdfium.FPDF_ANNOT_WIDGET:
        return _string(pdfium.FPDFAnnot_GetStringValue, annotation, b"Contents")
    return _value(annotation, form) if form else ""


def _value(field: Any, form: Any) -> str:
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, field)
    if kind in _CHOICE_FIELDS:
        options = range(pdfium.FPDFAnnot_GetOptionCount(form, field))
        chosen = [n for n in options if pdfium.FPDFAnnot_IsOptionSelected(form, field, n)]
        labels = [_string(pdfium.FPDFAnnot_GetOptionLabel, form, field, n) for n in chosen]
        return "\n".join(labels) or _string(pdfium.FPDFAnnot_GetFormFieldValue, form, field)
    secret = pdfium.FPDFAnnot_GetFormFieldFlags(form, field) & pdfium.FPDF_FORMFLAG_TEXT_PASSWORD
    return "" if kind != _TEXT_FIELD or secret else _string(pdfium.FPDFAnnot_GetFormFieldValue, form, field)


def _string(read: Callable[..., int], *arguments: Any) -> str:
    """Return the text of a function of PDFium that fills a buffer with UTF-16 and a final NUL."""
    size = read(*arguments, None, 0)
    buffer = create_string_buffer(size)
    read(*arguments, cast(buffer, POINTER(pdfium.FPDF_WCHAR)), size)
    text = buffer.raw.decode("utf-16-le", "ignore").rstrip("\x00")
    return "\n".join(text.splitlines()).strip()
