"""Small PDF, office and e-book files, made by hand: the independent reference of their readers."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_P = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)
_CATALOG = "<< /Type /Catalog /Pages 2 0 R >>"
_RELATIONS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
_CORE = (
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title>'
    "<dc:creator>Ada</dc:creator></cp:coreProperties>"
)


def pdf_bytes(
    pages: Sequence[Sequence[str]], *, title: str = "", annotations: Sequence[str] = (), form: str = ""
) -> bytes:
    """Return a PDF file: a list of lines for each page, without compression.

    `annotations` are PDF dictionaries without their brackets, all on the first page; `form` is added to its form.
    """
    own = range(4, 4 + len(annotations))
    listed = " ".join(f"{number} 0 R" for number in own)
    objects = [f"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [{listed}] {form} >> >>" if own else _CATALOG, ""]
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    objects += [font, *(f"<< /Type /Annot /Rect [72 72 200 90] {annotation} >>" for annotation in annotations)]
    kids = []
    for number, lines in enumerate(pages):
        shown = "".join(f"({line}) Tj 0 -16 Td " for line in lines)
        content = f"BT /F1 12 Tf 72 720 Td {shown}ET" if lines else ""
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
        page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
        annots = f"/Annots [{listed}] " if own and number == 0 else ""
        objects.append(f"{page}{annots}/Contents {len(objects)} 0 R >>")
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(kids)}] >>"
    objects.append(f"<< /Title ({title}) >>")
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    trailer = f"<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>"
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n{trailer}\n".encode()
    out += f"startxref\n{out.index(b'xref')}\n%%EOF\n".encode()
    return bytes(out)


def zipped(path: Path, parts: Mapping[str, str | bytes]) -> Path:
    """Write a zip container; a part ``mimetype`` is stored without compression."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            kind = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(name, content, compress_type=kind)
    return path


def docx(path: Path, body: str, *, title: str = "", **parts: str) -> Path:
    """Write a Word file with a body of WordprocessingML."""
    styles = (
        f'<w:styles {_W}><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
        '<w:style w:styleId="H2"><w:name w:val="Heading 2"/></w:style></w:styles>'
    )
    document = f"<w:document {_W}><w:body>{body}</w:body></w:document>"
    standard = {"word/document.xml": document, "word/styles.xml": styles}
    return zipped(path, {**standard, "docProps/core.xml": _CORE.format(title=title), **parts})


def paragraph(text: str, style: str = "") -> str:
    """Return a paragraph of WordprocessingML."""
    kind = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{kind}<w:r><w:t>{text}</w:t></w:r></w:p>"


def pptx(path: Path, slides: Sequence[tuple[str, str]]) -> Path:
    """Write a presentation: (title, text) of each slide; parts are stored in another order than shown."""
    ids = "".join(f'<p:sldId id="{256 + n}" r:id="r{n}"/>' for n in range(len(slides)))
    relations = "".join(f'<Relationship Id="r{n}" Target="slides/s{n}.xml"/>' for n in range(len(slides)))
    parts = {
        "ppt/presentation.xml": f"<p:presentation {_P}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": f"<Relationships {_RELATIONS}>{relations}</Relationships>",
    }
    for number, (title, text) in reversed(list(enumerate(slides))):
        heading = f'<p:sp><p:nvPr><p:ph type="title"/></p:nvPr><a:p><a:r><a:t>{title}</a:t></a:r></a:p></p:sp>'
        footer = '<p:sp><p:nvPr><p:ph type="sldNum"/></p:nvPr><a:p><a:r><a:t>99</a:t></a:r></a:p></p:sp>'
        shape = f"<p:sp><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sp>"
        parts[f"ppt/slides/s{number}.xml"] = f"<p:sld {_P}>{heading}{shape}{footer}</p:sld>"
    return zipped(path, parts)


def odt(path: Path, body: str, *, title: str = "", **parts: str) -> Path:
    """Write an OpenDocument text with a body of OpenDocument XML."""
    names = (
        'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    )
    content = f"<office:document-content {names}><office:body><office:text>{body}</office:text></office:body>"
    meta = (
        f"<office:document-meta {names}><office:meta><dc:title>{title}</dc:title></office:meta></office:document-meta>"
    )
    standard = {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": f"{content}</office:document-content>",
        "meta.xml": meta,
    }
    return zipped(path, {**standard, **parts})


def epub(path: Path, chapters: Sequence[str], *, title: str = "", **parts: str) -> Path:
    """Write an e-book with XHTML bodies as chapters."""
    items = "".join(
        f'<item id="c{n}" href="text/c{n}.xhtml" media-type="application/xhtml+xml"/>' for n in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
    standard = {"mimetype": "application/epub+zip", "META-INF/container.xml": container, "OEBPS/book.opf": package}
    for number, body in enumerate(chapters):
        page = f"<!DOCTYPE html><html><head><title>x</title></head><body>{body}</body></html>"
        standard[f"OEBPS/text/c{number}.xhtml"] = page
    return zipped(path, {**standard, **parts})
