"""Sections: windows that do not cross a heading."""

from __future__ import annotations

from pathlib import Path

import pytest

from longrank.index import Index
from longrank.text.segment import make_segmenter
from longrank.types import Document

TEXT = "Cats\n\n" + "purr " * 10 + "\n\nFood\n\n" + "fish " * 5 + "\n\nEnd\n\nx"


def headings(text: str, *words: str) -> tuple[tuple[int, int, int], ...]:
    return tuple((text.index(word), text.index(word) + len(word), 1) for word in words)


def passages(document: Document, **options: int) -> list[str]:
    segmenter = make_segmenter("sections", options)
    return [" ".join(passage.text.split()) for passage in segmenter.segment(document).passages]


def test_windows_begin_at_headings_and_do_not_cross_them() -> None:
    document = Document("d", "", TEXT, headings=headings(TEXT, "Cats", "Food", "End"))
    assert passages(document, length=6, stride=6, shortest=0) == [
        "Cats purr purr purr purr purr",
        "purr purr purr purr purr",
        "Food fish fish fish fish fish",
        "End x",
    ]


def test_short_sections_are_joined() -> None:
    document = Document("d", "", TEXT, headings=headings(TEXT, "Cats", "Food", "End"))
    assert [len(text.split()) for text in passages(document, length=50, stride=50, shortest=7)] == [11, 8]
    assert [len(text.split()) for text in passages(document, length=50, stride=50, shortest=50)] == [19]


def test_a_document_without_headings_has_the_windows_of_windows() -> None:
    document = Document("d", "", TEXT)
    theirs = make_segmenter("windows", {"length": 6, "stride": 3}).segment(document).passages
    assert make_segmenter("sections", {"length": 6, "stride": 3}).segment(document).passages == theirs


@pytest.mark.parametrize("name", ["a.md", "a.html"])
def test_headings_of_files_reach_the_documents_of_an_index(name: str, tmp_path: Path) -> None:
    if name == "a.html":
        pytest.importorskip("resiliparse", reason="needs the extra html")
    markdown = "# Cats\n\nThey purr.\n\n## Food\n\nFish & more Cats.\n"
    html = (
        "<html><body><main><h1>Cats</h1><p>They purr.</p><h2>Food</h2><p>Fish &amp; more Cats.</p></main></body></html>"
    )
    (tmp_path / name).write_text(markdown if name == "a.md" else html)
    index = Index.build(tmp_path, tmp_path / "index")
    for document in (index.document(name), next(iter(index))):
        places = [(document.text[start:end], level) for start, end, level in document.headings]
        assert places == [("Cats", 1), ("Food", 2)]
