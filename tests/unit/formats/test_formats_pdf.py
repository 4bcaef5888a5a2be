"""PDF files: expected texts are written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from document_files import pdf_bytes
from longrank.errors import InputError
from longrank.formats.parsed import Parsed
from longrank.formats.parsed.child import parse
from longrank.formats.parsed.page_lines import repaired
from longrank.formats.parsed.pdf import cleaned


def parsed(path: Path) -> Parsed:
    (document,) = parse(path, "pdf")
    assert document.pages == sorted(document.pages)
    return document


def pages(document: Parsed) -> list[str]:
    ends = [*document.pages[1:], len(document.text)]
    return [document.text[start:end] for start, end in zip(document.pages, ends, strict=True)]


def mapped(lines: list[list[str]], letters: dict[str, str]) -> bytes:
    """Return a PDF file whose font names some of its glyphs as other letters, in hexadecimal digits."""
    pairs = " ".join(f"<{ord(glyph):02X}> <{code}>" for glyph, code in letters.items())
    cmap = f"1 begincodespacerange <00> <FF> endcodespacerange {len(letters)} beginbfchar {pairs} endbfchar"
    unicode = f"9 0 obj\n<< /Length {len(cmap)} >>\nstream\n{cmap}\nendstream\nendobj\nxref\n"
    written = pdf_bytes(lines).replace(b"/Helvetica", b"/Helvetica /ToUnicode 9 0 R")
    return written.replace(b"xref\n", unicode.encode(), 1)


def test_a_pdf_has_the_text_of_its_pages_and_their_places(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf_bytes([["Cats purr.", "They sleep."], [], ["Dogs bark."]], title="Animals"))
    document = parsed(path)
    assert document.title == "Animals"
    assert document.text == "Cats purr.\nThey sleep.\n\nDogs bark."
    assert pages(document) == ["Cats purr.\nThey sleep.\n", "\n", "Dogs bark."]
    assert document.notes["PDF pages without a text layer (--ocr reads only files without any text layer)"] == 1


def test_a_pdf_has_the_words_that_pypdf_reads(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    pypdf = pytest.importorskip("pypdf", reason="needs the extra dev")
    path = tmp_path / "a.pdf"
    path.write_bytes(
        pdf_bytes([[f"Line {line} {'abcde'[page]} of page {page}." for line in range(30)] for page in range(5)])
    )
    theirs = [page.extract_text().split() for page in pypdf.PdfReader(path).pages]
    assert [page.split() for page in pages(parsed(path))] == theirs


@pytest.mark.parametrize("drawn", ["1 0 0 1 72 720", "0 1 -1 0 300 72", "-1 0 0 -1 540 72", "0 -1 1 0 300 720"])
@pytest.mark.parametrize("shown", [0, 90, 180, 270])
def test_the_lines_of_a_pdf_are_in_order_wherever_they_run(drawn: str, shown: int, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    path, lines = tmp_path / "a.pdf", ["The lights were repaired", "and the fog signal", "was replaced in June."]
    written = pdf_bytes([lines]).replace(b"72 720 Td", f"{drawn} Tm".encode())
    path.write_bytes(written.replace(b"/MediaBox", f"/Rotate {shown} /MediaBox".encode()))
    assert parsed(path).text.split("\n") == lines


def test_a_pdf_without_text_or_with_a_password_says_so(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    pypdf = pytest.importorskip("pypdf", reason="needs the extra dev")
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf_bytes([[], []]))
    with pytest.raises(InputError, match=r"a\.pdf: has no text layer"):
        parsed(path)
    writer = pypdf.PdfWriter(clone_from=path)
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(path)
    with pytest.raises(InputError, match=r"a\.pdf: is encrypted: it needs a password"):
        parsed(path)


def test_running_headers_and_footers_are_left_out_but_for_the_first_and_the_first_page_keeps_its_title() -> None:
    texts = [
        f"{'Cats' if page % 2 else 'A Manual'}\nText {page * 'z'}\n{page * 'y'} 1 2\nPage {page} of 8"
        for page in range(1, 9)
    ]
    kept, removed, _ = repaired(["The Title\nby Ada", *texts, ""])
    bodies = [f"Text {page * 'z'}\n{page * 'y'} 1 2" for page in range(1, 9)]
    bodies[0], bodies[1] = f"Cats\n{bodies[0]}\nPage 1 of 8", f"A Manual\n{bodies[1]}"
    assert kept == ["The Title\nby Ada", *bodies, ""]
    assert removed == 13
    assert repaired(["Page 1", "Page 2", "Page 3"])[1] == 0  # pages do not become empty
    assert repaired([f"Text {page * 'z'}\nPage -{page}-" for page in range(1, 5)])[1] == 3  # no line inside a word
    assert repaired(["a\nx", "a\ny"])[:2] == (["a\nx", "a\ny"], 0)


def test_first_headers_stay_at_their_edge_in_their_order() -> None:
    texts = [f"A Manual\nPart {page}\nText {page * 'z'}\nAda\nDraft" for page in range(1, 6)]
    kept, removed, _ = repaired(texts)
    assert kept == [texts[0], *(f"Text {page * 'z'}" for page in range(2, 6))]
    assert removed == 16


def test_numbers_that_are_no_page_numbers_stay() -> None:
    invoices = [f"Invoice {48031 + page}\nA lamp\nTotal due: {1000 + 37 * page}" for page in range(12)]
    assert repaired(invoices) == (invoices, 0, 0)
    for number in ("Invoice No. 2024-{:03}", "Order 2024/{}", "Section 3.{}", "{}.5.2024", "Certificate {:04}"):
        numbered = [f"{number.format(page)}\nText {page * 'z'}" for page in range(1, 13)]
        assert repaired(numbered) == (numbered, 0, 0)
    of_twelve = [f"Text {page * 'z'}\nA Manual, {page}/12" for page in range(1, 13)]
    assert repaired(of_twelve)[1] == 11
    measured = [f"Table {page // 2}\nText {page * 'z'}\nRate {page % 3}" for page in range(1, 9)]
    assert repaired(measured)[:2] == (measured, 0)


def test_a_number_inside_a_word_is_no_page_number() -> None:
    pages = [f"R{number}\nrequirement {letter}" for number, letter in enumerate("abcdefgh", 1)]
    assert repaired(pages) == (pages, 0, 0)


def test_pages_that_hold_the_stamp_of_a_scan_alone_are_counted(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf_bytes([["Cats purr."], *([["Scanned by Ada", f"Page {page}"] for page in range(2, 6)])]))
    document = parsed(path)
    assert document.notes["PDF pages whose whole text is repeated on other pages, such as the stamp of a scan"] == 4


def test_words_are_joined_where_a_line_end_hyphenates_them() -> None:
    pages = ["An exam-\nple of long-\nterm use, semi-\nArid", "The long-term plan in re-\nentry; reentry."]
    assert repaired(pages)[0] == [
        "An example of long-term use, semi-Arid",
        "The long-term plan in reentry; reentry.",
    ]


@pytest.mark.parametrize(
    ("broken", "joined"),
    [
        ("COVID-\n19 in", "COVID-19 in"),
        ("T5-\nbase, 10-\n20", "T5-base, 10-20"),
        ("placebo-\ncontrolled or placebo-controlled", "placebo-controlled or placebo-controlled"),
        ("state-of-the-\nart, the-art", "state-of-the-art, the-art"),
        ("mother-in-\nlaw", "mother-in-law"),
        ("e-\nmail and X-\nray", "e-mail and X-ray"),
        ("DNA-\nbinding", "DNA-binding"),
        ("ELECTRO-\nMAGNETIC", "ELECTRO-MAGNETIC"),
        ("ELECTRO-\nMAGNETIC: electromagnetic", "ELECTROMAGNETIC: electromagnetic"),
        ("elec-\ntro-\nmagnetic", "electromagnetic"),
        ("pre-\nand post-war", "pre-\nand post-war"),
        ("thous-\nand, a thousand", "thousand, a thousand"),
        ("5 -\n7", "5 -\n7"),
        ("placebo-\ncontrolled or placebo\u2010controlled", "placebo-controlled or placebo\u2010controlled"),
        ("mother\u2010in-\nlaw", "mother\u2010in-law"),
    ],
)
def test_the_hyphen_of_a_word_stays_where_the_rule_says(broken: str, joined: str) -> None:
    assert repaired([broken])[0] == [joined]


def test_a_word_over_a_page_end_belongs_to_the_page_where_it_begins() -> None:
    assert repaired(["It is un-", "known, and\nso on", ""])[0] == ["It is unknown,", "and\nso on", ""]
    assert repaired(["un-", "known", "end"])[0] == ["unknown", "", "end"]
    for pages in (["See COVID-", "19"], ["un-", "Known"], ["un-", "", "known"], ["It is -", "known"]):
        assert repaired(pages)[0] == pages


@pytest.mark.parametrize("number", ["345", "- 345 -", "iv", "XII", "[17]", "3-12", "12.4", "7/26"])
def test_a_number_below_or_above_a_page_interrupts_no_word(number: str) -> None:
    assert repaired([f"It is un-\n{number}", "known, and\nso on"])[0] == [f"It is unknown,\n{number}", "and\nso on"]
    assert repaired(["It is un-", f"{number}\nknown, and\nso on"])[0] == ["It is unknown,", f"{number}\nand\nso on"]


def test_a_header_or_footer_that_stays_interrupts_no_word() -> None:
    sites = ["A Manual\nIt is un-\nwww.ada.org", "A Manual\nknown, and\nwww.ada.org"]
    assert repaired(sites) == (["A Manual\nIt is unknown,\nwww.ada.org", "A Manual\nand\nwww.ada.org"], 0, 0)
    ends = ["abc-\npage 1", "d efg-\npage 2", "h ijk-\npage 3", "l mno\npage 4"]
    assert repaired(ends) == (["abcd\npage 1", "efgh", "ijkl", "mno"], 3, 0)
    below = "This docu-\nment is for Ada."
    whole = [f"{page}\nThis document is for Ada." for page in ("A document", "ends here.")]
    assert repaired([f"A document\n{below}", f"ends here.\n{below}"])[0] == whole
    twice = ["ends, un-\nknown, and is un-", "known, and\nends", "ends, un-\nknown"]
    assert repaired(twice)[0] == ["ends, unknown, and is unknown,", "and\nends", "ends, unknown"]
    assert repaired(["See COVID-\n19", "known"])[0] == ["See COVID-19", "known"]
    assert repaired(["See carbon-\n14 dating", "known"])[0] == ["See carbon-14 dating", "known"]


@pytest.mark.parametrize("n_copies", [2, 3])
def test_a_broken_word_of_pages_that_stand_twice_is_joined(n_copies: int) -> None:
    over_page = ["The lessor grants an uninter-", "ruptible supply. Such deliveries\nare not made on holidays."]
    copies = [page for copy in range(n_copies) for page in (f"Copy {'abc'[copy]}\n{over_page[0]}", over_page[1])]
    words = " ".join(repaired(copies)[0]).split()
    assert [word for word in words if "upti" in word or "inter" in word] == ["uninterruptible"] * n_copies


def test_a_broken_word_of_a_footer_of_three_lines_is_joined() -> None:
    footer = (
        "It is for information and no recommenda-\ntion to buy or to sell. Supervised by\nthe authority, number 12345."
    )
    pages = repaired([f"Rivers {page}\nfreeze.\n{footer}" for page in "abcd"])[0]
    assert pages[0] == f"Rivers a\nfreeze.\n{footer}".replace("recommenda-\ntion", "recommendation")
    assert "tion" not in " ".join(pages).split()


def test_footnotes_interrupt_no_word_that_is_known() -> None:
    for note in ("1 See Ada, un-\nless", "1See Ada", "12. See Ada"):
        pages = [f"The unknown is un-\n{note}\n7", "known, and", "so on"]
        assert repaired(pages)[0] == [f"The unknown is unknown,\n{note}\n7".replace("un-\nl", "unl"), "and", "so on"]
    glued = ["An island with a reaf-\n6Largest islands", "firmed law"]
    assert repaired(glued)[0] == ["An island with a reaffirmed\n6Largest islands", "law"]
    assert repaired(["hyper-\n3D prints", "firmed"])[0] == ["hyper-3D prints", "firmed"]
    for number in ("65s", "2 years"):
        assert repaired([f"over-\n{number} and", "all, overall"])[0] == [f"over-{number} and", "all, overall"]
    assert repaired(["See Covid-\n19 Trials", "known, and"])[0] == ["See Covid-19 Trials", "known, and"]


def test_the_hyphens_of_a_pdf_at_line_ends_follow_the_rule(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    path = tmp_path / "a.pdf"
    lines = ["A COVID-", "19 trial, placebo-", "controlled, for multi-", "Centre use of exam-", "ples, 10-"]
    path.write_bytes(pdf_bytes([[*lines, "20. A placebo-controlled trial is un-"], ["known here."]]))
    document = parsed(path)
    assert pages(document) == [
        "A COVID-19 trial, placebo-controlled, for multi-Centre use of examples, 10-20. "
        "A placebo-controlled trial is unknown\n",
        "here.",
    ]


def test_a_hyphenated_pdf_is_joined_with_exact_places_of_pages(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    path = tmp_path / "a.pdf"
    path.write_bytes(
        pdf_bytes([["Manual", f"{'ples' if page > 1 else 'No'} {'x' * page} do exam-"] for page in range(1, 6)])
    )
    document = parsed(path)
    assert pages(document) == [
        "Manual\nNo x do examples\n", "xx do examples\n", "xxx do examples\n", "xxxx do examples\n", "xxxxx do exam-",
    ]  # fmt: skip
    assert document.notes["running headers and footers of PDF pages left out"] == 4


def test_the_values_of_forms_and_the_texts_of_annotations_end_their_page(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    path = tmp_path / "a.pdf"
    field = "/Subtype /Widget /FT /Tx /T (f{}) /V ({}) {}"
    shown = [
        field.format(1, "Ann\\rOf Ulm", ""),
        "/Subtype /Widget /FT /Ch /Ff 131072 /T (f2) /Opt [[(DE) (Germany)] [(FR) (France)]] /V (FR)",
        "/Subtype /FreeText /Contents (A free text) /DA (/Helv 12 Tf)",
        "/Subtype /Text /Contents (A note)",
    ]
    hidden = [
        field.format(3, "secret", "/Ff 8192"),
        field.format(4, "hidden", "/F 2"),
        "/Subtype /Popup /Contents (popup)",
        "/Subtype /Link /Contents (link)",
        "/Subtype /Widget /FT /Btn /T (f5) /V /Yes /AS /Yes",
    ]
    written = pdf_bytes([["Name, country"], ["Cats purr."]], annotations=[*shown, *hidden])
    path.write_bytes(written)
    document = parsed(path)
    assert pages(document) == ["Name, country\nAnn\nOf Ulm\nFrance\nA free text\nA note\n", "Cats purr."]
    assert path.read_bytes() == written
    assert not document.notes["PDF files whose form values are not read (XFA)"]


def test_the_values_of_an_xfa_form_are_counted(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    path = tmp_path / "a.pdf"
    field = "/Subtype /Widget /FT /Tx /T (f) /V (Ann)"
    path.write_bytes(pdf_bytes([["Name"]], annotations=[field], form="/XFA (<xdp/>)"))
    document = parsed(path)
    assert document.text == "Name"
    assert document.notes["PDF files whose form values are not read (XFA)"] == 1


def test_a_scan_with_a_note_is_still_a_scan(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf_bytes([[]], annotations=["/Subtype /Text /Contents (A note)"]))
    with pytest.raises(InputError, match="has no text layer"):
        parsed(path)


def test_lines_with_blanks_between_their_letters_are_counted(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    path = tmp_path / "a.pdf"
    path.write_bytes(
        pdf_bytes([["Q U A R T E R L Y r e p o r t 4 0", "A B C", "1 2 3 4 5 6 7", "I am a cat in a hat"]])
    )
    assert [count for note, count in parsed(path).notes.items() if "R E P O R T" in note] == [1]


class Drawn:
    """A text layer of letters of width 10; ``_`` in `text` stands for a blank that PDFium makes within a word."""

    def __init__(self, text: str, letters: float, within: float, between: float) -> None:
        self.text, self.starts, at = text.replace("_", " "), list[float](), 0.0
        for letter, following in zip(text, f"{text[1:]} ", strict=True):
            self.starts.append(at)
            if letter.isspace() or letter == "_":
                at += within if letter == "_" else between
            else:
                at += 10 + letters * (following not in "_ \r")

    def get_charbox(self, place: int, loose: bool) -> tuple[float, float, float, float]:
        return self.starts[place], 0.0, self.starts[place] + 10, 12.0


BROKEN = "A fi_rst hi_ve ne_e_ds li_ttle room, ti_ll i_t i_s full\r\nof woods and their tre_es, and hill_s"


@pytest.mark.parametrize(
    ("gaps", "made", "whole"),
    [
        ((1.2, 1.5, 5), 1, True),
        ((1.2, 1.5, 2.9), 1, False),  # words are hardly wider apart than letters
        ((0.1, 1.5, 5), 1, False),  # as in most fonts: the small gaps are blanks
        ((1.2, 1.5, 5), 0, False),  # the file has blanks
    ],
)
def test_words_whose_letters_are_set_apart_are_put_together(
    gaps: tuple[float, float, float], made: int, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    from longrank.formats.parsed import letters_apart

    layer = Drawn(BROKEN, *gaps)
    monkeypatch.setattr(letters_apart, "origin", lambda layer, place: (layer.starts[place], 0.0))
    monkeypatch.setattr("pypdfium2.raw.FPDFText_IsGenerated", lambda layer, place: made)
    marked = letters_apart.marked(layer, layer.text, int)
    assert marked.replace("\uffff", "") == (BROKEN.replace("_", "") if whole else layer.text)
    for row in ("ok_no ok_no no no_ok no", "7_7 of 12_3 of us to"):
        cells = Drawn(row, 1.2, 1.5, 5)
        assert letters_apart.marked(cells, cells.text, int) == cells.text


def test_rows_of_a_table_with_narrow_blanks_keep_their_words_apart(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf_bytes([[") Tj [(a) -250 (b) -250 (c) -900 (d) -250 (e) -2900 (f) -250 (g)] TJ ("]]))
    assert parsed(path).text == "a b c d e f g"


def test_pages_whose_fonts_do_not_tell_their_letters_are_counted(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    path = tmp_path / "a.pdf"
    font = b"/Subtype /Type0 /BaseFont /X /Encoding /Identity-H /DescendantFonts [<< /Type /Font /Subtype /CIDFontType2"
    info = b" /BaseFont /X /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>]"
    written = pdf_bytes([["lights"]]).replace(b"/Subtype /Type1 /BaseFont /Helvetica", font + info)
    path.write_bytes(written.replace(b"(lights)", b"<002A002B002C002D002E002F>"))
    notes = [note for note, count in parsed(path).notes.items() if count]
    assert notes == ["PDF pages whose fonts do not tell their letters, read as other letters"]


@pytest.mark.parametrize(
    ("line", "n"),
    [
        ("M -1947", 1),
        ("MMMMMMMM ABC-12", 1),
        ("MMMMMMMMMMMM New York", 1),
        ("MMM 1947", 0),
        ("MMM 12.5 (7)", 0),
        ("The word M of 1947-48", 0),
    ],
)
def test_lines_from_right_to_left_with_parts_from_left_to_right_are_counted(line: str, n: int, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    path = tmp_path / "a.pdf"
    path.write_bytes(mapped([[line]], {"M": "05D0"}))
    assert sum(count for note, count in parsed(path).notes.items() if "from right to left" in note) == n


@pytest.mark.parametrize("title", ["untitled", "Untitled"])
def test_the_default_title_of_pdf_writers_is_no_title(title: str, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf_bytes([["Cats purr."]], title=title))
    assert parsed(path).title == ""


def test_only_soft_hyphens_that_a_page_shows_are_hyphens(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    path = tmp_path / "a.pdf"
    soft = [["A well-known boMat with an iMsland."]]  # the glyph of M is as large as a letter
    path.write_bytes(mapped(soft, {"-": "00AD", "M": "00AD"}))
    assert parsed(path).text == "A well-known boat with an island."


def test_a_hyphen_that_stands_apart_at_a_line_end_breaks_a_word_and_a_dash_does_not(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    path = tmp_path / "a.pdf"
    justified = ["It is implaca) Tj [-250 (-)] TJ (", "bly cold -", "here, and re) Tj [-250 (-)] TJ ("]
    no_blanks = ["Call) Tj [-400 (debmake) -400 (-)] TJ (", "t"]  # as TeX sets them
    path.write_bytes(pdf_bytes([justified, ["called.", *no_blanks]]))
    assert parsed(path).text == "It is implacably cold -\nhere, and recalled.\nCall debmake -\nt"


def test_a_hyphen_that_is_a_cell_breaks_no_word(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    path = tmp_path / "a.pdf"
    rows = ["income tax) Tj [-900 (-)] TJ (", "property tax) Tj [-900 (120)] TJ (", "rent) Tj [-900 (-)] TJ (", "a b"]
    path.write_bytes(pdf_bytes([rows]))
    assert parsed(path).text == "income tax -\nproperty tax 120\nrent -\na b"


def raised(text: str, size: float = 7, rise: float = 4) -> str:
    """Raise a text of a line in the middle of it."""
    return f") Tj /F1 {size} Tf {rise} Ts ({text}) Tj /F1 12 Tf 0 Ts ("


@pytest.mark.parametrize(
    ("drawn", "words"),
    [
        (f"Harbours{raised('1')}, and boats.{raised('23')}", "Harbours 1 , and boats. 23"),
        (f'a "ship"{raised("4")} sails', 'a "ship" 4 sails'),
        (f"{raised('5')}See", "5See"),  # the footnote itself
        (f"25 km{raised('2')} and 10{raised('6')}", "25 km2 and 106"),
        (f"carbon{raised('12', rise=-3)} and Route{raised('66', size=12)} of Area51", "carbon12 and Route66 of Area51"),
        (f"the ninth{raised('9th')}", "the ninth9th"),
    ],
)
def test_numbers_of_footnotes_separate_words(drawn: str, words: str, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    (tmp_path / "a.pdf").write_bytes(pdf_bytes([[drawn, "The end of the page."]]))
    assert " ".join(parsed(tmp_path / "a.pdf").text.split()) == f"{words} The end of the page."


def test_a_line_goes_on_where_the_next_character_follows_on_its_baseline(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    path = tmp_path / "a.pdf"
    lines = [
        "The e) Tj (f) Tj (fort",
        "Cats) Tj 480 0 Td (at) Tj (7) Tj -480 0 Td (",  # words far apart in short lines: PDFium sees vertical text
        "Uni) Tj (f) Tj (low",
        "1) Tj 8 0 Td (2) Tj 60 0 Td (3) Tj -68 0 Td (",
    ]
    path.write_bytes(pdf_bytes([lines]))
    assert parsed(path).text == "The effort\nCats at7\nUniflow\n1 2\n3"


@pytest.mark.parametrize(
    ("glyphs", "text"),
    [
        ("EDCBA", "\u0645\u0631\u062d\u0628\u0627"),  # from left to right: PDFium reverses them
        (") Tj [(A) 1400 (B) 1400 (C) 1400 (D) 1400 (E)] TJ (", "\u0645\u0631\u062d\u0628\u0627"),
        ("LC", "\u062d\u0644\u0627"),
        (") Tj [(C) 1300 (L)] TJ (", "\u062d\u0644\u0627"),
        ("IH", "\u05e9\u05dc"),
    ],
)
def test_the_letters_of_arabic_and_hebrew_words_are_in_the_order_of_reading(
    glyphs: str, text: str, tmp_path: Path
) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    path = tmp_path / "a.pdf"
    letters = {"A": "0645", "B": "0631", "C": "062D", "D": "0628", "E": "0627", "H": "05E9", "I": "05DC"}
    path.write_bytes(mapped([[glyphs, "12"]], {**letters, "L": "06440627"}))
    assert parsed(path).text == f"{text}\n12"


def test_words_with_vowel_signs_are_counted(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    path = tmp_path / "a.pdf"
    path.write_bytes(mapped([["AB AC cats"]], {"A": "05E9", "B": "05DC", "C": "05B8"}))
    assert [count for note, count in parsed(path).notes.items() if "vowel signs" in note] == [1]


def test_the_text_of_a_pdf_page_has_composed_letters_and_hyphens_for_the_marks_of_a_line_end() -> None:
    for marked, text in [
        ("exam\ufffeple", "exam-\nple"),
        ("exam\ufffe\r\nple", "exam-\nple"),
        ("10\xad \r\n20", "10-\n20"),
        ("un\xad", "un-"),
        ("exam\u2010\r\nple un\u2011", "exam-\nple un-"),
        ("creat\u2010\r\nor and thous\u2010\r\nand, pre-\r\nand", "creator and thousand, pre-\nand"),
        ("well\u2010known, pre\u2010\r\nand post\u2010war", "well\u2010known, pre-\nand post\u2010war"),
        ("well\u2010known e\u2011mail", "well\u2010known e\u2011mail"),
        ("COVID\xad19, pre\xad and", "COVID-19, pre- and"),
        ("\ufffe Cats\x01\ufffe", "Cats"),
    ]:
        assert cleaned(marked) == text
    assert cleaned(" Mu\u0308ller\r\n") == "M\xfcller"
