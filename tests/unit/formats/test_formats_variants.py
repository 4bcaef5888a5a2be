"""Office, e-book, mail and markup files as their programs write them: sections, encodings, tags, text boxes."""

from __future__ import annotations

import zipfile
from base64 import b64encode
from email.header import Header
from email.message import EmailMessage
from pathlib import Path

import pytest

from document_files import docx, epub, odt, paragraph, pdf_bytes, pptx, zipped
from longrank.errors import InputError
from longrank.formats.corpora import format_of
from longrank.formats.parsed import Parsed
from longrank.formats.parsed.child import parse
from longrank.formats.parsed.markdown import read_markdown
from longrank.formats.parsed.rst import read_rst
from longrank.formats.sniffing import format_of_content


def parsed(path: Path, format: str) -> Parsed:
    (document,) = parse(path, format)
    return document


def with_part(path: Path, name: str, content: bytes) -> Path:
    """Replace a part of a container."""
    with zipfile.ZipFile(path) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    return zipped(path, {**parts, name: content})


def test_slides_are_those_of_the_show_and_not_of_its_sections(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    path = pptx(tmp_path / "a.pptx", [("Cats", "purr"), ("Dogs", "bark")])
    sections = (
        '<p:extLst><p:ext uri="{521415D9-36F7-43E2-AB2F-B90AF26B5E84}"><p14:sectionLst '
        'xmlns:p14="http://schemas.microsoft.com/office/powerpoint/2010/main"><p14:section name="Default Section">'
        '<p14:sldIdLst><p14:sldId id="257"/><p14:sldId id="256"/></p14:sldIdLst></p14:section></p14:sectionLst>'
        "</p:ext></p:extLst></p:presentation>"
    )
    show = zipfile.ZipFile(path).read("ppt/presentation.xml").decode()
    with_part(path, "ppt/presentation.xml", show.replace("</p:presentation>", sections).encode())
    document = parsed(path, "pptx")
    assert document.text == "Cats\n\npurr\n\nDogs\n\nbark"
    assert document.pages == [0, 12]


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("iso-8859-1", "iso-8859-1"),
        ("iso-8859-1", "cp1252"),
        ("windows-1251", "windows-1251"),
        ("utf-16", "utf-16"),
        ("utf-16", "utf-16-be"),
        ("utf-8", "utf-8-sig"),
        ("iso-8859-1", "utf-8"),
    ],
)
def test_a_chapter_is_read_in_its_encoding(declared: str, encoding: str, tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    word = {"windows-1251": "\u043c\u0435\u0434", "cp1252": "\u201ccaf\xe9\u201d"}.get(encoding, "caf\xe9")
    chapter = f'<?xml version="1.0" encoding="{declared}"?><html><body><h1>Bees</h1><p>{word}</p></body></html>'
    path = with_part(epub(tmp_path / "a.epub", [""]), "OEBPS/text/c0.xhtml", chapter.encode(encoding))
    document = parsed(path, "epub")
    assert (document.text, document.notes) == (f"Bees\n\n{word}", {})


@pytest.mark.parametrize("head", ["", '<?xml version="1.0" encoding="no-such"?>', '<meta charset="utf-16">'])
def test_a_chapter_that_fits_no_encoding_is_counted(head: str, tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    chapter = f"{head}<html><body><p>caf\xe9</p></body></html>".encode("latin-1")
    path = with_part(epub(tmp_path / "a.epub", ["<p>Bees</p>", ""]), "OEBPS/text/c1.xhtml", chapter)
    document = parsed(path, "epub")
    assert document.text == "Bees\n\ncaf\xe9"
    assert document.notes == {"e-book chapters whose bytes do not fit their encoding": 1}


def test_a_meta_element_declares_the_encoding_of_a_chapter(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    chapter = (
        b'<html><head><meta http-equiv="Content-Type" content="text/html; charset=koi8-r"></head><p>\xcd\xc5\xc4</p>'
    )
    path = with_part(epub(tmp_path / "a.epub", [""]), "OEBPS/text/c0.xhtml", chapter)
    assert parsed(path, "epub").text == "\u043c\u0435\u0434"


def test_chapters_of_other_formats_are_counted(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    path = epub(tmp_path / "a.epub", ["<p>Bees <time>now</time>.</p>", "<book/>"])
    with zipfile.ZipFile(path) as archive:
        package = archive.read("OEBPS/book.opf")
    kinds = package.replace(
        b'c1.xhtml" media-type="application/xhtml+xml', b'c1.xhtml" media-type="application/x-dtbook+xml'
    )
    document = parsed(with_part(path, "OEBPS/book.opf", kinds), "epub")
    assert document.text == "Bees now."
    assert document.notes == {"e-book chapters of other formats than HTML, left out": 1}


def test_chapters_that_the_list_of_files_does_not_name_are_counted(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    path = epub(tmp_path / "a.epub", ["<p>Bees.</p>"])
    with zipfile.ZipFile(path) as archive:
        package = archive.read("OEBPS/book.opf").replace(b"</spine>", b'<itemref idref="gone"/></spine>')
    document = parsed(with_part(path, "OEBPS/book.opf", package), "epub")
    assert document.text == "Bees."
    assert document.notes == {"e-book chapters that the list of files does not name, left out": 1}


def test_pages_of_an_e_book_outside_its_order_are_counted_but_for_the_contents(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    path = epub(tmp_path / "a.epub", ["<p>Bees.</p>"])
    more = "".join(
        f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml" properties="{properties}"/>'
        for name, properties in (("notes", ""), ("nav", "nav scripted"), ("text/c0", ""))
    )
    with zipfile.ZipFile(path) as archive:
        package = archive.read("OEBPS/book.opf").replace(b"</manifest>", f"{more}</manifest>".encode())
    document = parsed(with_part(path, "OEBPS/book.opf", package), "epub")
    assert document.text == "Bees."
    assert document.notes == {"e-book pages outside the order of reading, left out": 1}


def test_values_of_form_fields_of_opendocument_texts_are_read(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    form = 'xmlns:form="urn:oasis:names:tc:opendocument:xmlns:form:1.0"'
    fields = (
        '<form:text form:current-value="Ada"/><form:password form:current-value="secret"/><form:text form:value="x"/>'
    )
    body = f"<office:forms {form}><form:form>{fields}</form:form></office:forms><text:p>Cats purr.</text:p>"
    assert parsed(odt(tmp_path / "a.odt", body), "odt").text == "Cats purr.\n\nAda"


def test_an_encrypted_chapter_is_found_by_its_escaped_name(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    path = epub(tmp_path / "a.epub", ["<p>x</p>"])
    with zipfile.ZipFile(path) as archive:
        package = archive.read("OEBPS/book.opf").replace(b"c0.xhtml", b"c%200.xhtml")
        part = archive.read("OEBPS/text/c0.xhtml")
    encryption = b'<e><CipherReference URI="OEBPS/text/c%200.xhtml"/></e>'
    with_part(path, "OEBPS/book.opf", package)
    with_part(path, "OEBPS/text/c 0.xhtml", part)
    assert parsed(path, "epub").text == "x"
    with_part(path, "META-INF/encryption.xml", encryption)
    with pytest.raises(InputError, match=r"a\.epub: is encrypted \(DRM\)"):
        parsed(path, "epub")


def test_a_paragraph_has_no_style_of_a_text_box_or_of_a_tracked_change(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    box = f"<w:pict><w:txbxContent>{paragraph('Boxed', 'berschrift1')}</w:txbxContent></w:pict>"
    old = '<w:pPrChange><w:pPr><w:pStyle w:val="berschrift1"/></w:pPr></w:pPrChange>'
    body = (
        f"<w:p><w:r>{box}<w:t>Cats purr.</w:t></w:r></w:p>"
        f"<w:p><w:pPr>{old}</w:pPr><w:r><w:t>They sleep.</w:t></w:r></w:p>"
        f'<w:p><w:pPr><w:pStyle w:val="H2"/>{old}</w:pPr><w:r><w:t>Food</w:t></w:r></w:p>'
    )
    document = parsed(docx(tmp_path / "a.docx", body), "docx")
    assert document.text == "Cats purr.\n\nBoxed\n\nThey sleep.\n\nFood"
    assert document.headings == [(12, 17, 1), (32, 36, 2)]
    assert document.title == "Boxed"


def test_formulas_in_no_paragraph_and_letters_on_a_curve_are_read(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    math = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    half = "<m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>"
    formula = f'<m:oMath xmlns:m="{math}"><m:r><m:t>y=</m:t></m:r>{half}</m:oMath>'
    box = f"<w:pict><w:txbxContent>{formula}{paragraph('Boxed')}</w:txbxContent></w:pict>"
    curve = '<v:shape xmlns:v="urn:schemas-microsoft-com:vml"><v:textpath string="A summer fair"/></v:shape>'
    body = (
        f'{paragraph("Cats")}<m:oMathPara xmlns:m="{math}">{formula}</m:oMathPara>'
        f"<w:p><w:r>{box}<w:t>purr</w:t>{formula}</w:r></w:p>"
        f"<w:tbl><w:tr><w:tc>{formula}{paragraph('now.')}</w:tc></w:tr></w:tbl><w:p><w:r><w:pict>{curve}</w:pict></w:r></w:p>"
    )
    text = "Cats\n\ny=1/2\n\npurry=1/2\n\ny=1/2\n\nBoxed\n\ny=1/2\n\nnow.\n\nA summer fair"
    assert parsed(docx(tmp_path / "a.docx", body), "docx").text == text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<html><head><meta charset=utf-8><title>t</title><body><p>Cats purr.</body></html>", "Cats purr."),
        ("<head><style>p {}</style><script>f()</script>Cats <p>purr.", "Cats\n\npurr."),
        ("<html><head><title>t</title></head><body>Cats purr.</body></html>", "Cats purr."),
        ("<nav>Menu</nav><p>Cats purr.<nav>Menu<h2>Food</h2><p>Fish.", "Cats purr.\n\nMenu\n\nFood\n\nFish."),
        ("<p>Cats<svg><style>a {}</style><text>1</text></p><p>purr.</p>", "Cats\n\n1\n\npurr."),
        ("<p>Cats</p><nav>A <nav>B</nav> C</nav><template><p>D</p></template><p>purr.</p>", "Cats\n\npurr."),
        ("<p>Cats</p></nav></template><p>purr.</p>", "Cats\n\npurr."),
        ("<p>Cats <style>p {}", "Cats"),
    ],
)
def test_text_after_a_missing_end_tag_is_kept(markup: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_bytes(b"Subject: s\nContent-Type: text/html; charset=utf-8\n\n" + markup.encode())
    assert parsed(tmp_path / "a.eml", "eml").text == text


@pytest.mark.parametrize(
    ("charset", "encoding", "n_unfit"),
    [("us-ascii", "utf-8", 0), ("unknown-8bit", "utf-8", 0), ("iso-8859-1", "latin-1", 0), ("utf-8", "latin-1", 1)],
)
def test_a_mail_is_read_as_its_bytes_are(charset: str, encoding: str, n_unfit: int, tmp_path: Path) -> None:
    header = f"Subject: s\nContent-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: 8bit\n\n"
    (tmp_path / "a.eml").write_bytes(header.encode() + "caf\xe9 na\xefve".encode(encoding))
    document = parsed(tmp_path / "a.eml", "eml")
    assert document.text == "caf\xe9 na\xefve"
    assert document.notes.get("mail texts whose bytes do not fit their encoding", 0) == n_unfit


def test_mail_declared_latin_1_may_have_quotes_of_windows(tmp_path: Path) -> None:
    raw = b"Subject: s\nContent-Type: text/plain; charset=ISO-8859-1\n\n\x93caf\xe9\x94"
    (tmp_path / "a.eml").write_bytes(raw)
    assert parsed(tmp_path / "a.eml", "eml").text == "\u201ccaf\xe9\u201d"


def test_so_may_its_subject(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_bytes(b"Subject: =?iso-8859-1?Q?=93caf=E9=94?=\n\nx\n")
    assert parsed(tmp_path / "a.eml", "eml").title == "\u201ccaf\u00e9\u201d"


def test_html_tags_in_markdown_separate_words_unless_they_format_a_part_of_one() -> None:
    text = (
        "| honey<br>bees | river<BR/>fish |\n|---|---|\n| H<sub>2</sub>O | <kbd>Ctrl</kbd>+<kbd>C</kbd><!-- x --> |\n"
    )
    (document,) = read_markdown(text)
    assert document.text == "honey bees\triver fish\nH2O\tCtrl+C"


def test_literals_in_restructuredtext_hold_no_markup() -> None:
    (document,) = read_rst("Use ``__init__``, ``self.__dict__``, ``C:\\temp`` and ``*args`` with *care*, see link_.\n")
    assert document.text == "Use __init__, self.__dict__, C:\\temp and *args with care, see link."


def test_texts_inside_a_paragraph_of_an_opendocument_text_are_lines(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    svg = 'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'
    picture = f'<draw:frame xmlns:draw="d"><svg:title {svg}>Alt</svg:title><svg:desc {svg}>Text</svg:desc></draw:frame>'
    note = "<text:note><text:note-body><text:p>One.</text:p><text:p>Two.</text:p></text:note-body></text:note>"
    plain = '<draw:frame xmlns:draw="d"><draw:image/></draw:frame>'
    body = (
        f"<text:p>left{picture}right</text:p><text:p>cats{note}purr, see <text:title>Cats</text:title>{plain}.</text:p>"
    )
    document = parsed(odt(tmp_path / "a.odt", body), "odt")
    assert document.text == "left\nAlt\nText\nright\n\ncats\nOne.\nTwo.\npurr, see Cats."


def test_a_word_file_may_name_its_parts_as_it_likes(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    usual = docx(tmp_path / "a.docx", paragraph("Cats", "berschrift1") + paragraph("purr"))
    with zipfile.ZipFile(usual) as archive:
        parts = {
            name.replace("document.", "document2.").replace("styles.", "s2."): archive.read(name)
            for name in archive.namelist()
        }
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relations = "<Relationships>{}</Relationships>".format
    whole = relations(f'<Relationship Id="r1" Type="{kind}/officeDocument" Target="word/document2.xml"/>')
    of_body = relations(f'<Relationship Id="r1" Type="{kind}/styles" Target="/word/s2.xml"/>')
    named = {"_rels/.rels": whole, "word/_rels/document2.xml.rels": of_body}
    path = zipped(tmp_path / "b", {**parts, **named})
    assert parsed(path, "docx").text == "Cats\n\npurr"
    assert parsed(path, "docx").headings == [(0, 4, 1)]
    assert format_of_content(path) == "docx"


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("a.md", "About `<TARGET_QID>` of WebAP.", "markdown"),
        ("a.md", '<doc id="1"> of a wiki', "markdown"),
        ("a.html", "<doc>x</doc>", "html"),
        ("a.eml", "Subject: PDF\n\nIt begins with %PDF-1.4\n", "eml"),
        ("a.html", f"<p>%PDF-1.4 {'é' * 2048}", "html"),
        ("a", "<DOC>\n<DOCNO>1</DOCNO>\n<TARGET_QID>7</TARGET_QID>", "webap"),
        ("a.txt", "<DOC>\n<DOCNO>1</DOCNO>", "trectext"),
        ("a.txt", "%PDF-1.4\n", "pdf"),
        ("a", "\ufeff\n%PDF-1.4\n", "pdf"),
    ],
)
def test_a_text_about_a_format_has_the_format_of_its_name(name: str, text: str, format: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert format_of(tmp_path / name) == format


def test_a_pdf_behind_other_bytes_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"HTTP/1.1 200 OK\r\n\r\n%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    assert format_of(tmp_path / "a.txt") == "pdf"


def test_damaged_comments_of_a_word_file_are_left_out_and_counted(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/comments"
    listed = f'<Relationships><Relationship Id="r1" Type="{kind}" Target="comments.xml"/></Relationships>'
    parts = {"word/_rels/document.xml.rels": listed, "word/comments.xml": f"<comments>{'x' * 500}</comments>"}
    path = docx(tmp_path / "a.docx", paragraph("Cats"), **parts)
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("word/comments.xml")
        place = info.header_offset + 30 + len(info.filename) + info.compress_size // 2
    content = bytearray(path.read_bytes())
    content[place] ^= 0xFF
    path.write_bytes(content)
    document = parsed(path, "docx")
    assert document.text == "Cats"
    assert document.notes["parts of Office files (comments, headers, charts) that are damaged, left out"] == 1


def test_a_message_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_bytes("\ufeffSubject: Cats\n\nThey purr.\n".encode())
    assert (parsed(tmp_path / "a.eml", "eml").title, parsed(tmp_path / "a.eml", "eml").text) == ("Cats", "They purr.")


def test_parts_are_found_by_their_escaped_names_and_files_inserted_into_a_document_are_counted(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    usual = docx(tmp_path / "a.docx", paragraph("Cats"))
    with zipfile.ZipFile(usual) as archive:
        parts = {name.replace("document.", "my text."): archive.read(name) for name in archive.namelist()}
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relations = "<Relationships>{}</Relationships>".format
    whole = relations(f'<Relationship Id="r1" Type="{kind}/officeDocument" Target="word/my%20text.xml"/>')
    of_body = relations(f'<Relationship Id="r1" Type="{kind}/aFChunk" Target="part.html"/>')
    named = {"_rels/.rels": whole, "word/_rels/my text.xml.rels": of_body, "word/part.html": "<p>more</p>"}
    document = parsed(zipped(tmp_path / "b.docx", {**parts, **named}), "docx")
    assert document.text == "Cats"
    assert document.notes["files inserted into a document (altChunk), left out"] == 1


@pytest.mark.parametrize("part", ["word/_rels/document.xml.rels", "ppt/slides/_rels/s0.xml.rels"])
def test_files_embedded_in_office_files_are_counted(part: str, tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    listed = "".join(
        f'<Relationship Id="r{n}" Type="{kind}/{what}" Target="/embeddings/{n}.bin"/>'
        for n, what in enumerate(["oleObject", "package", "image"])
    )
    format = "docx" if part.startswith("word") else "pptx"
    made = docx(tmp_path / "a", paragraph("Cats")) if format == "docx" else pptx(tmp_path / "a", [("Cats", "purr")])
    with zipfile.ZipFile(made) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    more = {part: f"<Relationships>{listed}</Relationships>", **{f"embeddings/{n}.bin": b"x" for n in range(3)}}
    document = parsed(zipped(tmp_path / f"b.{format}", {**parts, **more}), format)
    assert document.notes["files embedded in Office files (OLE objects), left out"] == 2


def test_files_attached_to_a_pdf_are_counted(tmp_path: Path) -> None:
    pypdfium2 = pytest.importorskip("pypdfium2", reason="needs the extra files")
    document = pypdfium2.PdfDocument(pdf_bytes([["See the offer attached."]]))
    document.new_attachment("offer.txt").set_data(b"price 500")
    document.save(tmp_path / "a.pdf")
    assert parsed(tmp_path / "a.pdf", "pdf").notes["files attached to PDF files, left out"] == 1


def test_parts_that_relations_name_wrongly_have_their_usual_names(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    note = '<w:footnotes xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">{}</w:footnotes>'
    path = docx(tmp_path / "a.docx", paragraph("Cats"), **{"word/footnotes.xml": note.format(paragraph("a note"))})
    lost = f'<Relationships><Relationship Id="r1" Type="{kind}/{{}}" Target="gone.xml"/></Relationships>'.format
    for relation, content in (
        ("_rels/.rels", lost("officeDocument")),
        ("word/_rels/document.xml.rels", lost("footnotes")),
        ("_rels/.rels", "no XML"),
    ):
        assert parsed(with_part(path, relation, content.encode()), "docx").text == "Cats\n\na note"


def test_shapes_for_older_programs_are_not_read_a_second_time(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    path = pptx(tmp_path / "a.pptx", [("Cats", "purr")])
    slide = zipfile.ZipFile(path).read("ppt/slides/s0.xml").decode()
    shape = "<p:sp><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:sp>".format
    twins = (
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        f"<mc:Choice>{shape('sleep')}</mc:Choice><mc:Fallback>{shape('upgrade')}</mc:Fallback></mc:AlternateContent></p:sld>"
    )
    with_part(path, "ppt/slides/s0.xml", slide.replace("</p:sld>", twins).encode())
    assert parsed(path, "pptx").text == "Cats\n\npurr\n\nsleep"
    run = "<a:r><a:t>{}</a:t></a:r>".format
    runs = (
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        f"<mc:Choice>{run('play')}</mc:Choice><mc:Choice>{run('work')}</mc:Choice>"
        f"<mc:Fallback>{run('upgrade')}</mc:Fallback></mc:AlternateContent>"
    )
    inside = f"<p:sp><a:p>{run('They ')}{runs}</a:p></p:sp></p:sld>"
    with_part(path, "ppt/slides/s0.xml", slide.replace("</p:sld>", inside).encode())
    assert parsed(path, "pptx").text == "Cats\n\npurr\n\nThey play"


@pytest.mark.parametrize(
    "holder",
    [
        "<w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt>",
        "<w:customXml>{}</w:customXml>",
        "<w:tbl><w:tr><w:tc><w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt></w:tc></w:tr></w:tbl>",
        "<w:ins>{}</w:ins>",
        "<w:moveTo>{}</w:moveTo>",
        "<w:p><w:r><w:t>box</w:t><w:txbxContent><w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt></w:txbxContent></w:r></w:p>",
    ],
)
def test_formulas_in_no_paragraph_are_read_once_whatever_holds_them(holder: str, tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    math = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    formula = "<m:oMathPara><m:oMath><m:r><m:t>E=mc</m:t></m:r></m:oMath></m:oMathPara>"
    formula = formula.replace("<m:oMathPara>", f'<m:oMathPara xmlns:m="{math}">')
    path = docx(tmp_path / "a.docx", paragraph("Cats") + holder.format(formula) + paragraph("Dogs"))
    assert parsed(path, "docx").text.replace("box\n\n", "") == "Cats\n\nE=mc\n\nDogs"


@pytest.mark.parametrize("n_lost", [1, 2, 3])
def test_mail_whose_base64_is_cut_off_is_decoded_as_far_as_it_goes_and_counted(n_lost: int, tmp_path: Path) -> None:
    body = b64encode(b"The zebrafish report is attached. " * 6)[:-n_lost]
    header = b"Subject: s\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n"
    (tmp_path / "a.eml").write_bytes(header + body)
    document = parsed(tmp_path / "a.eml", "eml")
    assert document.text.startswith("The zebrafish report")
    assert document.notes.get("mail texts whose bytes do not fit their encoding", 0) == (n_lost == 3)


def test_text_of_directives_of_any_name_is_kept() -> None:
    text = """.. classmethod:: day.today(tz=None)
                 day.now()

   Return the day.

.. c:macro:: Py_BEGIN
.. envvar:: PYTHONSEED

.. function:: foo(x)
   :param x: the value

.. code-block:: python
   :caption: A listing
   :linenos:

   print(1)

He waited
.. and the quokka, too.

.. a comment
   of two lines
"""
    (document,) = read_rst(text)
    assert document.text.split("\n\n") == [
        "day.today(tz=None)\nday.now()",
        "Return the day.",
        "Py_BEGIN",
        "PYTHONSEED",
        "foo(x)\n:param x: the value",
        "A listing",
        "print(1)",
        "He waited\n.. and the quokka, too.",
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "gb2312", "iso-2022-jp", "koi8-r"])
def test_a_folded_subject_of_encoded_words_is_whole(encoding: str, tmp_path: Path) -> None:
    letters = {"gb2312": "\u6587\u4ef6", "iso-2022-jp": "\u65e5\u672c", "koi8-r": "\u0416\u0437"}
    subject = letters.get(encoding, "\u65e5\u672c\u00fc") * 30
    folded = Header(subject, encoding, header_name="Subject").encode()
    assert "\n" in folded
    (tmp_path / "a.eml").write_text(f"Subject: {folded}\n\nx\n")
    assert parsed(tmp_path / "a.eml", "eml").title == subject


def test_a_letter_between_two_encoded_words_is_whole(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_text("Subject: =?utf-8?Q?Gr=C3?=\n =?utf-8?Q?=BC=C3=9Fe?=\n\nx\n")
    assert parsed(tmp_path / "a.eml", "eml").title == "Gr\u00fc\u00dfe"


def test_words_declared_ascii_may_be_utf_8(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_text("Subject: =?us-ascii?Q?caf=C3=A9?=\n\nx\n")
    assert parsed(tmp_path / "a.eml", "eml").title == "caf\u00e9"


def test_folded_addresses_with_encoded_words_lose_no_message(tmp_path: Path) -> None:
    message = (
        "From x\nFrom: =?utf-8?Q?Andr=C3=A9?=\n <a@x>\nTo: =?utf-8?Q?Andr=C3=A9?= <a@x>,\n\tb@y\nSubject: s\n\nbody\n\n"
    )
    (tmp_path / "b.mbox").write_text("From x\n\nno header\n\n" + message * 2)
    found = list(parse(tmp_path / "b.mbox", "mbox"))
    assert [(one.name, one.text, one.values["author"]) for one in found] == [
        (name, "body", "Andr\u00e9 <a@x>") for name in ("#2", "#3")
    ]
    assert [one.notes.get("damaged messages of mailboxes, left out") for one in found] == [None, 1]


def test_alternatives_without_blanks_are_compared_by_letters(tmp_path: Path) -> None:
    for plain, html, expected in (
        ("\u8acb\u4f7f\u7528HTML", "\u4eca\u65e5\u306f" * 20, "\u4eca\u65e5\u306f" * 20),
        ("\u4eca\u65e5\u306f" * 10, "ACME Inc. Unsubscribe here", "\u4eca\u65e5\u306f" * 10),
        ("See https://example.org/" + "x" * 500, "word " * 20, ("word " * 20).strip()),
    ):
        message = EmailMessage()
        message.set_content(plain)
        message.add_alternative(f"<p>{html}</p>", subtype="html")
        (tmp_path / "a.eml").write_bytes(bytes(message))
        assert parsed(tmp_path / "a.eml", "eml").text == expected
