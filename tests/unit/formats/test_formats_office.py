"""Office files: headings, footers and properties as their programs write them; expected texts are written by hand."""

from __future__ import annotations

import time
import zipfile
from pathlib import Path

import pytest

from document_files import docx, odt, paragraph, pptx, zipped
from growth import assert_linear_time
from longrank.formats.parsed import Parsed
from longrank.formats.parsed.child import parse
from longrank.formats.parsed.symbol_fonts import symbol


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


def run(text: str, properties: str = "") -> str:
    return f"<w:r>{properties and f'<w:rPr>{properties}</w:rPr>'}<w:t>{text}</w:t></w:r>"


def field(code: str, result: str) -> str:
    mark = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
    return mark.format("begin") + code + mark.format("separate") + result + mark.format("end")


RUBY = "<w:r><w:ruby><w:rubyPr/><w:rt>{}</w:rt><w:rubyBase>{}</w:rubyBase></w:ruby></w:r>"
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
RAISED = '<w:vertAlign w:val="superscript"/>'
LIST = (
    '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList>{}<w:listEntry w:val="pear"/>'
    '<w:listEntry w:val="apple"/></w:ddList></w:ffData></w:fldChar></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
)
BEGIN, END = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "end"))
CODE = "<w:r><w:instrText>{}</w:instrText></w:r>"


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        (run("10 ") + '<w:r><w:sym w:font="Symbol" w:char="F06D"/></w:r>' + run("g"), "10 μg"),
        ('<w:r><w:sym w:font="Symbol" w:char="00A3"/><w:sym w:font="Wingdings" w:char="F0FE"/></w:r>', "≤☑"),
        ('<w:r><w:sym w:font="Webdings" w:char="F021"/><w:sym w:font="Arial" w:char="00E9"/></w:r>', "\ufffdé"),
        ('<w:r><w:sym w:font="Symbol" w:char="zz"/></w:r>', "\ufffd"),
        (run("\uf062-carotene", '<w:rFonts w:ascii="Symbol"/>') + run(" \uf062"), "β-carotene \uf062"),
        (field(CODE.format("IF ") + field(CODE.format("MERGEFIELD x"), run("no")), run("yes")) + run("."), "yes."),
        (run("a") + '<w:r><w:fldChar w:fldCharType="end"/></w:r>' + run("b"), "ab"),
        (LIST.format('<w:result w:val="1"/>') + run("s"), "apples"),
        (LIST.format("") + run("s"), "pears"),
        (LIST.format("").replace('"end"', '"separate"') + run("apple") + END + run("s"), "apples"),
        (LIST.format("").replace('"end"', '"separate"') + END + run("s"), "pears"),
        (run("a ") + field(CODE.format("IF "), run("yes")) + BEGIN + run(" tail"), "a yes tail"),
        (run("harbou") + run("rs") + run(",") + run("4", RAISED), "harbours, 4"),
        (LIST.format('<w:result w:val="9"/>') + run("s"), "s"),
        (
            RUBY.format(run("とう"), run("東")) + RUBY.format(run("きょう"), run("京")) + run("大学"),
            "東京(とうきょう)大学",
        ),
        (RUBY.format(run("hàn"), run("漢")), "漢(hàn)"),
        (run("The harbours") + run("1,2", RAISED) + run(" of 5 km") + run("2", RAISED), "The harbours 1,2 of 5 km2"),
        (run("traded.") + run("3", RAISED) + run("at the 19") + run("th", RAISED), "traded. 3at the 19th"),
    ],
)
def test_symbols_fields_and_readings_are_read_as_they_are_shown(runs: str, text: str, tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    assert parsed(docx(tmp_path / "a.docx", f"<w:p>{runs}</w:p>"), "docx").text == text


def test_numbers_raised_by_a_style_or_a_position_separate_words_in_word_files(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    styles = f'<w:styles {W}><w:style w:type="character" w:styleId="Note"><w:rPr>{RAISED}</w:rPr></w:style></w:styles>'
    styled, higher, lower = '<w:rStyle w:val="Note"/>', '<w:position w:val="6"/>', '<w:position w:val="-6"/>'
    level = '<w:vertAlign w:val="baseline"/>'
    runs = [("1", styled), (" of the harbours", ""), ("2", higher), (" of Delft", ""), ("3", lower)]
    runs += [(" and Gouda", ""), ("4", styled + level), (" and Paris", ""), ("5", '<w:position w:val="0"/>')]
    body = f"<w:p>{run('The houses')}{''.join(run(*each) for each in runs)}</w:p>"
    path = docx(tmp_path / "a.docx", body, **{"word/styles.xml": styles})
    assert parsed(path, "docx").text == "The houses 1 of the harbours 2 of Delft3 and Gouda4 and Paris5"


def test_each_code_of_the_font_symbol_has_a_sign_of_its_own() -> None:
    signs = [symbol("Symbol", f"F0{code:02X}") for code in (*range(0x20, 0x7F), *range(0xA0, 0xFF))]
    assert [sign for sign in signs if signs.count(sign) > 1] == [*"®©™", *"®©™"]  # with serifs and without
    assert "".join(signs[0x41:0x5B]) == "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"


def math(content: str) -> str:
    return f'<m:oMath xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">{content}</m:oMath>'


def part(name: str, *contents: str) -> str:
    return "".join(f"<m:{name}>{content}</m:{name}>" for content in contents)


A, B, SUM = (f"<m:r><m:t>{text}</m:t></m:r>" for text in ("a", "b", "a+b"))
HALF = part("f", part("num", "<m:r><m:t>1</m:t></m:r>") + part("den", "<m:r><m:t>2</m:t></m:r>"))


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (HALF, "1/2"),
        ("<m:r><m:t>x2</m:t></m:r>" + HALF + A + HALF, "x2 1/2a1/2"),
        (part("f", part("num", SUM) + part("den", HALF)), "(a+b)/(1/2)"),
        (part("f", part("num", A) + part("den", "<m:r><m:t>2a</m:t></m:r>")), "a/(2a)"),
        (part("f", part("num", part("d", part("e", SUM))) + part("den", B)), "(a+b)/b"),
        (part("f", '<m:fPr><m:type m:val="noBar"/></m:fPr>' + part("num", A) + part("den", B)), "a b"),
        (part("d", part("e", A, B)), "(a|b)"),
        (
            part(
                "d", '<m:dPr><m:begChr m:val="["/><m:sepChr m:val=","/><m:endChr m:val=""/></m:dPr>' + part("e", A, B)
            ),
            "[a,b",
        ),
        (part("func", part("fName", "<m:r><m:t>log</m:t></m:r>") + part("e", A)), "log a"),
        (part("f", part("num", A) + part("den", part("rad", "<m:deg/>" + part("e", B)))), "a/(√b)"),
        (part("rad", "<m:radPr/><m:deg/>" + part("e", SUM)), "√(a+b)"),
        (part("nary", '<m:naryPr><m:chr m:val="∑"/></m:naryPr>' + part("sub", A) + part("e", B)), "∑a b"),
        (part("m", part("mr", part("e", A, B), part("e", B, A))), "a b; b a"),
        (part("sSup", part("e", A) + part("sup", B)), "ab"),
    ],
)
def test_formulas_have_their_bars_and_brackets(formula: str, text: str, tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    body = f"<w:p>{run('is ')}{math(formula)}{run(' now')}</w:p>"
    assert parsed(docx(tmp_path / "a.docx", body), "docx").text == f"is {text} now"
    slides = pptx(tmp_path / "a.pptx", [("", f"is </a:t></a:r>{math(formula)}<a:r><a:t> now")])
    assert parsed(slides, "pptx").text == f"is {text} now"


def test_raised_numbers_of_slides_separate_words(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    raised = '</a:t></a:r><a:r><a:rPr baseline="30000"/><a:t>{}</a:t></a:r><a:r><a:rPr baseline="0"/><a:t>'
    text = (
        f"The harbours{raised.format(1)} of 5 km{raised.format(2)} and CO{raised.format(3).replace('30000', '-25000')}"
    )
    slides = pptx(tmp_path / "a.pptx", [("", text)])
    assert parsed(slides, "pptx").text == "The harbours 1 of 5 km2 and CO3"


def test_deeply_nested_formulas_take_linear_time(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")

    def nested(depth: int) -> str:
        return "<m:f><m:num>" * depth + A + f"</m:num><m:den>{B}</m:den></m:f>" * depth

    def n_bars(formula: str) -> int:
        return parsed(docx(tmp_path / "a.docx", f"<w:p>{math(formula)}</w:p>"), "docx").text.count("/b")

    assert n_bars(nested(20_000)) == 20_000
    assert_linear_time(n_bars, nested, 20_000, time.monotonic)


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


def test_readings_of_an_opendocument_text_stand_behind_the_word_and_objects_are_counted(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    ruby = "<text:ruby><text:ruby-base>東京</text:ruby-base><text:ruby-text>とうきょう</text:ruby-text></text:ruby>"
    document = parsed(odt(tmp_path / "a.odt", f"<text:p>in {ruby}大学<text:object-ole/></text:p>"), "odt")
    assert document.text == "in 東京(とうきょう)大学"
    assert document.notes["charts and other objects of OpenDocument texts, left out"] == 1


def test_raised_numbers_of_an_opendocument_text_separate_words(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    positions = {"Super": "super 58%", "Higher": "33% 58%", "Sub": "sub 58%", "Lower": "-33% 58%", "Level": "0% 100%"}
    style = '<style:style xmlns:style="s" style:family="text" style:name="{}"{}</style:style>'.format
    styles = "".join(
        style(name, f'><style:text-properties style:text-position="{position}"/>')
        for name, position in positions.items()
    )
    styles += style("T1", ' style:parent-style-name="Super">')
    level = '<style:text-properties style:text-position="0% 100%"/>'
    styles += style("T2", f' style:parent-style-name="Super">{level}')
    names = ("T2", "Super", "Higher", "Sub", "Lower", "Level", "T1", "Unknown")
    body = "".join(f'<text:p>harbours<text:span text:style-name="{n}">1</text:span></text:p>' for n in names)
    body += '<text:p>5 km<text:span text:style-name="Super">2</text:span></text:p>'
    document = parsed(odt(tmp_path / "a.odt", f"<a>{styles}</a>{body}"), "odt")
    assert document.text.split("\n\n") == ["harbours1"] + ["harbours 1"] * 2 + ["harbours1"] * 3 + [
        "harbours 1",
        "harbours1",
        "5 km2",
    ]


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

    def chained(n: int) -> Path:
        chain = "".join(
            f'<style:style xmlns:style="s" style:name="S{number + 1}" style:parent-style-name="S{number}" '
            'style:family="paragraph"/>'
            for number in range(n)
        ).replace('"S0"', '"Title"')
        return odt(tmp_path / "a.odt", f'<a>{chain}</a><text:p text:style-name="S{n}">Cats</text:p>')

    assert parsed(chained(20_000), "odt").title == "Cats"
    assert_linear_time(lambda path: parsed(path, "odt"), chained, 20_000, time.monotonic)


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
