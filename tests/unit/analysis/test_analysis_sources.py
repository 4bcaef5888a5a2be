from __future__ import annotations

import json
from pathlib import Path

import pytest

from longrank.analysis.sources import open_source, wordpieces
from longrank.errors import InputError
from longrank.formats.records import CorpusOptions
from longrank.index import index_files
from longrank.types import Document, Notes

ROWS = [
    {"doc_id": "a", "title": "The river", "text": "and the banks of it"},
    {"doc_id": "b", "title": "", "text": "water"},
]


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    folder = tmp_path / "collection"
    folder.mkdir()
    (folder / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (folder / "queries.jsonl").write_text('{"query_id": "q", "text": "river"}\n')
    return folder


def measured(source: str) -> list[dict[str, int]]:
    opened = open_source(source, Notes())
    units = opened.counts.items()
    return [{unit: count(n, document) for unit, count in units} for n, document in enumerate(opened.documents())]


def test_an_index_and_its_collection_have_the_same_words_and_terms(collection: Path, tmp_path: Path) -> None:
    index_files([str(collection)], tmp_path / "index")
    expected = [{"words": 7, "terms": 2}, {"words": 1, "terms": 1}]  # stop words are no terms
    assert measured(str(collection)) == measured(str(tmp_path / "index")) == expected


def test_a_collection_brings_its_queries_and_can_be_read_again(collection: Path) -> None:
    opened = open_source(str(collection), Notes())
    assert opened.queries is not None and opened.queries.queries == (str(collection / "queries.jsonl"),)
    assert opened.qrels is None
    assert [one.doc_id for one in opened.documents()] == [one.doc_id for one in opened.documents()] == ["a", "b"]


def test_of_an_expanded_index_it_is_said_what_the_terms_are(collection: Path, tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text('{"doc_id": "b", "queries": ["fish boat"]}\n')
    index_files([str(collection)], tmp_path / "index", expansions=[tmp_path / "e.jsonl"])
    notes = Notes()
    opened = open_source(str(tmp_path / "index"), notes)
    assert opened.counts["terms"](1, Document("b", "", "water")) == 3
    assert notes.lines() == ["terms include the predicted queries that were indexed with the documents"]


def test_titles_of_an_index_count_once_and_other_terms_are_named(collection: Path, tmp_path: Path) -> None:
    index_files([str(collection)], tmp_path / "index", corpus=CorpusOptions(title_in_text=True))
    notes = Notes()
    open_source(str(tmp_path / "index"), notes)
    assert notes.lines() == []
    assert [row["words"] for row in measured(str(tmp_path / "index"))] == [7, 1]
    corpus = CorpusOptions(fields=("text",), index_only=("title",))
    index_files([str(collection)], tmp_path / "other", corpus=corpus, original_copies=3)
    notes = Notes()
    open_source(str(tmp_path / "other"), notes)
    assert notes.lines() == [
        "terms include the documents' own 3 times",
        "terms include fields that are no part of the text: title",
    ]
    index_files([str(collection)], tmp_path / "bare", corpus=CorpusOptions(fields=("text",)))
    notes = Notes()
    open_source(str(tmp_path / "bare"), notes)
    assert notes.lines() == ["terms are of texts without titles"]


def test_what_is_neither_an_index_nor_a_collection_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not an index"):
        open_source(str(tmp_path), Notes())


@pytest.mark.neural
def test_wordpieces_are_those_of_the_model_without_special_tokens_or_cuts(tmp_path: Path) -> None:
    from tiny_models import save_cross_encoder

    count = wordpieces(str(save_cross_encoder(tmp_path / "m")))
    assert count(0, Document("a", "the river", "running")) == 5  # the river run ##n ##ing
    assert count(0, Document("a", "", "water " * 100)) == 100
