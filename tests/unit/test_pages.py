"""Pages of documents: from the file to the shown passage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from document_files import pdf_bytes
from longrank.cli.main import main
from longrank.formats.records import CorpusOptions
from longrank.index import Index
from longrank.types import Pages


def test_a_place_is_on_the_last_page_that_begins_before_it() -> None:
    pages = Pages({"source": "a/report.pdf", "page_starts": [0, 5, 5, 9]})
    assert [pages.page(start) for start in (0, 4, 5, 8, 9, 100)] == [1, 1, 3, 3, 4, 4]
    assert pages.place(5, 9) == "report.pdf, p. 3"
    assert pages.place(4, 10) == "report.pdf, pp. 1-4"
    assert Pages({"page_starts": [0, 5]}).place(5, 5) == "p. 2"


@pytest.mark.parametrize("starts", [None, 12, "1-5", [], [3, 7], [0, 9, 5], [0, "x"]])
def test_other_fields_of_that_name_are_no_pages(starts: object) -> None:
    pages = Pages({"page_starts": starts, "source": 7})
    assert (pages.page(3), pages.place(3, 4), pages.source) == (None, "", "")


def test_search_shows_the_page_of_each_passage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    folder = tmp_path / "papers"
    (folder / "old papers").mkdir(parents=True)
    filler = [f"{word} light house bread stone river salt moon tide chain" for word in ("wheel", "cart", "boat", "ox")]
    pages = [filler, ["Foxes hunt at night, as the old hunters all say.", *filler], filler]
    (folder / "old papers" / "report.pdf").write_bytes(pdf_bytes(pages, title="Animals"))
    index, query = str(tmp_path / "index"), ["fox hunters", "--pipeline", "lexical"]
    assert main(["index", str(folder), "-o", index]) == 0
    metadata = Index(index).metadata("old%20papers/report.pdf")
    assert (metadata["source"], metadata["pages"]) == ("old papers/report.pdf", 3)
    text = Index(index).document("old%20papers/report.pdf").text
    assert text[metadata["page_starts"][1] :].startswith("Foxes hunt")
    capsys.readouterr()
    assert main(["search", index, *query, "--set", "passages.options={length=10, stride=10}"]) == 0
    assert "report.pdf, p. 2 | passage" in capsys.readouterr().out
    assert main(["search", index, *query, "--json", "--set", "passages.options={length=10, stride=10}"]) == 0
    best = json.loads(capsys.readouterr().out)["passages"][0]
    assert (best["page"], best["place"]) == (2, "report.pdf, p. 2")
    assert text[best["start"] : best["end"]] == best["text"]
    assert main(["index", str(folder), "-o", index, "--fields", "author,text"]) == 2  # no PDF here names an author
    assert main(["index", str(folder), "-o", index, "--metadata", "none"]) == 0
    assert Index(index).metadata("old%20papers/report.pdf").keys() == {"page_starts"}


def test_pages_and_headings_move_with_a_title_in_the_text() -> None:
    record = {
        "id": "d",
        "title": "Animals",
        "text": "Cats purr.\n\nDogs\n\nThey bark.",
        "page_starts": [0, 12],
        "headings": [[12, 16, 1]],
    }
    corpus = CorpusOptions(title_in_text=True)
    index = Index.build([record, {"id": "e", "title": "Foxes", "text": "", "page_starts": [0, 0]}], corpus=corpus)
    document, metadata = index.document("d"), index.metadata("d")
    assert document.text.startswith("Animals\nCats purr.")
    assert [document.text[start:end] for start, end, _ in document.headings] == ["Dogs"]
    assert metadata["headings"] == [[20, 24, 1]]
    assert metadata["page_starts"] == [0, 20]
    assert index.metadata("e")["page_starts"] == [0, 5]


def test_other_fields_of_these_names_stay_beside_a_title_in_the_text() -> None:
    record = {"id": "d", "title": "A", "text": "b", "page_starts": [3, 7], "headings": "none", "year": 1973}
    index = Index.build([record], corpus=CorpusOptions(title_in_text=True))
    assert index.metadata("d") == {"page_starts": [3, 7], "headings": "none", "year": 1973}
