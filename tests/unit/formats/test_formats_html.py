from __future__ import annotations

import re
import sys
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from random import Random

import pytest

from growth import assert_linear_time
from longrank.collections.documents import locate_documents
from longrank.errors import InputError, MissingExtra
from longrank.formats.html_pages import Page, read_page
from longrank.formats.lines import TextOptions
from longrank.formats.parsed import encodings
from longrank.formats.parsed.html_text import add_html
from longrank.formats.parsed.writer import TextWriter
from longrank.formats.records import CorpusOptions
from longrank.types import Document, Notes

PAGE = """<!DOCTYPE html>
<html><head><title> Dogs &amp;
 cats </title><style>p { color: red }</style></head>
<body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/about">About us</a></li></ul></nav>
<main><h1>Of dogs</h1><p>Dogs <b>ba</b>rk at  the
moon.</p><script>bark()</script><p>Cats do not.</p><img src="x.png" alt="not text"></main>
<footer><a href="/legal">Legal notice</a></footer>
</body></html>
"""


@pytest.fixture(autouse=True)
def _html_extra() -> None:
    pytest.importorskip("resiliparse", reason="needs the extra html")


def read(folder: Path, content: bytes | str, notes: Notes | None = None, text: TextOptions | None = None) -> Document:
    (folder / "page.html").write_bytes(content.encode() if isinstance(content, str) else content)
    options = CorpusOptions(text=text or TextOptions())
    [one] = locate_documents([str(folder)], Notes() if notes is None else notes, options)
    return one.document


def page(markup: str, notes: Notes | None = None, *, navigation: bool = False) -> Page:
    return read_page(markup, "page.html", Notes() if notes is None else notes, navigation=navigation)


def test_title_and_text_without_navigation_and_scripts(tmp_path: Path) -> None:
    document = read(tmp_path, PAGE)
    text = "Of dogs\n\nDogs bark at the moon.\n\nCats do not.\n\nLegal notice"
    assert document == Document("page.html", "Dogs & cats", text)
    assert document.headings == ((0, 7, 1),)
    assert document.metadata["source"] == "page.html"


@pytest.mark.parametrize(
    ("markup", "text"),
    [("<nav><a href='/'>Home</a></nav>", "Home"), ("<nav><a href='/'>Home</a><p>Dogs bark.", "Home\n\nDogs bark.")],
)
def test_a_page_of_navigation_alone_or_with_nav_not_closed_is_read_whole_and_counted(markup: str, text: str) -> None:
    notes = Notes()
    assert page(markup, notes).text == text
    assert notes["pages of navigation alone, or whose <nav> is not closed, read whole"] == 1


def test_pages_of_trec_web_keep_their_navigation() -> None:
    markup = "<nav>Home</nav><div role=search>Find</div>Dogs"
    assert page(markup, navigation=True).text == "Home\nFind\nDogs"
    assert page(markup).text == "Dogs"


@pytest.mark.parametrize("name", ["related-work", "search", "menu", "legal", "copyright", "recommended", "sidebar"])
@pytest.mark.parametrize("element", ["section", "div", "aside", "header", "footer"])
def test_ids_and_classes_decide_nothing(name: str, element: str) -> None:
    markup = f"<p>Before.<{element} id={name} class={name}><h2>Work</h2><p>Words</{element}><p>After."
    assert page(markup).text.split() == ["Before.", "Work", "Words", "After."]


BLOCKS = (
    "address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer form h1"
    " h2 h3 h4 h5 h6 header hgroup legend li listing main menu ol p pre section select summary textarea ul iframe"
    " noframes label button object video audio"
)
INLINE = (
    "a abbr acronym b bdi bdo big canvas cite code data del dfn em font i ins kbd mark noscript output q s samp small"
    " span strike strong sub sup time tt u var custom-element"
)


@pytest.mark.parametrize("name", BLOCKS.split())
@pytest.mark.parametrize("case", [str.lower, str.upper])
def test_elements_that_show_apart_separate_words(name: str, case: Callable[[str], str]) -> None:
    inside = f"<{case(name)} class=x>one</{case(name)}>"
    assert page(f"before{inside}{inside}after").text.split() == ["before", "one", "one", "after"]


@pytest.mark.parametrize("name", INLINE.split())
def test_elements_inside_words_separate_none(name: str) -> None:
    assert page(f"<p>be<{name}>fo</{name}>re").text == "before"


def in_page(markup: str) -> str:
    return read_page(markup, "", Notes(), navigation=False).text


def in_book(markup: str) -> str:
    writer = TextWriter()
    add_html(markup, writer)
    return writer.parsed("").text


NOTED = [
    '<a href="#fn1" class="footnote-ref" id="fnref1" role="doc-noteref"><sup>1</sup></a>',  # pandoc
    '<a href="#fn1" class="footnote-ref" id="fnref1" epub:type="noteref">1</a>',
    '<sup id="fnref:1"><a class="footnote-ref" href="#fn:1">1</a></sup>',  # Python-Markdown
    '<a class="footnote-reference brackets" href="#id1" id="id2">1</a>',  # docutils
    '<sup id="cite_ref-1" class="reference"><a href="#cite_note-1"><span>&#91;</span>1<span>&#93;</span></a></sup>',
    '<sup><a href="#user-content-fn-1" data-footnote-ref>1</a></sup>',  # GitHub
    '<a class="sdfootnoteanc" name="sdfootnote1anc" href="#sdfootnote1sym"><sup>1</sup></a>',  # LibreOffice
    '<span class="Footnote_20_anchor" title="x"><a href="#ftn1" id="body_ftn1">1</a></span>',
    '<a class="Footnote_20_Symbol" id="ftn1" href="#body_ftn1">1</a>',
    '<sup id="calledF1"><a epub:type="noteref" href="#dataF1">1</a></sup>',
    "<SUP><A HREF=notes.xhtml#n1>*</A></SUP>",
    '<sup><a href="#a">&dagger;</a></sup>',
]
NO_NOTES = ["<sup>2</sup>", '<sup><a href="http://a.org">2</a></sup>', '<sup><a href="#th">th</a></sup>', "<sup>2<a>"]


@pytest.mark.parametrize("read", [in_page, in_book])
def test_marks_of_footnotes_separate_words(read: Callable[[str], str]) -> None:
    for mark in NOTED:
        words = read(f"<p>Harbours{mark} traded{mark}, and{mark}<p><span>{mark}</span>See.").split()
        assert {"Harbours", "traded", "and", "See."} <= {word.rstrip(",") for word in words}, mark
    raised = (
        "<p>The harbours<sup>1</sup> were <b><i>traded.</i></b><SUP>2,3</SUP> <i>km</i><sup>2</sup> meters<sub>2</sub>"
    )
    assert read(raised) == "The harbours 1 were traded. 2,3 km2 meters2"
    assert read("<p>&sigma;<sup>2</sup> Caf&eacute;<sup><b>3</b></sup>") == "σ2 Café 3"
    for mark in NO_NOTES:
        assert read(f"<p>m{mark} and").split()[0] in ("m2", "mth")


@pytest.mark.parametrize("read", [in_page, in_book])
@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("<mfrac><mn>1</mn><mn>2</mn></mfrac>", "1/2"),
        ("<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mrow><mi>c</mi></mrow></mfrac>", "(a+b)/c"),
        ("<mrow><mi>a</mi><mo>+</mo><mfrac><mi>b</mi><mrow><mn>2</mn><mi>c</mi></mrow></mfrac></mrow>", "a+b/(2c)"),
        ("<MFRAC><MI>precision</MI><MSPACE width='1em'/></MFRAC>", "precision/"),
        ("<mfrac linethickness='0'><mi>n</mi><mi>k</mi></mfrac>", "n k"),
        ("<m:math><m:mfrac><m:mn>1</m:mn><m:mn>2</m:mn></m:mfrac></m:math>", "1/2"),
        ("<msqrt><mi>x</mi></msqrt><msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt>", "√x√(x+1)"),
        ("<semantics><mfrac><mi>a</mi><mi>b</mi></mfrac><annotation>\\frac ab</annotation></semantics>", "a/b"),
        ("<mfrac><mi>a</b><mi>b</mi></mfrac>", "ab"),  # not well formed
        ("<msqrt><mrow><mi>b</mi><mo>-</mo><mi>c</mi></mrow></msqrt>", "√(b-c)"),
        ("<mfrac><mrow><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow></mrow><mn>2</mn></mfrac>", "(a+b)/2"),
        ("<msqrt><mfrac><mn>1</mn><mn>2</mn></mfrac></msqrt>", "√(1/2)"),
        ("<mroot><mrow><mi>x</mi><mo>+</mo><mi>y</mi></mrow><mn>3</mn></mroot>", "(x+y)^1/3"),
        ("<mfrac><mn>1</mn><mfrac><mi>a</mi><mi>b</mi></mfrac></mfrac>", "1/(a/b)"),
        ("<mn>2</mn><mfrac><mn>1</mn><mn>2</mn></mfrac><mo>x</mo><mfrac><mn>1</mn><mn>2</mn></mfrac>", "2 1/2x1/2"),
    ],
)
def test_fractions_and_roots_of_formulas_have_their_signs(read: Callable[[str], str], formula: str, text: str) -> None:
    shown = read(f"<p>is <math>{formula}</math> now</p><p>no <mfrac><i>1</i><i>2</i></mfrac>").replace("\n\n", "\n")
    assert shown.split("\n") == [f"is {text} now", "no 12"]


@pytest.mark.parametrize("read", [in_page, in_book])
@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<ruby>東<rt>とう</rt>京<rt>きょう</rt></ruby>大学", "東京(とうきょう)大学"),
        ("<ruby>東<rt>とう</ruby><ruby lang=ja>京<rt>きょう</ruby>大学", "東京(とうきょう)大学"),
        ("<RUBY><rb>漢</rb><rp>(</rp><rt>hàn</rt><rp>)</rp></RUBY><ruby>字<rt><i>zì</i></rt></ruby>", "漢字(hàn zì)"),
        ("<ruby>word</ruby>", "word"),
        ("<ruby>東<rt>とう</rt>", "東とう"),
    ],
)
def test_readings_of_letters_stand_behind_the_word(read: Callable[[str], str], markup: str, text: str) -> None:
    assert read(f"<p>{markup}</p>") == text


def test_no_word_of_nested_elements_is_lost_or_glued() -> None:
    random = Random(7)
    ended_by_others = {
        "a",
        "dd",
        "dt",
        "li",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "p",
    }  # by an element of the same kind inside
    blocks, inline = set(BLOCKS.split()) - ended_by_others, set(INLINE.split()) - ended_by_others
    names = sorted(blocks | inline)

    def nested(depth: int) -> tuple[str, str]:
        parts = [(f"w{random.randrange(1000)}",) * 2]
        for _ in range(random.randrange(4) if depth else 0):
            name, (markup, text) = random.choice(names), nested(depth - 1)
            space = " " if name in blocks else ""
            parts += [(f"<{name}>{markup}</{name}>", space + text + space), (f"v{random.randrange(1000)}",) * 2]
        return "".join(part[0] for part in parts), "".join(part[1] for part in parts)

    for _ in range(500):
        markup, text = nested(4)
        words = page(f"<div>{markup}</div>").text.split()
        assert "".join(words) == "".join(text.split()), markup
        assert set(accumulate(map(len, words))) >= set(accumulate(map(len, text.split()))), markup


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        ("<details><summary>Opening hours</summary>Weekdays</details>", "Opening hours Weekdays"),
        ("gl1<hr>gl2<br>gl3<input>gl4", "gl1 gl2 gl3 gl4"),
        ("<select><option>one<option selected>two</select>", "one two"),
        ("<table><caption>cap</caption><thead><tr><th>a<th>b</thead><tr><td>c<td>d</table>", "cap a b c d"),
        ("<time>1815</time> <label>Name</label>", "1815 Name"),
        ("<p>日<p>○<p>a ✓ b<p>€", "日 ○ a ✓ b €"),
        ("<h2>Publications</h2><ul><li><a href=a>First</a><li><a href=b>Second</a></ul>", "Publications First Second"),
        ("<frameset><frame src=a><noframes>Dogs<p>bark</noframes></frameset>", "Dogs bark"),
        ("<iframe><p>one</p><p>two</p></iframe>", "one two"),
        ("<template>no</template><script>no</script><style>no</style><!-- no -->yes", "yes"),
        ("<p hidden>Tab</p><p style='display:none'>two</p>", "Tab two"),
        ("so&shy;ft so&#173;ft so&#xAD;ft so\xadft", "soft soft soft soft"),
        ("cafe\u0301", "caf\xe9"),
        ("<math><semantics><mi>x</mi><mo>=</mo><mn>2</mn><annotation>x=2</annotation></semantics></math>", "x=2"),
    ],
)
def test_all_text_of_a_page_is_read(markup: str, words: str) -> None:
    assert page(markup).text.split() == words.split()


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (
            "a<svg><title>no</title><path d=x /><text x=1>one</text><TEXT><tspan>two</tspan></TEXT></svg>b",
            "a one two b",
        ),
        ("<svg><svg/><svg><text>in</text></svg><text>out</text></svg>b", "in out b"),
        ("<svg><foreignObject><div>label</div></foreignObject></svg>b", "label b"),
        ("<script>'<svg>'</script>a<script>'</svg>'</script>b", "ab"),
        ("<!-- <svg> -->a<!-- </svg> -->b", "ab"),
        ("<svg><rect><p>a", "a"),
        ("a<svg><path/></svg>b", "a b"),
        (f"<svg>{'<path>' * 1000}<text>one</text></svg>b", "one b"),
        ("a<svg><!-- n --><text>one</text><!-- <text>no</text> --><text>two<!-- no --></text></svg>b", "a one two b"),
        ("<!--><svg><text>one</text></svg><!-- <svg> --!>b", "one b"),
        ("<svg><!-- <text>one</text></svg>b", "one b"),
        ("<svg><style>text > a {}</style><style/><script>'</svg>'</script><text>one</text></svg>b", "one b"),
        ("<style>a:after { content: '<svg>' }</style>a<svg><text>one</text></svg>b", "a one b"),
        ("<p title='<svg>' data-x=\"<svg y='0'>\">a<svg><text>one</text></svg>b", "a one b"),
        ("<p title=it's>a<svg><text>it's</text></svg>b", "a it's b"),
        ("<textarea><svg></textarea>a<svg><text>one</text></svg>b", "a one b"),
        ("<xmp><svg></xmp> a<svg><text>one</text></svg>b", "<svg> a one b"),
        ("<title><svg></title>a<svg><text>one</text></svg>b", "a one b"),
        ("<svg><title>no<text>one</text></svg><svg><title>no</title></svg>b", "one b"),
        ("a<svg><p>b</p><svg><desc>no</desc><text>one</text></svg>c", "a b one c"),
        ("a<svg/>b<svg><text>one</svg>c <text>d</text>", "a b one c d"),
        ("<svg><text><![CDATA[one <b> & </svg>]]></text></svg>b", "one <b> & </svg> b"),
        ("<svg><foreignObject>a<svg><desc>no</desc><text>one</text></svg>b</foreignObject></svg>c", "a one b c"),
    ],
)
def test_text_of_drawings_is_read(markup: str, text: str) -> None:
    notes = Notes()
    assert page(markup, notes).text.split() == text.split()
    assert notes.lines() == []


def test_drawings_are_read_as_in_books() -> None:
    draw = Random(7)
    for _ in range(500):
        first, *others = random_markup(draw, 3).split("#")
        markup = "<p>" + first + "".join(f" w{n} {other}" for n, other in enumerate(others))
        writer = TextWriter()
        add_html(markup, writer)
        assert page(markup).text.split() == writer.parsed("").text.split(), markup


def random_markup(draw: Random, depth: int) -> str:
    """Return markup with drawings in which # stands for a word."""
    pieces = [
        *(
            "<!-- # -->",
            "<!--<svg>#-->",
            "<!-- </svg><text> -->",
            "<style># '<svg>'</style>",
            "<style>'</svg>'</style>",
        ),
        *("<script>'<svg>' #</script>", "<script>'</text>'</script>", "<i title='<svg>'>#</i>", '<img alt="</svg>">'),
        *("#", "<svg/>", "<desc>#</desc>", "<text>#</text>", "<TEXT x='>'>#<!-- </text> -->#</TEXT>"),
        *(["<svg>*</svg>", "<SVG a='<svg>' b=\"/>\">*</SVG>"] * 3 * bool(depth)),
    ]
    markup = "#".join(draw.choices(pieces, k=draw.randrange(8)))
    return re.sub(r"\*", lambda _: random_markup(draw, depth - 1), markup)


@pytest.mark.parametrize(
    ("markup", "found"),
    [
        ("<ul><li>Cats</ul><h2>Cats</h2>", [("Cats", 2)]),
        ("<p>1. Cats<h2>1.&nbsp;Cats</h2>", [("1.\xa0Cats", 2)]),
        (
            "<h2>Cats<a class=headerlink href=#c>\xb6</a></h2><h3>Dogs<a href=#d>&#182;</a></h3>",
            [("Cats", 2), ("Dogs", 3)],
        ),
        ("<H1 class='a > b'>  Cats<br>and dogs </H1>", [("Cats\nand dogs", 1)]),
        ("<h2></h2><h2> </h2>a<h2><img></h2><h2><b>C</b>ats</h2>", [("Cats", 2)]),
        ("<h2>Cats<p>Dogs</p></h2>", [("Cats", 2)]),
        ("<h2>Cats<p>Dogs<h3>Mice", [("Cats", 2), ("Mice", 3)]),
        ("<nav><h2>Menu</h2></nav><!-- <h2>No</h2> --><h2 title='<h1>'>Cats</h2>", [("Cats", 2)]),
        ("<h2 title=don't>Cat's</h2>", [("Cat's", 2)]),
        ("<title>of <h1> and <summary></title><h2><button>Cats</button></h2>", [("Cats", 2)]),
        ("\ufdd0Dogs\ufdd6<h2>Ca\ufdd1ts</h2>", [("Cats", 2)]),
        ("<h2>Ca&shy;ts</h2>cafe\u0301<h6>E\u0301te\u0301</h6>", [("Cats", 2), ("\xc9t\xe9", 6)]),
        ("<div>" * 1000 + "<h2>Cats</h2>dogs", [("Cats", 2)]),
    ],
)
def test_headings_are_found_where_they_stand(markup: str, found: list[tuple[str, int]]) -> None:
    _, text, places = page(markup)
    assert [(text[start:end], level) for start, end, level in places] == found
    assert text == text.strip()
    assert not any(mark in text for mark in "\ufdd0\ufdd1\ufdd6")
    assert places[-1][0] == text.rindex(found[-1][0])


def test_a_title_keeps_names_of_tags() -> None:
    assert page("<title>The &shy;<h1> and <summary></title>a").title == "The <h1> and <summary>"


@pytest.mark.parametrize(
    ("declared", "encoding", "contradicts"),
    [
        ("utf-8", "utf-8", False),
        ("UTF8", "utf-8", False),
        ("iso-8859-1", "latin-1", False),
        ("windows-1252", "cp1252", False),
        ("utf-16", "utf-8", False),  # as the HTML standard says
        ("no-such", "utf-8", False),  # declares nothing
        ("iso-8859-1", "utf-8", True),
        ("shift_jis", "utf-8", True),
        ("utf-8", "latin-1", True),
        ("shift_jis", "latin-1", True),
    ],
)
def test_the_bytes_decide_between_utf8_and_what_is_declared(
    declared: str, encoding: str, contradicts: bool, tmp_path: Path
) -> None:
    notes = Notes()
    page = f'<meta http-equiv="Content-Type" content="text/html; charset={declared}"><p>na\xefve caf\xe9.'
    assert read(tmp_path, page.encode(encoding), notes).text == "na\xefve caf\xe9."
    assert notes["pages whose declared charset contradicts their bytes"] == contradicts


def test_a_declared_encoding_is_used(tmp_path: Path) -> None:
    page = '<meta charset="shift_jis"><p>日本語のテキスト'
    assert read(tmp_path, page.encode("shift_jis")).text == "日本語のテキスト"


@pytest.mark.parametrize(
    ("head", "declared"),
    [
        ('<!-- <meta charset="koi8-r"> --><meta charset="windows-1251">', True),
        ('<!--[if IE]><meta charset="koi8-r"><![endif]--><meta charset="windows-1251">', True),
        ('<meta name="description" content="of charset=koi8-r"><meta charset="windows-1251">', True),
        (
            '<meta name="x" content="charset=koi8-r"><meta http-equiv=Content-Type content="x; charset=cp1251">',
            True,
        ),
        ("<META CONTENT='text/html; charset=windows-1251' HTTP-EQUIV='Content-Type'>", True),
        ('<meta data-content="x" data-charset="koi8-r" charset = windows-1251 />', True),
        ('<meta http-equiv="refresh" content="9;url=?charset=koi8-r"><meta charset=" windows-1251 ">', True),
        ('<script>var s = "<!--";</script><meta charset="windows-1251">', True),
        ('<!--><meta charset="windows-1251">', True),
        ('<meta content="text/html; charset=windows-1251"><!-- <meta charset="koi8-r"> -->', True),
        ('<meta http-equiv=""Content-Type"" content="text/html; charset=windows-1251">', True),
        ('<!-- <meta charset="windows-1251"> -->', False),
        ('<meta name="x" content="of charset=windows-1251">', False),
        ('<!-- <meta charset="windows-1251">' + "x" * 5000 + "-->", False),
    ],
)
def test_a_charset_in_a_comment_or_a_description_is_no_declaration(head: str, declared: bool) -> None:
    assert encodings.declared(head.encode() + b"<p>x") == (("cp1251",) if declared else ())


@pytest.mark.parametrize("codec", ["hex", "unicode_escape", "utf-7", "idna", "rot13"])
def test_codecs_that_are_no_charsets_of_pages_are_not_used(codec: str, tmp_path: Path) -> None:
    assert read(tmp_path, f'<meta charset="{codec}"><p>\\x41 +AEE- 41').text == "\\x41 +AEE- 41"


def test_an_encoding_that_the_user_names_wins(tmp_path: Path) -> None:
    page = '<meta charset="utf-8"><p>\u0447\u0430\u0439'.encode("koi8-r")
    assert read(tmp_path, page, text=TextOptions("koi8-r")).text == "\u0447\u0430\u0439"


def test_undeclared_bytes_that_are_not_utf8_are_refused_or_replaced(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_bytes(b"<p>a\xe9b")
    with pytest.raises(InputError, match="byte 4 is not utf-8"):
        list(locate_documents(tmp_path / "page.html", Notes()))
    assert read(tmp_path, b"<p>a\xe9b", text=TextOptions(errors="replace")).text == "a\ufffdb"


def test_a_nul_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"page\.html:2: holds a NUL byte"):
        read(tmp_path, b"<p>a\n\x00")


def test_without_the_extra_the_install_line_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resiliparse.parse.html", None)
    with pytest.raises(MissingExtra, match=r"reading HTML needs the extra 'html'; pip install '\.\[html\]'"):
        read(tmp_path, PAGE)


HOSTILE: dict[str, Callable[[int], str]] = {
    "nested": lambda n: "<div>" * n + "dogs" + "</div>" * n,
    "never closed": lambda n: "<div><p>dogs" * n,
    "unknown elements": lambda n: "<x>" * n + "</y>" * n + "dogs",
    "formatting elements": lambda n: "".join(f"<b id={i}>" for i in range(n)) + "dogs",
    "misnested": lambda n: "<a href=1><div></a>" * n + "dogs",
    "attributes": lambda n: "<div " + " ".join(f"a{i}" for i in range(n)) + ">dogs",
    "attributes between slashes": lambda n: "<div" + "".join(f"/a{i}" for i in range(n)) + ">dogs",
    "attributes with <": lambda n: "<div" + " <a" * n + ">dogs",
}


@pytest.mark.parametrize("markup", HOSTILE.values(), ids=HOSTILE)
def test_hostile_pages_take_linear_time(markup: Callable[[int], str]) -> None:
    notes = Notes()
    assert "dogs" in page(f"<title>t</title>{markup(100_000)}", notes).text
    assert_linear_time(page, lambda n: f"<title>t</title>{markup(n)}", 100_000)
    assert notes.lines() == ["pages too deeply nested for an HTML parser, read whole: 1 (first: page.html)"]


def test_large_pages_that_people_write_are_not_taken_for_hostile() -> None:
    rows = "<tr><td><a href='/x' title='a > b'><b>x</b></a><img src='data:image/png;base64,{}'></td></tr>"
    body = "".join(rows.format("iVBOR/w0K" * 500) for _ in range(200)) + "<p>dogs<li>bark" * 5000
    script = "<script>" + "for(i=0;i<n;i++){a<b}" * 2000 + "</script>"
    notes = Notes()
    assert "dogs" in page(f"<html><head>{script}</head><body><table>{body}</table></body></html>", notes).text
    assert notes.lines() == []


@pytest.mark.parametrize(
    ("start", "lang"),
    [
        ('<!doctype html><html class=x lang="de-AT">', {"lang": "de-AT"}),
        ("<HTML xml:lang='x' LANG=pt_BR>", {"lang": "pt_BR"}),
        ("<html lang='{{ lang }}'>", {}),
        ("<html lang=''>", {}),
        ("<html><p lang=de>", {}),
    ],
)
def test_a_page_keeps_the_language_that_it_names(start: str, lang: dict[str, str], tmp_path: Path) -> None:
    assert read(tmp_path, f"{start}<body><p>Some words of the page.").metadata == {"source": "page.html", **lang}


UNCLOSED = [
    "<sup>",
    "<a href=#1><sup>1",
    "<sup class=noteref><b>",
    "footnote-ref",
    "<h2 '",
    '<h2 "',
    "<h2 a",
    "<title>",
    "<!--",
    "<svg>",
    "<svg><text>",
    "<text>",
    "<a >\xb6",
    "<nav>",
    "<h1>",
    "</h1>",
    "<tspan",
    "<style>",
    "<svg",
    '<a b="',
    "<a b='\"",
    "<![CDATA[",
    "<svg><foreignObject>",
    "<math><mfrac>",
    "<math><mfrac><mrow>a</mrow>",
    "<ruby>a<rt>b",
    "<ruby><b>",
]


@pytest.mark.parametrize("piece", UNCLOSED)
def test_unclosed_tags_take_linear_time(piece: str) -> None:
    assert_linear_time(page, lambda n: piece * n + "<svg>" + piece * n + "</svg>", 25_000)


def test_thousands_of_headings_take_linear_time() -> None:
    markup = "".join(f"<h2>Heading {n}</h2><p>Some words of text {n}.</p>" for n in range(10_000))
    assert len(page(markup).headings) == 10_000


@pytest.mark.parametrize(
    ("declared", "raw", "text", "contradicts"),
    [
        ("iso-2022-jp", b"\x1b$BF|K\\8l-!\x1b(B", "日本語①", False),
        ("utf-8", b"\x1b$BF|K\\8l\x1b(B", "日本語", True),
        ("euc-kr", "똠방각하".encode("cp949"), "똠방각하", False),
        ("shift_jis", "①".encode("cp932"), "①", False),
        ("x-mac-cyrillic", "Привет мир".encode("mac_cyrillic"), "Привет мир", False),
        ("X-Mac-Ukrainian", "Ґанок".encode("mac_cyrillic"), "Ґанок", False),
        ("csiso88596e", "مرحبا".encode("iso8859-6"), "مرحبا", False),
    ],
)
def test_declared_charsets_are_read_as_browsers_read_them(
    declared: str, raw: bytes, text: str, contradicts: bool, tmp_path: Path
) -> None:
    notes = Notes()
    page = f'<meta charset="{declared}"><p>'.encode() + raw
    assert read(tmp_path, page, notes).text == text
    assert notes["pages whose declared charset contradicts their bytes"] == contradicts
    (tmp_path / "page.html").unlink()
    (tmp_path / "note.txt").write_bytes(b"\x1b$BF|K\\8l\x1b(B")
    [located] = locate_documents([str(tmp_path)], notes, CorpusOptions(guess=True))
    assert located.document.text == "日本語"
    assert notes["files in another encoding than UTF-8, guessed as iso2022_jp_ext"] == 1
