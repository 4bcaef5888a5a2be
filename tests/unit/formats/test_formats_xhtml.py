"""XHTML pages in the XML serialization."""

from __future__ import annotations

from pathlib import Path

import pytest

from growth import assert_linear_time
from longrank.collections.documents import locate_documents
from longrank.formats.xhtml import as_html
from longrank.types import Document, Notes

XML = '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml">{}</html>'
RAW_TEXT = ("script", "style", "title", "textarea", "iframe", "noembed", "noframes", "noscript", "xmp", "template")


def read(path: Path, markup: str) -> Document:
    pytest.importorskip("resiliparse", reason="needs the extra html")
    path.write_text(markup)
    [located] = locate_documents([str(path)], Notes())
    return located.document


@pytest.mark.parametrize("name", ["a.xhtml", "a.html", "A.XHTML"])
def test_an_empty_element_of_xml_swallows_no_text(name: str, tmp_path: Path) -> None:
    for element in (*RAW_TEXT, "nav", "h2", "svg", "svg:g", "i"):
        head = (
            f"<head><title>T</title></head><body><h1><a id='x > y'/>Cats</h1><{element} class='a'/><p>purr<br/>loudly"
        )
        document = read(tmp_path / name, XML.format(f"{head}</p></body>"))
        assert document.text == "Cats\n\npurr\nloudly", element
        assert document.headings == ((0, 4, 1),)


def test_cdata_of_xml_is_text_but_in_scripts_and_comments(tmp_path: Path) -> None:
    script = (
        "<script>//<![CDATA[\nif (a<b) {'</script>'} //]]></script><!-- <![CDATA[ --><title><![CDATA[A & B]]></title>"
    )
    document = read(
        tmp_path / "a.xhtml", XML.format(f"{script}<body><pre><![CDATA[if a<b && c]]></pre><h2>]]</h2></body>")
    )
    assert (document.title, document.text) == ("A & B", "if a<b && c\n\n]]")
    assert document.headings == ((13, 15, 2),)


@pytest.mark.parametrize(
    "script",
    [
        '$(function(){ $("<script/>", {src: "a.js"}); var t = "<![CDATA["; });',
        "//<![CDATA[\nvar a=1;\n",
        "if (a<b/>c) <!-- ",
    ],
)
def test_the_code_of_a_script_changes_no_text_after_it(script: str, tmp_path: Path) -> None:
    other = "<style>b<i/> {}</style><script>//<![CDATA[\nb\n//]]></script>"
    body = f"<body><h1>Cats</h1><script>{script}</script><p>purr</p>{other}"
    document = read(tmp_path / "a.xhtml", XML.format(f"{body}<p>loudly</p></body>"))
    assert document.text == "Cats\n\npurr\n\nloudly"


@pytest.mark.parametrize(
    "start", ["<!doctype html>", "<?xml version='1.0'?><html>", "<html xmlns='http://www.w3.org/1999/xhtml'>"]
)
def test_a_page_that_is_no_xml_is_read_as_browsers_read_it(start: str, tmp_path: Path) -> None:
    assert read(tmp_path / "a.html", f"{start}<p>purr<script/>no</script> loudly").text == "purr loudly"


@pytest.mark.parametrize(
    "piece",
    ["<a '", "<a b", "<a b='", "<a/", "<![CDATA[", "<!--", "<a b='c' ", "<a/>", "<script>", "<script><![CDATA["],
)
def test_unclosed_pieces_take_linear_time(piece: str) -> None:
    assert_linear_time(as_html, lambda n: piece * n, 100_000)
