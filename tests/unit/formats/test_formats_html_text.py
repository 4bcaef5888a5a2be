"""HTML in e-books and mail."""

from __future__ import annotations

import pytest

from longrank.formats.parsed import Parsed
from longrank.formats.parsed.html_text import add_html
from longrank.formats.parsed.writer import TextWriter


def parsed(markup: str) -> Parsed:
    writer = TextWriter()
    title = add_html(markup, writer)
    return writer.parsed(title)


FORMULA = "<math><semantics><mi>x</mi><mo>=</mo><mn>2</mn>{}</semantics></math>"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (f"where {FORMULA.format('')} holds", "where x=2 holds"),
        (f"where {FORMULA.format('<annotation>x over 2</annotation>')} holds", "where x=2 holds"),
        (
            f"where {FORMULA.format('<annotation-xml><apply><ci>x</ci></apply></annotation-xml>')} holds",
            "where x=2 holds",
        ),
        (f"{FORMULA.format('<annotation>')} holds", "x=2 holds"),
        ("<math><mtable><mtr><mtd>1</mtd><mtd>2</mtd></mtr></mtable></math>", "1\t2"),
        ("a<svg><title>no</title><desc>no</desc><text>one</text><path/></svg>b", "a\n\none\n\nb"),
        ("<svg><svg><text>a</text></svg><text>b</text></svg>c", "a\n\nb\n\nc"),
        ("<svg><foreignObject><p>label</p></foreignObject></svg>b", "label\n\nb"),
        ("<svg><text>one</svg>b<text>c</text>", "one\n\nb\n\nc"),
        ("<nav><svg><text>menu</text></svg></nav>b", "b"),
        ("<svg>a<p>b", "a\n\nb"),
        ("<ruby><rb>a</rb>b</ruby><nobr>c</nobr>", "abc"),
        ("<st1:City><st1:place>Lon</st1:place>don</st1:City>,<o:p></o:p> x<o:p>&nbsp;</o:p>", "London, x"),
        ("a<!-->b<!---><b>c</b><!--d-->e<!-- f --->g", "abceg"),
        ("a <!--[if !mso]><!--><b>shown</b><!--<![endif]--> b<!--[if mso]>hidden<![endif]--> c", "a shown b c"),
        ("a<!-- b <!--->c<!-->d", "acd"),
        ("a <!-- b <i>c</i> <!-- d", "a <!-- b c <!-- d"),
        ("a<script>if (x<!--y) z()</script>b<!--->c<!-- d -->", "abc"),
        ("a <![CDATA[b <!-- c]]> d<!-- e -->", "a b <!-- c d"),
        ("a<STYLE><!-- p {} </STYLE>b<!-->c<!-- d -->", "abc"),
    ],
)
def test_text_of_formulas_and_drawings_is_kept(markup: str, text: str) -> None:
    document = parsed(f"<title>t</title><p>{markup}")
    assert document.text == text
    assert document.title == "t"


@pytest.mark.parametrize(
    ("markup", "headings"),
    [
        ("<h2><div>Cats</div></h2>purr", ["Cats"]),
        ("<h2><br><button>Cats</button></h2>purr", ["Cats"]),
        ("<h2>Cats<p>purr</h2>", ["Cats"]),
        ("<h2></h2>purr<h3>&nbsp;Dogs<br>bark</h3>", ["Dogs\nbark"]),
    ],
)
def test_a_heading_is_its_first_paragraph(markup: str, headings: list[str]) -> None:
    document = parsed(markup)
    assert [document.text[start:end] for start, end, _ in document.headings] == headings
