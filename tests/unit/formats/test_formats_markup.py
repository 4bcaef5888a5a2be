from __future__ import annotations

import time

import pytest

from longrank.formats.markup import plain_text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("one<P>two</P>three", "one\ntwo\nthree"),
        ("one\n  two\n\n \nthree", "one two\nthree"),
        ("<HEAD>one</HEAD><X Y='1'>two", "one two"),
        ("CO<sub>2</sub>, <b>bo</b>ld, <span class=x>x</span>y", "CO2, bold, xy"),
        ("one<br/>two<BR >three", "one\ntwo\nthree"),
        ("a < b, b > a, 1<2, <3, < p>", "a < b, b > a, 1<2, <3, < p>"),
        ("AT&T, R&D; &amp;lt; &lt;p&gt; &#65;&#x42;&#X43;", "AT&T, R&D; &lt; <p> ABC"),
        ("&hyph;&blank;&nbsp;&rsquo;&nosuch;&amp &#xD800;&#0;", "- ’&nosuch;&amp \ufffd\ufffd"),
        ("a<!-- b <p> -->c<!---->d", "a c d"),
        ("a<script>b</SCRIPT >c<STYLE type=x>d</style>e", "a c e"),
        ("a <!-- never closed", "a <!-- never closed"),
        ("<!DOCTYPE html><?xml version='1.0'?>a", "a"),
        ("", ""),
        (" \n\n ", ""),
    ],
)
def test_plain_text(markup: str, text: str) -> None:
    assert plain_text(markup) == text


N = 1_000_000
HOSTILE = {
    "<": "<" * N,
    "&": "&" * N,
    "&#": "&#" * (N // 2),
    "digits": "&#" + "9" * N,
    "blanks": " " * N,
    "lines": "\n" * N,
    "blank lines": "\n " * (N // 2),
    "comments": "<!--" * (N // 4),
    "scripts": "<script>" * (N // 8),
    "open tag": "<a" + " x" * (N // 2),
    "long name": "<" + "a" * N,
    "tags": "<a>" * (N // 3),
    "quotes": "<a b='" * (N // 6),
}


@pytest.mark.parametrize("markup", HOSTILE.values(), ids=HOSTILE)
def test_hostile_markup_takes_linear_time(markup: str) -> None:
    began = time.process_time()
    plain_text(markup)
    assert time.process_time() - began < 2
