from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from longrank.collections.documents import locate_documents
from longrank.errors import InputError, MissingExtra
from longrank.formats.html_pages import page_headings, page_text
from longrank.formats.lines import TextOptions
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


def test_title_and_main_content_without_navigation_and_scripts(tmp_path: Path) -> None:
    document = read(tmp_path, PAGE)
    assert document == Document("page.html", "Dogs & cats", "Of dogs\n\nDogs bark at the moon.\n\nCats do not.")


def test_a_page_that_is_all_navigation_is_read_whole_and_counted(tmp_path: Path) -> None:
    notes = Notes()
    document = read(tmp_path, "<title>t</title><nav><a href='/'>Home</a></nav>", notes)
    assert document.text == "Home"
    assert notes["pages without main content read whole"] == 1


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


N = 100_000
HOSTILE = {
    "nested": "<div>" * N + "dogs" + "</div>" * N,
    "never closed": "<div><p>dogs" * N,
    "unknown elements": "<x>" * N + "</y>" * N + "dogs",
    "formatting elements": "".join(f"<b id={i}>" for i in range(N)) + "dogs",
    "misnested": "<a href=1><div></a>" * N + "dogs",
    "attributes": "<div " + " ".join(f"a{i}" for i in range(N)) + ">dogs",
    "attributes between slashes": "<div" + "".join(f"/a{i}" for i in range(N)) + ">dogs",
    "attributes with <": "<div" + " <a" * N + ">dogs",
}


@pytest.mark.parametrize("page", HOSTILE.values(), ids=HOSTILE)
def test_hostile_pages_take_linear_time(page: str) -> None:
    notes = Notes()
    began = time.process_time()
    _, text = page_text(f"<title>t</title>{page}", "page.html", notes, main_content=True)
    assert time.process_time() - began < 2
    assert "dogs" in text
    assert notes.lines() == ["pages too deeply nested for an HTML parser, read whole: 1 (first: page.html)"]


def test_large_pages_that_people_write_are_not_taken_for_hostile() -> None:
    rows = "<tr><td><a href='/x' title='a > b'><b>x</b></a><img src='data:image/png;base64,{}'></td></tr>"
    body = "".join(rows.format("iVBOR/w0K" * 500) for _ in range(200)) + "<p>dogs<li>bark" * 5000
    script = "<script>" + "for(i=0;i<n;i++){a<b}" * 2000 + "</script>"
    notes = Notes()
    page = f"<html><head>{script}</head><body><table>{body}</table></body></html>"
    assert "dogs" in page_text(page, "page.html", notes, main_content=False)[1]
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
    assert read(tmp_path, f"{start}<body><p>Some words of the page.").metadata == lang


@pytest.mark.parametrize(
    "around", ["{}", "<main>{}</main>", "<main><article>{}</article></main>", "<div><ol><li>{}</li></ol></div>"]
)
def test_lists_and_captions_are_main_content(around: str) -> None:
    inside = (
        "<h2>Ingre&shy;dients</h2><p>What you need for four people on a Sunday morning, in the order of use.</p>"
        "<ul class=a><li>two cups of buckwheat</li><li>cardamom</li></ul>"
        "<figure><img src=p.jpg><figcaption>Batter with blueberries</figcaption></figure>"
    )
    menu = (
        "<nav><UL><li>All <a href=/>pages</a></li></UL></nav><ul class=top><li><a href=/>Start</a><li><a>Help</a></ul>"
    )
    page = f"<html><head><title>t</title></head><body>{menu}{around.format(inside)}</body></html>"
    _, text = page_text(page, "page.html", Notes(), main_content=True)
    assert [line.strip() for line in text.splitlines() if line.strip()] == [
        "Ingredients",
        "What you need for four people on a Sunday morning, in the order of use.",
        "two cups of buckwheat",
        "cardamom",
        "Batter with blueberries",
    ]
    assert [text[start:end] for start, end, _ in page_headings(page, text)] == ["Ingredients"]


def test_thousands_of_headings_take_linear_time() -> None:
    page = "".join(f"<h2>Heading {n}</h2><p>Some words of text {n}.</p>" for n in range(10_000))
    _, text = page_text(page, "page.html", Notes(), main_content=False)
    assert len(page_headings(page, text)) == 10_000
