"""Office files: headings, footers and properties as their programs write them; expected texts are written by hand."""

from __future__ import annotations

import time
import zipfile
from pathlib import Path

import pytest

from document_files import docx, odt, paragraph, pptx, zipped
from longrank.formats.parsed import Parsed
from longrank.formats.parsed.child import parse


def parsed(path: Path, format: str) -> Parsed:
    (document,) = parse(path, format)
    return document


def headings(document: Parsed) -> list[tuple[int, str]]:
    return [(level, document.text[start:end]) for start, end, level in document.headings]


def with_parts(path: Path, parts: dict[str, str]) -> Path:
    """Replace parts of a container, or add them."""
    with zipfile.ZipFile(path) as archive:
        usual = {part: archive.read(part) for part in archive.namelist()}
    return zipped(path, {**usual, **parts})


def test_properties_are_found_by_their_relation(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    word, show = docx(tmp_path / "a.docx", paragraph("Cats")), pptx(tmp_path / "a.pptx", [("", "purr")])
    kind = "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties"
    related = f'<Relationships><Relationship Id="r1" Type="{kind}" Target="/package/a.psmdcp"/></Relationships>'
    values = (
        '<c xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>On cats</dc:title><dc:creator>Eve</dc:creator></c>'
    )
    for path in (word, show):
        with_parts(path, {"_rels/.rels": related, "package/a.psmdcp": values})
        document = parsed(path, path.suffix[1:])
        assert (document.title, document.values) == ("On cats", {"author": "Eve"})


def test_a_word_file_may_say_that_a_paragraph_or_a_style_is_no_heading(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    text = '<w:pPr><w:outlineLvl w:val="9"/></w:pPr>'
    styles = (
        '<s xmlns:w="w"><w:style w:styleId="H"><w:name w:val="heading 1"/></w:style>'
        f'<w:style w:styleId="TOC"><w:name w:val="TOC Heading"/><w:basedOn w:val="H"/>{text}</w:style>'
        '<w:style w:styleId="Mine"><w:name w:val="Mine"/><w:basedOn w:val="TOC"/></w:style></s>'
    )
    own = '<w:p><w:pPr><w:pStyle w:val="H"/><w:outlineLvl w:val="9"/></w:pPr><w:r><w:t>d</w:t></w:r></w:p>'
    body = paragraph("a", "TOC") + paragraph("b", "Mine") + paragraph("c", "H") + own
    document = parsed(docx(tmp_path / "a.docx", body, **{"word/styles.xml": styles}), "docx")
    assert document.text == "a\n\nb\n\nc\n\nd"
    assert (document.title, headings(document)) == ("c", [(1, "c")])


def test_a_tab_to_a_place_on_the_page_is_a_tab(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    body = '<w:p><w:r><w:t>Ada</w:t><w:ptab w:alignment="center"/><w:t>Secret</w:t></w:r></w:p>'
    assert parsed(docx(tmp_path / "a.docx", body), "docx").text == "Ada\tSecret"


def test_line_ends_in_the_title_of_a_chart_are_kept(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    chart = (
        "<c:c xmlns:c='c' xmlns:a='a'><a:p><a:r><a:t>Sales</a:t></a:r><a:br/><a:r><a:t>forecast</a:t></a:r></a:p></c:c>"
    )
    related = '<Rs><R Id="r1" Type="x/chart" Target="chart.xml"/></Rs>'
    parts = {"word/_rels/document.xml.rels": related, "word/chart.xml": chart}
    assert parsed(docx(tmp_path / "a.docx", paragraph("text"), **parts), "docx").text == "text\n\nSales\nforecast"


def test_a_note_of_an_opendocument_heading_follows_the_heading(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    note = "<text:note><text:note-citation>1</text:note-citation><text:note-body>{}</text:note-body></text:note>".format
    body = (
        f'<text:h text:outline-level="1">River{note("<text:p>By the council.</text:p>")} survey'
        f"<text:span>{note('<text:p>In 2020.</text:p>')}</text:span></text:h><text:p>Body.</text:p>"
    )
    document = parsed(odt(tmp_path / "a.odt", body), "odt")
    assert document.text == "River survey\n\nBy the council.\n\nIn 2020.\n\nBody."
    assert (document.title, headings(document)) == ("River survey", [(1, "River survey")])


def test_a_paragraph_in_the_style_title_of_an_opendocument_text_is_its_title(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    style = (
        '<style:style xmlns:style="s" style:name="{}" style:parent-style-name="{}" style:family="paragraph"/>'.format
    )
    styles = f"<s>{style('Mine', 'Title')}{style('Loop', 'Loop')}{style('P2', 'Mine')}</s>"
    body = f"<a>{style('P1', 'Mine')}{style('P2', 'Standard')}</a>" + "".join(
        f'<text:p text:style-name="{name}">{name}</text:p>' for name in ("P2", "Loop", "P1", "Title", "Subtitle")
    )
    document = parsed(odt(tmp_path / "a.odt", body, **{"styles.xml": styles}), "odt")
    assert (document.title, headings(document)) == ("P1", [(1, "P1"), (1, "Title")])


def test_a_long_chain_of_styles_of_an_opendocument_text_is_followed_in_one_pass(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    chain = "".join(
        f'<style:style xmlns:style="s" style:name="S{number + 1}" style:parent-style-name="S{number}" '
        'style:family="paragraph"/>'
        for number in range(20_000)
    ).replace('"S0"', '"Title"')
    path = odt(tmp_path / "a.odt", f'<a>{chain}</a><text:p text:style-name="S20000">Cats</text:p>')
    start = time.process_time()
    assert parsed(path, "odt").title == "Cats"
    assert time.process_time() - start < 10  # a pass for each style takes much longer


def test_each_footer_and_fixed_date_of_slides_is_kept_once_without_numbers_and_dates_of_today(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    shape = '<p:sp><p:nvPr><p:ph type="{}"/></p:nvPr><a:p>{}</a:p></p:sp>'.format
    run, field = "<a:r><a:t>{}</a:t></a:r>".format, '<a:fld type="{}"><a:t>{}</a:t></a:fld>'.format
    path = pptx(tmp_path / "a.pptx", [("Cats", "purr"), ("Dogs", "bark"), ("Birds", "sing")])
    parts = {}
    with zipfile.ZipFile(path) as archive:
        for number, date in enumerate((run("May 2024"), field("datetime1", "6/1/24"), run("June 2024"))):
            name = f"ppt/slides/s{number}.xml"
            footer = shape("ftr", run("Acme ") + field("slidenum", number))
            slide = archive.read(name).decode()
            parts[name] = slide.replace("</p:sld>", f"{footer}{shape('dt', date)}</p:sld>")
    document = parsed(with_parts(path, parts), "pptx")
    ends = [*document.pages[1:], len(document.text)]
    words = [document.text[start:end].split() for start, end in zip(document.pages, ends, strict=True)]
    assert words == [
        ["Cats", "purr", "Acme", "May", "2024"],
        ["Dogs", "bark"],
        ["Birds", "sing", "June", "2024"],
    ]
