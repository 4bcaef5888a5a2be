"""Office, e-book, mail and markup files: expected texts are written by hand."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from base64 import b64encode
from email.message import EmailMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from pathlib import Path

import pytest

from document_files import docx, epub, odt, paragraph, pptx
from longrank.errors import InputError
from longrank.formats.parsed import Parsed
from longrank.formats.parsed.child import ParserLimits, parse
from longrank.formats.parsed.front_matter import split_front_matter
from longrank.formats.parsed.markdown import read_markdown
from longrank.formats.parsed.rst import read_rst


def parsed(path: Path, format: str) -> Parsed:
    (document,) = parse(path, format)
    assert document.headings == sorted(document.headings)
    assert document.pages == sorted(document.pages)
    return document


def headings(document: Parsed) -> list[tuple[int, str]]:
    return [(level, document.text[start:end]) for start, end, level in document.headings]


def pages(document: Parsed) -> list[str]:
    ends = [*document.pages[1:], len(document.text)]
    return [document.text[start:end] for start, end in zip(document.pages, ends, strict=True)]


def test_a_word_file_has_paragraphs_headings_tables_and_no_deleted_text(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    body = (
        paragraph("Cats", "berschrift1")
        + "<w:p><w:r><w:t>They </w:t></w:r><w:del><w:r><w:delText>bark</w:delText></w:r></w:del>"
        "<w:r><w:t>purr</w:t><w:br/><w:t>loudly.</w:t></w:r></w:p>"
        "<w:p><w:r><w:instrText>INCLUDETEXT secret</w:instrText></w:r></w:p>"
        f"<w:tbl><w:tr><w:tc>{paragraph('one')}</w:tc><w:tc>{paragraph('two')}</w:tc></w:tr></w:tbl>"
        + paragraph("Food", "H2")
    )
    document = parsed(docx(tmp_path / "a.docx", body, title="About cats"), "docx")
    assert document.title == "About cats"
    assert document.text == "Cats\n\nThey purr\nloudly.\n\none\n\ntwo\n\nFood"
    assert headings(document) == [(1, "Cats"), (2, "Food")]
    assert document.values == {"author": "Ada"}


def test_a_slide_is_a_page_in_the_order_of_the_show(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    document = parsed(pptx(tmp_path / "a.pptx", [("Cats", "purr"), ("Dogs", "bark")]), "pptx")
    assert pages(document) == ["Cats\n\npurr\n\n", "Dogs\n\nbark"]
    assert headings(document) == [(1, "Cats"), (1, "Dogs")]
    assert document.title == "Cats"


def test_an_opendocument_text_has_blanks_notes_and_headings(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    body = (
        '<text:h text:outline-level="2">Cats</text:h><text:p>They<text:s text:c="2"/>purr<text:span> and '
        "<text:span>sleep</text:span></text:span> a lot.</text:p>"
        "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
        "<text:list><text:list-item><text:p>one</text:p></text:list-item></text:list>"
    )
    document = parsed(odt(tmp_path / "a.odt", body, title=""), "odt")
    assert document.text == "Cats\n\nThey  purr and sleep a lot.\n\none"
    assert (document.title, headings(document)) == ("Cats", [(2, "Cats")])


def test_an_e_book_has_its_chapters_in_reading_order(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    chapters = ["<h1>One</h1><p>Cats&nbsp;<b>purr</b>.<br/>Loudly.</p>", "<h2>Two</h2><script>x</script><p>Dogs</p>"]
    document = parsed(epub(tmp_path / "a.epub", chapters, title="Animals"), "epub")
    assert document.title == "Animals"
    assert document.text == "One\n\nCats purr.\nLoudly.\n\nTwo\n\nDogs"
    assert headings(document) == [(1, "One"), (2, "Two")]


MARKDOWN = """---
title: 'All about cats'
tags: [a, b]
author: Ada
---
# Cats

They *really*
**purr** [loudly](x.html) `a_b`.

- one
- two

| a | b |
|---|---|
| 1 | 2 |

```py
x = 1
```

Food
----
![a fish](f.png)
"""
MARKDOWN_TEXT = "Cats\n\nThey really purr loudly a_b.\none\ntwo\na\tb\n1\t2\n\nx = 1\n\nFood\n\na fish"


def test_markdown_is_read_without_its_markup() -> None:
    (document,) = read_markdown(MARKDOWN)
    assert document.title == "All about cats"
    assert document.values == {"author": "Ada"}
    assert document.text == MARKDOWN_TEXT
    assert headings(document) == [(1, "Cats"), (2, "Food")]


MARKDOWN_NOTES = """One.[^1] [Two](t)[^b] and piers<sup>7</sup>, km<sup>2</sup>.

[^1]: Ibidem
[^b]: https://a.org/%C3%A9 "A *title*"
# Heading
> [^3]: Braudel

[^4]: See `c`
  and more.
- [^5]: Smith
- next

[^6]:
```
code

more
```
[Three][three]

[three]: https://b.org
"""
NOTES_OF_MARKDOWN = [
    "One.^1 Two^b and piers 7, km2.",
    "[^1]: Ibidem",
    '[^b]: https://a.org/%C3%A9 "A *title*"',
    "Heading",
    "[^3]: Braudel",
    "[^4]: See c and more.",
    "[^5]: Smith\nnext",
    "[^6]:",
    "code",
    "more",
    "Three",
]


def test_footnotes_of_markdown_are_text_also_if_they_look_like_addresses() -> None:
    (document,) = read_markdown(MARKDOWN_NOTES)
    assert document.text.split("\n\n") == NOTES_OF_MARKDOWN
    assert headings(document) == [(1, "Heading")]


def test_formats_of_words_in_blocks_of_html_in_markdown_separate_nothing() -> None:
    (document,) = read_markdown("<div>\nun<mark>believ</mark>able <kbd>C</kbd>trl<td>x\n</div>\n")
    assert document.text == "unbelievable Ctrl\tx"


HTML_IN_MARKDOWN = {
    'Harbours<sup><a href="#fn1">1</a></sup> and <a href="#fn2"><sup>2</sup></a>': "Harbours 1 and 2",
    "Harbours<sup>[1](#fn1)</sup>, m<sup>2</sup> of *a<b>c*": "Harbours 1, m2 of ac",
    "<p>\nHarbours<sup>12</sup>\n</p>": "Harbours 12",
    "<ruby>東<rp>(</rp><rt>とう</rt>京<rt>きょう</rt></ruby>の": "東京(とうきょう)の",
    "<div>\n<ruby>東<rt>とう</rt>京<rt>きょう</rt></ruby>\n</div>": "東京(とうきょう)",
    "see <math><mfrac><mn>1</mn><mn>2</mn></mfrac></math> now": "see 1/2 now",
    "a <script>alert(1)</script> b <!-- c --> d": "a b d",
    "1 &lt; 2 <b>&amp;</b> `<i>&lt;` ![x<y](z) &amp;lt;": "1 < 2 & <i>&lt; x<y &lt;",
    "one<br>two  \nthree <i>four</i>\nfive": "one\ntwo\nthree four five",
    "<div>\n<template>t</template><nav>menu</nav>text\n</div>": "text",
    "foo<!-- c -->bar <i>x</i>": "foobar x",
    "<div>\nIf $x<y$ then z&lt;1 &copy; holds\n</div>": "If $x<y$ then z<1 © holds",
    "<pre>\nfor (i=0; i<n; i++) a<b[i];\n</pre>": "for (i=0; i<n; i++) a<b[i];",
    "<pre>John <john@x.org>, List<a for x</pre>": "John <john@x.org>, List<a for x",
    '<p><img alt="x>one <b title="a>b">two</b></p>': "one two",
    "<script>\nlet a = 1\n": "let a = 1",
    '<div title="a > b">one<img alt="x -> y" src="a.png"> two</div>': "one two",
    "<div :class=\"a > 1 ? 'b' : 'c'\" data-q='a < b'>one</div>": "one",
    "<p>See <style-guide>x</style-guide> y <style>p{}</style> z</p>": "See\n\nx\n\ny z",
    "<div>a<!-->b c\nlater --> z</div>": "ab c later --> z",
    "<div>a <!--[if !mso]><!-->shown<!--<![endif]--> b</div>": "a shown b",
    "See <a href='x' title='a>b'>t</a> <?php echo $x->y; ?>now <![CDATA[no]]><b data-x=\"1 < 0\">x</b>": "See t now x",
}


@pytest.mark.parametrize("markdown", HTML_IN_MARKDOWN)
def test_html_in_markdown_is_read_as_in_a_page(markdown: str) -> None:
    (document,) = read_markdown(markdown)
    assert document.text == HTML_IN_MARKDOWN[markdown]


def test_headings_in_blocks_of_html_in_markdown_are_headings() -> None:
    (document,) = read_markdown('<h1 align="center">\n  Big <b>title</b>\n</h1>\n\nText.\n\n## Part\n')
    assert (document.title, document.text) == ("Big title", "Big title\n\nText.\n\nPart")
    assert headings(document) == [(1, "Big title"), (2, "Part")]


def test_front_matter_is_yaml_pairs_or_toml_and_a_line_is_no_front_matter() -> None:
    assert split_front_matter('+++\ntitle = "Cats"\nn = 3\nb = true\n+++\nx') == (
        {"title": "Cats", "n": "3", "b": "true"},
        "x",
        0,
    )
    assert split_front_matter("---\n\ntext\n---\nmore") == ({}, "---\n\ntext\n---\nmore", 0)
    for rule in ("---\nCats purr.\nNote: this\n---\nmore", "---\n\nNote: this\n---\nmore"):
        assert split_front_matter(rule) == ({}, rule, 0)
    block = '---\ntitle: x\n# c\ntags:\n- a\nlong: >\n  folded\n"my key": 3\n---\nbody'
    assert split_front_matter(block) == (
        {"title": "x", "long": "folded", "my key": "3"},
        "body",
        1,
    )
    assert split_front_matter("---\nTitle: x") == ({}, "---\nTitle: x", 0)


RST = """====
Cats
====

They *really* **purr** ``a*b``, see :ref:`dogs <dogs>`,
`the site <http://x>`_ and :func:`~f`.

.. include:: /etc/passwd

.. a comment
   of two lines

.. note:: Be kind
   to cats::

.. _target:

Food
----

.. code-block:: python
   :linenos:

   x = 1

Fish
----
"""
RST_TEXT = "Cats\n\nThey really purr a*b, see dogs,\nthe site and f.\n\nBe kind\nto cats:\n\nFood\n\nx = 1\n\nFish"


def test_restructuredtext_is_read_without_its_markup_and_nothing_is_included() -> None:
    (document,) = read_rst(RST)
    assert document.text == RST_TEXT
    assert headings(document) == [(1, "Cats"), (2, "Food"), (2, "Fish")]


def test_a_mailbox_has_a_document_for_each_message(tmp_path: Path) -> None:
    path = tmp_path / "a.mbox"
    path.write_bytes(
        b"From ada Mon Jan  1 00:00:00 2024\nFrom: Ada <ada@example.org>\nSubject: =?utf-8?q?Caf=C3=A9?=\n\n"
        b"Cats purr.\n>From here on.\n\nFrom bob Mon Jan  1 00:00:00 2024\nSubject: Dogs\n"
        b"Content-Type: text/html; charset=no-such\n\n<p>Dogs <b>bark</b>.</p>\n"
    )
    first, second = parse(path, "mbox")
    assert (first.name, first.title, first.text) == ("#1", "Caf\xe9", "Cats purr.\nFrom here on.")
    assert first.values == {"author": "Ada <ada@example.org>"}
    assert (second.name, second.title, second.text) == ("#2", "Dogs", "Dogs bark.")


@pytest.mark.parametrize(
    ("header", "date", "noted"),
    [
        ("Mon, 02 Mar 2020 10:00:00 +0100", "2020-03-02T09:00:00+00:00", 0),
        ("Mon, 02 Mar 2020 10:00:00 -0000", "2020-03-02T10:00:00", 0),
        ("2 Mar 20 10:00 EST", "2020-03-02T15:00:00+00:00", 0),
        ("Mon, 02 Mar 2020 10:00:00 CET", "2020-03-02T10:00:00", 0),
        ("Mon, 02 Mar 2020 10:00:00 GMT+0200", "2020-03-02T10:00:00", 0),
        ("Mon, 02 Mar 2020 10:00:00 +0200 (EET)", "2020-03-02T08:00:00+00:00", 0),
        ("2020-03-02", "2020-03-02", 0),
        ("2020-03-02T10:00:00+01:00", "2020-03-02T09:00:00+00:00", 0),
        ("2020-13-02", "2020-13-02", 1),
        ("Tue, 30 Feb 2020 00:00:00 +0000", "Tue, 30 Feb 2020 00:00:00 +0000", 1),
        ("Fri, 31 Dec 9999 23:59:59 -1200", "Fri, 31 Dec 9999 23:59:59 -1200", 1),
    ],
)
def test_dates_of_mail_are_iso_dates_which_filters_compare(tmp_path: Path, header: str, date: str, noted: int) -> None:
    (tmp_path / "a.eml").write_text(f"Subject: Cats\nDate: {header}\n\nThey purr.\n")
    document = parsed(tmp_path / "a.eml", "eml")
    assert document.values == {"date": date}
    assert sum(document.notes.values()) == noted


def test_attachments_of_mail_are_counted(tmp_path: Path) -> None:
    from email.message import EmailMessage

    message = EmailMessage()
    message["Subject"] = "Cats"
    message.set_content("They purr.")
    message.add_attachment(b"\x00", maintype="image", subtype="png")
    (tmp_path / "a.eml").write_bytes(bytes(message))
    document = parsed(tmp_path / "a.eml", "eml")
    assert (document.title, document.text) == ("Cats", "They purr.")
    assert document.notes == {"mail attachments that are not read": 1}


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        (
            "text/enriched",
            "Cats <color><param>red</param>pur</color>r.<x-tad-bigger>Now</x-tad-bigger>",
            "Cats purr. Now",
        ),
        ("text/markdown", "Cats *purr*.", "Cats *purr*."),
        ("text/calendar", "BEGIN:VCALENDAR", ""),
    ],
)
def test_bodies_of_mail_may_be_texts_of_other_kinds(kind: str, body: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_text(f"Subject: Cats\nContent-Type: {kind}\n\n{body}\n")
    document = parsed(tmp_path / "a.eml", "eml")
    assert (document.text, document.notes) == (text, {"mail attachments that are not read": int(not text)})


FLOWED = "Cats are unbeliev \nable. \n\n> They \n> purr.\n>> Dogs \n> do not.\n From here\n-- \nAda"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("", FLOWED),
        ("; format=flowed", "Cats are unbeliev able.\n\n> They purr.\n>> Dogs \n> do not.\nFrom here\n-- \nAda"),
        (
            "; format=flowed; delsp=yes",
            "Cats are unbelievable.\n\n> Theypurr.\n>> Dogs\n> do not.\nFrom here\n-- \nAda",
        ),
    ],
)
def test_lines_of_flowed_mail_are_joined(kind: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_text(f"Subject: Cats\nContent-Type: text/plain; charset=utf-8{kind}\n\n{FLOWED}\n")
    shown = parsed(tmp_path / "a.eml", "eml").text
    assert [line.replace(">> ", ">>").rstrip() for line in shown.split("\n")] == [
        line.replace(">> ", ">>").rstrip() for line in text.split("\n")
    ]


FORKS = """
import os, sys, tempfile
from pathlib import Path
from longrank.formats.parsed.child import parse

folder = Path(sys.argv[1])
for name in "abcd":
    (folder / f"{name}.md").write_text(f"text of {name}")

def agrees(name):
    texts = [f"text of {name} {n}" for n in range(100)]
    return all([each.text for each in parse(folder / f"{name}.md", "markdown", text)] == [text] for text in texts)

assert agrees("a")
forks = []
for name in "bcd":
    if (fork := os.fork()) == 0:
        os._exit(not agrees(name))
    forks.append(fork)
assert agrees("a")
assert [os.waitpid(fork, 0)[1] for fork in forks] == [0, 0, 0]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_processes_have_parsers_of_their_own(tmp_path: Path) -> None:
    pytest.importorskip("markdown_it", reason="needs the extra files")
    subprocess.run([sys.executable, "-c", FORKS, str(tmp_path)], check=True, timeout=120)


def test_a_parser_that_never_ends_is_ended_and_the_next_file_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "endless.eml")  # opening it waits for a writer that never comes
    with pytest.raises(InputError, match=r"endless\.eml: takes its parser more than 0\.5 seconds"):
        list(parse(tmp_path / "endless.eml", "eml", limits=ParserLimits(seconds=0.5)))
    (tmp_path / "a.eml").write_bytes(b"Subject: Cats\n\nThey purr.")
    assert parsed(tmp_path / "a.eml", "eml").text == "They purr."


def test_a_parser_over_the_limits_of_memory_or_output_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_bytes(b"Subject: Cats\n\n" + b"They purr.\n" * 1_000_000)
    with pytest.raises(InputError, match=r"a\.eml: .*memory"):
        list(parse(tmp_path / "a.eml", "eml", limits=ParserLimits(memory=60 << 20)))
    with pytest.raises(InputError, match=r"a\.eml: holds more text than the limit of 1000000 bytes"):
        list(parse(tmp_path / "a.eml", "eml", limits=ParserLimits(output=1_000_000)))


def test_letters_are_composed_before_offsets_are_taken(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    decomposed = "Mu\u0308ller"
    body = paragraph(decomposed, "berschrift1") + paragraph("purrs") + paragraph(decomposed, "H2")
    document = parsed(docx(tmp_path / "a.docx", body, title=decomposed), "docx")
    assert (document.title, document.text) == ("M\xfcller", "M\xfcller\n\npurrs\n\nM\xfcller")
    assert headings(document) == [(1, "M\xfcller"), (2, "M\xfcller")]


@pytest.mark.parametrize(("named", "lang"), [("pt-BR", {"lang": "pt-BR"}), ("Portuguese (Brazil)", {})])
def test_an_e_book_keeps_the_language_that_it_names(named: str, lang: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    title = f"Livro</dc:title><dc:language>{named}</dc:language><dc:title>"
    assert parsed(epub(tmp_path / "a.epub", ["<p>Um livro.</p>"], title=title), "epub").values == lang


def test_several_authors_of_an_e_book_are_joined(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    path = epub(tmp_path / "a.epub", ["<p>Cats</p>"])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in parts.items():
            archive.writestr(
                name,
                part.replace(b"</metadata>", b"<creator>Ada</creator><creator>Grace\n Hopper</creator></metadata>"),
            )
    assert parsed(path, "epub").values["author"].endswith("Ada; Grace Hopper")


def test_code_keeps_its_characters_and_captions_and_quotes_are_text() -> None:
    text = r"""Run::

    copy C:\new\table

    *no* markup
    ---

.. code-block:: c
   :linenos:

   printf("a\n");

.. figure:: plot.png
   :width: 3

   The *caption*.

..

    A quote.

.. a comment
   of two lines

::

    x_
"""
    (document,) = read_rst(text)
    assert document.text.split("\n\n") == [
        "Run:", r"copy C:\new\table", "*no* markup\n---", r'printf("a\n");', "The caption.", "A quote.", "x_",
    ]  # fmt: skip


def test_headers_of_tables_subtitles_and_names_with_underscores_are_text() -> None:
    table = '.. csv-table:: Cats\n   :header: "name", "age"\n   :widths: 1, 2\n\n   Tom, 3\n\n'
    sidebar = ".. sidebar:: Dogs\n   :subtitle: and wolves\n\n   bark\n\n"
    (document,) = read_rst(f"{table}{sidebar}Call __init__, _hidden_, __x__. See name_, other__ and a_b_.")
    assert document.text.split("\n\n") == [
        'Cats\n"name", "age"', "Tom, 3", "Dogs\nand wolves", "bark",
        "Call __init__, _hidden_, __x__. See name, other and a_b.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("..  note:: Never unplug.", "Never unplug."),
        (".. note :: Never unplug.", "Never unplug."),
        ("..\tnote::\n\n\tNever unplug.", "Never unplug."),
        ("..  [1] Never unplug.", "Never unplug."),
        ("..  |x|  replace :: never\n\n|x| unplug", "never unplug"),
        (".. code-block :: python\n\n   x = *a*", "x = *a*"),
        (".. a comment : : of words", ""),
        ("it delegates to``add``and :app:`Pyramid`provides `a`b 2**3**4", None),
        ("the ``a\n b``, ``c*d*`` and ``Foo``s", "the a\nb, c*d* and ``Foo``s"),
        ("``a`` `b`_ `c`__ :r:`d` **e** (``f``) ``g``-``h`` '``i``'", "a b c d e (f) g-h 'i'"),
        ("R\n===\n\ntext", "R\n\ntext"),
        ("_`target` text, `a`:sup:`2`, :r:`b <c>` and `d <e>`_", "target text, a2, b and d"),
        ("-\n-\n- b", "-\n-\n- b"),
        ("Go\n==\n\nT\n=\n\nx::\n\n  y", "Go\n\nT\n\nx:\n\ny"),
    ],
)
def test_restructuredtext_is_read_as_docutils_reads_it(text: str, shown: str | None) -> None:
    assert next(iter(read_rst(text))).text == (text if shown is None else shown)


def test_signs_of_literals_that_end_nowhere_take_linear_time() -> None:
    text = "a ``b``c" * 100_000
    assert next(iter(read_rst(text))).text == text


def test_bars_between_words_and_cells_are_no_replacements() -> None:
    table = "+-------+-----+\n|one two|three|\n+-------+-----+\n"
    (document,) = read_rst(f"The a |b|c and |d|e| of |f |.\n\n{table}\n.. |b| replace:: x\n")
    assert document.text.split("\n\n")[0] == "The a |b|c and |d|e| of |f |."
    assert "|one two|three|" in document.text


def test_replacements_and_documented_names_of_restructuredtext_are_text() -> None:
    text = """|Tool| 1, *|two words|* and |none|.

.. |Tool| replace:: The *long* ``a*b*c`` a\\_b
   ranker
.. |two words| replace:: x

.. autoclass:: pkg.and_
   :members: one,
       two
   :undoc-members:

   They purr.

.. [1] First note,
   continued.
.. _target: http://a.org
.. [#n] Second note.
"""
    (document,) = read_rst(text)
    paragraphs = [
        "The long a*b*c a_b ranker 1, x and none.",
        "pkg.and_",
        "They purr.",
        "First note,\ncontinued.",
        "Second note.",
    ]
    assert document.text.split("\n\n") == paragraphs


def test_escaped_signs_of_rst_mean_themselves() -> None:
    (document,) = read_rst("Use \\*args\\* here, \\`code\\` is text, \\|bar\\| too, a \\*b\\*\nc.\n")
    assert document.text == "Use *args* here, `code` is text, |bar| too, a *b*\nc."


def test_an_escaped_blank_of_restructuredtext_joins_what_it_stands_between() -> None:
    (document,) = read_rst("H\\ :sub:`2`\\ O, *re*\\ mark, name_\\ s, one\\\ntwo, 2 \\* 3.\n")
    assert document.text == "H2O, remark, names, onetwo, 2 * 3."


def mail(path: Path, message: EmailMessage | MIMEMultipart) -> tuple[str, int]:
    """Write a message; return its text and the number of attachments that are not read."""
    path.write_bytes(bytes(message))
    document = parsed(path, "eml")
    return document.text, document.notes["mail attachments that are not read"]


def test_a_message_is_read_whole_also_below_a_footer_and_beside_an_empty_alternative(tmp_path: Path) -> None:
    footed = MIMEMultipart("mixed")
    footed.attach(MIMEText("<p>The turbine failed.</p>", "html"))
    footed.attach(MIMEText("-- \nA list\n", "plain"))
    assert mail(tmp_path / "footed.eml", footed) == ("The turbine failed.\n\n-- \nA list", 0)
    empty = EmailMessage()
    empty.set_content("\n")
    empty.add_alternative("<p>zebra words</p>", subtype="html")
    assert mail(tmp_path / "empty.eml", empty) == ("zebra words", 0)
    both = EmailMessage()
    both.set_content("plain")
    both.add_alternative("<p>rich</p>", subtype="html")
    both.add_attachment("not read", filename="notes.txt")
    both.add_attachment(b"x", maintype="application", subtype="pdf")
    assert mail(tmp_path / "both.eml", both) == ("plain", 2)


@pytest.mark.parametrize("kind", ["multipart/mixed", "multipart/mixed; boundary=lost"])
def test_a_multipart_that_nothing_divides_is_text(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_bytes(f"Subject: a\nContent-Type: {kind}\n\nThe turbine für all.\n".encode())
    assert parsed(tmp_path / "a.eml", "eml").text == "The turbine für all."


def test_a_line_that_begins_with_from_ends_no_message(tmp_path: Path) -> None:
    rows = [f"From a@b.c Mon Jan  2 15:04:05 2006\nSubject: m{n}\n\nbody {n}\n\nFrom now on\n\n" for n in range(3)]
    (tmp_path / "m.mbox").write_text("".join(rows))
    found = list(parse(tmp_path / "m.mbox", "mbox"))
    assert [(one.name, one.title, one.text) for one in found] == [
        (f"#{n + 1}", f"m{n}", f"body {n}\n\nFrom now on") for n in range(3)
    ]


@pytest.mark.parametrize(
    ("lines", "n_messages"),
    [
        ("From what I see\nhttp://example.org is fine", 1),
        ("From what I see\nNote: this", 1),
        ("From 2010 to 2015\nmail:x", 1),
        ("From x\nhttp://example.org", 1),
        ("From what I see\nSubject: b", 2),  # a sentence, too, but some programs write other postmarks
        ("From a@b.c Mon Jan  2 15:04:05 2006\nNote: this", 2),
        ("From a@b.c 2 Jan 2006 15:04\nNote: this", 2),
        ("From a@b.c\nNote: this", 2),
        ("From joe at example Mon Jan 2\nNote: this", 2),
        ("From what I see\nUser-Agent: b", 2),
        ("From \nNote: this", 2),
    ],
)
def test_a_sentence_that_begins_with_from_is_no_message_before_a_line_with_a_colon(
    lines: str, n_messages: int, tmp_path: Path
) -> None:
    (tmp_path / "a.mbox").write_text(f"From a@b.c Mon Jan  2 15:04:05 2006\nSubject: a\n\nbody\n\n{lines}\n\nend\n")
    messages = list(parse(tmp_path / "a.mbox", "mbox"))
    assert len(messages) == n_messages
    if n_messages == 1:
        assert " ".join(messages[0].text.split()) == " ".join(f"body {lines} end".split())


def test_a_dated_line_from_begins_a_message_also_without_an_empty_line_before(tmp_path: Path) -> None:
    path, date = tmp_path / "a.mbox", "Mon Jan  1 00:00:00"
    bodies = (
        f"body\nFrom a@b {date} 2020\nand more",
        "body\nFrom here on\nNote: this",
        f"body\nFrom a@b {date}\nNote: no year",
    )
    path.write_text("".join(f"From a@b {date} +0000 2020\nSubject: m\n\n{body}\n" for body in bodies))
    assert [message.text for message in parse(path, "mbox")] == list(bodies)


def test_an_e_book_has_the_text_of_cdata_and_no_soft_hyphens(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    path = epub(tmp_path / "b.epub", ["<p>Eisen&shy;bahn \u00ad</p><pre><![CDATA[a < b & c]]></pre>"])
    assert parsed(path, "epub").text == "Eisenbahn\n\na < b & c"


def test_empty_elements_of_an_e_book_end_at_their_tag(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    path = epub(tmp_path / "b.epub", ["<title/><pre/><nav/><script/><h2/><p>Cats\npurr<br/>loudly</p>"])
    document = parsed(path, "epub")
    assert (document.text, document.headings) == ("Cats purr\nloudly", [])


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("gb2312", "gb18030", "镕 is a letter of GBK"),
        ("ks_c_5601-1987", "cp949", "똠방각하"),
        ("euc-kr", "cp949", "똠방각하"),
        ("shift_jis", "cp932", "① 日本語"),
        ("windows-31j", "cp932", "日本語"),
        ("x-sjis", "cp932", "日本語"),
        ("windows-874", "cp874", "ภาษาไทย"),
        ("iso-8859-8-i", "iso8859-8", "שלום"),
        ("logical", "iso8859-8", "שלום"),
        ("csiso88596i", "iso8859-6", "مرحبا"),
        ("iso88592", "iso8859-2", "čř"),
        ("koi8-ru", "koi8-u", "їжак"),
        ("x-mac-ukrainian", "mac_cyrillic", "Ґанок"),
        ("x-mac-roman", "mac_roman", "café"),
        ("ksc_5601", "cp949", "똠방각하"),
        ("gb_2312-80", "gb18030", "镕"),
        ("unicode-1-1-utf-8", "utf-8", "žluť"),
        ("iso-8859-9", "cp1254", "“ığ”"),
        ("iso-8859-2", "cp1250", "“čř”"),
        ("us-ascii", "utf-8", "é"),
    ],
)
def test_mail_is_read_by_the_label_as_browsers_read_it(label: str, codec: str, text: str, tmp_path: Path) -> None:
    word = b"=?" + label.encode() + b"?B?" + b64encode(text.encode(codec)) + b"?="
    subject = word if label != "us-ascii" else b"x"
    path = tmp_path / "m.eml"
    path.write_bytes(
        b"Subject: " + subject + b"\nContent-Type: text/plain; charset=" + label.encode() + b"\n\n" + text.encode(codec)
    )
    message = parsed(path, "eml")
    assert message.text == text
    assert message.title == (text if label != "us-ascii" else "x")
    assert not any("fit" in kind for kind in message.notes)


@pytest.mark.parametrize(
    ("charset", "codec", "n_unfit"),
    [("utf-8", "utf-8", 0), ("iso-8859-2", "utf-8", 0), ("iso-8859-2", "cp1250", 0), ("utf-8", "cp1250", 1)],
)
def test_headers_of_bare_bytes_are_read_in_the_charset_of_the_texts(
    charset: str, codec: str, n_unfit: int, tmp_path: Path
) -> None:
    words = ("Žlu\u0165 k\u016f\u0148", "J\xfcrgen") if not n_unfit else ("\u201eGr\xf6\xdfe\u201d", "J\xfcrgen")
    head = f"Subject: {words[0]}\nFrom: {words[1]} <a@b>\nTo: =?utf-8?Q?Gr=C3=B6=C3=9Fe?= <c@d>\n".encode(codec)
    path = tmp_path / "m.eml"
    path.write_bytes(head + b"Content-Type: text/plain; charset=" + charset.encode() + b"\n\nbody")
    message = parsed(path, "eml")
    assert (message.title, message.values["author"]) == (words[0], f"{words[1]} <a@b>")
    assert message.values["to"] == "Größe <c@d>"
    assert message.notes.get("mail headers whose bytes do not fit their encoding", 0) == n_unfit


def test_an_encoded_word_may_hold_blanks_and_bare_bytes(tmp_path: Path) -> None:
    path = tmp_path / "m.eml"
    path.write_bytes("Subject: =?utf-8?Q?Größe der Welt?= \xe9\n\nbody".encode())
    assert parsed(path, "eml").title == "Größe der Welt é"


def test_mail_in_iso_2022_jp_has_letters_of_windows(tmp_path: Path) -> None:
    path = tmp_path / "m.eml"
    path.write_bytes(b"Subject: x\nContent-Type: text/plain; charset=iso-2022-jp\n\n\x1b$BF|K\\8l-!\x1b(B abc")
    assert parsed(path, "eml").text == "日本語① abc"


def test_an_html_alternative_is_read_if_the_plain_one_is_a_stub_and_its_files_are_counted(tmp_path: Path) -> None:
    message = EmailMessage()
    message.set_content("This needs an HTML program")
    message.add_alternative("<p>" + "news " * 50 + "</p>", subtype="html")
    assert mail(tmp_path / "m.eml", message)[0].startswith("news news")
    both = EmailMessage()
    both.set_content("news of today and of tomorrow")
    both.add_alternative("<p>news of today and of tomorrow</p>", subtype="html")
    rich = both.get_payload()[1]
    rich.make_mixed()
    rich.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="a.pdf")
    assert mail(tmp_path / "n.eml", both) == ("news of today and of tomorrow", 1)


_DRAWN = {
    "diagramData": "<d><a:p xmlns:a='a'><a:r><a:t>Plan</a:t></a:r></a:p></d>",
    "chart": "<c:c xmlns:c='c'><c:cat><c:v>North</c:v></c:cat><c:numRef><c:v>7</c:v></c:numRef></c:c>",
}


def related_parts(rels: str, folder: str, parts: dict[str, str]) -> dict[str, str]:
    """Return parts named by their kind, and the part that relates them."""
    listed = "".join(f'<R Id="{kind}" Type="x/{kind.rstrip("2")}" Target="{kind}.xml"/>' for kind in parts)
    return {rels: f"<Rs>{listed}</Rs>"} | {f"{folder}/{kind}.xml": part for kind, part in parts.items()}


def test_diagrams_charts_and_comments_follow_their_slide(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    path = pptx(tmp_path / "a.pptx", [("One", "first"), ("Two", "second")])
    funnel = "<c><strDim><lvl><pt>Prospects</pt></lvl></strDim><numDim><lvl><pt>12.5</pt></lvl></numDim></c>"
    parts = _DRAWN | {"chartEx": funnel, "comments": "<c><cm><text>Why?</text></cm></c>"}
    with zipfile.ZipFile(path, "a") as archive:
        for name, part in related_parts("ppt/slides/_rels/s0.xml.rels", "ppt/slides", parts).items():
            archive.writestr(name, part)
    assert pages(parsed(path, "pptx"))[0].split() == ["One", "first", "Plan", "North", "Prospects", "Why?"]


def test_a_word_file_has_headers_comments_and_drawings_once_and_headings_of_derived_styles(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    styles = (
        '<s xmlns:w="w"><w:style w:styleId="H"><w:name w:val="heading 2"/></w:style>'
        '<w:style w:styleId="Mine"><w:name w:val="Mine"/><w:basedOn w:val="H"/></w:style>'
        '<w:style w:styleId="Own"><w:name w:val="Own"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style></s>'
    )
    aside = "<h xmlns:w='w'><w:p><w:r><w:t>Acme</w:t></w:r></w:p></h>"
    parts = _DRAWN | {"header": aside, "header2": aside, "comments": aside.replace("Acme", "Why?")}
    parts = related_parts("word/_rels/document.xml.rels", "word", parts) | {"word/styles.xml": styles}
    body = paragraph("A", "Mine") + paragraph("B", "Own") + paragraph("text")
    document = parsed(docx(tmp_path / "a.docx", body, **parts), "docx")
    assert document.text.split() == ["A", "B", "text", "Why?", "Acme", "Plan", "North"]
    assert headings(document) == [(2, "A"), (1, "B")]


def test_a_damaged_part_beside_the_text_is_counted(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    parts = related_parts("word/_rels/document.xml.rels", "word", {"comments": "<c>", "chart": "no XML"})
    document = parsed(docx(tmp_path / "a.docx", paragraph("text"), **parts), "docx")
    assert document.text == "text"
    assert 2 in document.notes.values()


def test_comments_and_objects_of_an_opendocument_text_are_counted(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    body = "<text:p>a<office:annotation><text:p>Why?</text:p></office:annotation></text:p><object/>"
    document = parsed(odt(tmp_path / "a.odt", body), "odt")
    assert document.text == "a"
    assert list(document.notes.values()) == [1, 1, 0]


def test_headers_and_footers_of_an_opendocument_text_come_once_at_its_end(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="needs the extra files")
    page = "<style:{0}><text:p>{1}</text:p></style:{0}>".format
    styles = (
        '<s xmlns:style="style" xmlns:text="text"><style:header-style/>'
        f"{page('header', 'Acme')}{page('header-left', 'Acme')}{page('footer', 'Secret')}</s>"
    )
    document = parsed(odt(tmp_path / "a.odt", "<text:p>body</text:p>", **{"styles.xml": styles}), "odt")
    assert document.text.split() == ["body", "Acme", "Secret"]
    assert list(document.notes.values()) == [0, 0, 0]


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        ("plain words that go\n  on: here # a comment\n\n  and there", "plain words that go on: here\nand there"),
        ("'It''s # no\n  comment' # one", "It's # no comment"),
        ('"Caf\\xE9 \\u201Cab\\u201D \\U0001F600 \\"q\\" \\\\ a\\n\\\n  \\ b\n  c"', 'Café “ab” 😀 "q" \\ a\n b c'),
        ("\n  # comment\n  on the next line", "on the next line"),
        (">-\n  folded\n  words\n\n  # text", "folded words\n# text"),
        ("|2\n    two\n  words", "two\nwords"),
        ("C# basics # intro", "C# basics"),
        ("# nothing", None),
        ('"Cats" and dogs', '"Cats" and dogs'),
        ("\n  first: a", None),
        ("\n\n- a\n- b: c\n  d: e", None),
    ],
)
def test_values_of_front_matter_have_all_forms_of_scalars(lines: str, value: str | None) -> None:
    values, text, n_left_out = split_front_matter(f"---\nfirst: 1\nkey: {lines}\nlast: 2\n---\nbody")
    assert values == {"first": "1", **({"key": value} if value else {}), "last": "2"}
    assert text == "body"
    assert n_left_out == (value is None and not lines.startswith("#"))


def test_a_letter_that_json_escapes_as_a_pair_is_one_letter() -> None:
    block = '---\ntitle: "Cats \\ud83d\\ude00"\nhalf: "x\\ud83d"\n---\nbody'
    assert split_front_matter(block).values == {"title": "Cats 😀", "half": "x\ufffd"}


@pytest.mark.parametrize(
    "key", ["Date Created", "标题", '"author"', "'it'", "2nd author", "og:image", "a:b:c", '"og:image"', "'it is: so'"]
)
def test_keys_of_front_matter_are_those_of_yaml(key: str) -> None:
    name = key.strip("\"'").lower()
    assert split_front_matter(f"---\n{key}: x\nnone: ~\n---\nbody") == ({name: "x"}, "body", 0)


def test_three_dots_end_front_matter_of_yaml_alone() -> None:
    assert split_front_matter("---\ntitle: Cats\n...\nbody\n---\n") == ({"title": "Cats"}, "body\n---\n", 0)
    for text in (
        "---\nHe said: go\n...\nbody",
        '+++\ntitle = "Cats"\n...\nbody',
        "---\n10:30: tea\n11:00: cake\n---\nbody",
    ):
        assert split_front_matter(text) == ({}, text, 0)
    assert split_front_matter("---\nimage:\n  og:url: cat.png\n---\nbody") == ({}, "body", 1)


@pytest.mark.parametrize("block", ["# Minutes\n- Ann: yes\n\nNext: June\n", "Ann: Which?\n\nBob: This.\n\nAnn: Ah.\n"])
def test_a_list_before_a_key_and_a_key_that_repeats_are_text(block: str) -> None:
    text = f"---\n{block}---\nbody"
    assert split_front_matter(text) == ({}, text, 0)


@pytest.mark.parametrize(
    "block", ["---\ntags: [a, b]\n---\n", "---\ntags:\n  - a\nempty:\n---\n", '+++\ntags = ["a"]\n+++\n']
)
def test_front_matter_of_lists_alone_is_no_text(block: str) -> None:
    assert split_front_matter(f"{block}body") == ({}, "body", 1)
    for rule in ("---\n- a\n- b\n---\n", "---\n# Cats: dogs\n---\n", "---\nAs follows here:\n---\n", "+++\n+++\n"):
        assert split_front_matter(f"{rule}body") == ({}, f"{rule}body", 0)


def test_values_of_front_matter_that_are_left_out_are_counted() -> None:
    block = "---\ntitle: x\ntags: [a, b]\nlong: &name\n  folded\nmore:\n- a\n---\nbody"
    assert list(next(read_markdown(block)).notes.values()) == [3]
    assert list(next(read_markdown("---\ntitle: x\nempty:\n---\nbody")).notes.values()) == [0]
    assert list(next(read_markdown('+++\ntitle = "x"\ntags = ["a"]\n+++\nbody')).notes.values()) == [1]
