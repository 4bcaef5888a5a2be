from __future__ import annotations

from collections.abc import Callable

import pytest

from growth import assert_linear_time
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
HOSTILE: dict[str, Callable[[int], str]] = {
    "<": lambda n: "<" * n,
    "&": lambda n: "&" * n,
    "&#": lambda n: "&#" * (n // 2),
    "digits": lambda n: "&#" + "9" * n,
    "blanks": lambda n: " " * n,
    "lines": lambda n: "\n" * n,
    "blank lines": lambda n: "\n " * (n // 2),
    "comments": lambda n: "<!--" * (n // 4),
    "scripts": lambda n: "<script>" * (n // 8),
    "open tag": lambda n: "<a" + " x" * (n // 2),
    "long name": lambda n: "<" + "a" * n,
    "tags": lambda n: "<a>" * (n // 3),
    "quotes": lambda n: "<a b='" * (n // 6),
}


@pytest.mark.parametrize("markup", HOSTILE.values(), ids=HOSTILE)
def test_hostile_markup_takes_linear_time(markup: Callable[[int], str]) -> None:
    assert_linear_time(plain_text, markup, N)
