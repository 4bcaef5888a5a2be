"""Fields that are indexed and that no model reads, and titles that are read as text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from longrank.cli.main import main
from longrank.collections.catalogue import find_entry
from longrank.collections.collection import Collection
from longrank.errors import InputError
from longrank.formats.records import CorpusOptions, FileOptions
from longrank.index import Index
from longrank.types import Document, Notes

ROW = "D1\thttps://kennel.example/dogs\tDogs\tThey bark.\n"


@pytest.fixture
def built(tmp_path: Path) -> Index:
    """An index of a document in the form of MS MARCO's."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "msmarco-docs.tsv").write_text(ROW)
    options = ["--index-only", "url", "--title-in-text"]
    assert main(["index", str(tmp_path / "docs"), "-o", str(tmp_path / "index"), *options]) == 0
    return Index(tmp_path / "index")


def test_models_read_title_and_body_and_the_url_is_only_indexed(built: Index) -> None:
    document = built.document("D1")
    assert (document.title, document.text) == ("Dogs", "Dogs\nThey bark.")
    # https, kennel.example and dogs of the url; dogs and bark of the text, in which "they" is a stop word
    assert built.lengths.tolist() == [5]
    assert built.options.index_only == ("url",)


OPTIONS = [{"title_in_text": True}, {"index_only": ("kw",)}, {"metadata": ()}, {"metadata": ("kw",)}, {}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_documents_are_read_with_the_options_of_records(options: dict[str, Any], tmp_path: Path) -> None:
    record = {"id": "d", "title": "Dogs", "text": "They bark.", "kw": "hound", "year": 3}
    document = Document("d", "Dogs", "They bark.", metadata={"kw": "hound", "year": 3})
    corpus = CorpusOptions(**options)
    own, other = (Index.build([one], tmp_path / str(n), corpus=corpus) for n, one in enumerate([record, document]))
    assert own.document("d") == other.document("d")
    assert own.metadata("d") == other.metadata("d")
    assert own.lengths.tolist() == other.lengths.tolist()
    if not corpus.index_only:
        added = Index.build([("a", "cats")], tmp_path / "added", corpus=corpus).add([document])
        assert (added.document("d"), added.metadata("d")) == (own.document("d"), own.metadata("d"))


def test_documents_and_records_may_be_mixed_and_a_misspelt_name_is_told(tmp_path: Path) -> None:
    mixed = [Document("a", "", "dogs", metadata={"kw": "hound"}), {"id": "b", "text": "cats"}]
    for options in ({"index_only": ("kw",)}, {"metadata": ("kw",)}):
        assert Index.build(mixed, corpus=CorpusOptions(**options)).notes.lines() == []
    with pytest.raises(InputError, match=r"no document has this field \(got 'wk'"):
        Index.build(mixed[:1], corpus=CorpusOptions(index_only=("wk",)))


def test_a_title_in_the_text_moves_passages_and_headings(tmp_path: Path) -> None:
    document = Document("d", "Dogs", "They bark.\nAt night.", ((0, 10), (11, 20)), headings=((0, 10, 1),))
    index = Index.build([document], tmp_path / "i", corpus=CorpusOptions(title_in_text=True))
    found = index.document("d")
    assert [found.text[start:end] for start, end in found.passages] == ["They bark.", "At night."]
    assert index.metadata("d")["headings"] == [[5, 15, 1]]
    again = Index.build(iter(index), tmp_path / "again", corpus=CorpusOptions(title_in_text=True))
    assert again.document("d") == found


def test_predicted_queries_come_after_fields_of_the_index(tmp_path: Path) -> None:
    documents = [{"id": "d", "url": "https://a", "text": "red"}]
    (tmp_path / "predicted.jsonl").write_text(json.dumps({"doc_id": "d", "queries": ["blue", "green"]}) + "\n")
    corpus = CorpusOptions(index_only=("url",))
    index = Index.build(documents, corpus=corpus, expansions=tmp_path / "predicted.jsonl", original_copies=3)
    assert index.lengths.tolist() == [3 * 1 + 1 + 2]  # https ("a" is a stop word), blue, green
    assert Index.build(documents, corpus=corpus, original_copies=3).lengths.tolist() == [3 * 1 + 1]


def test_documents_of_another_index_lack_fields_and_queries_that_it_does_not_store(tmp_path: Path) -> None:
    documents = [{"id": "d", "url": "https://a", "title": "Reds", "text": "red"}]
    (tmp_path / "predicted.jsonl").write_text(json.dumps({"doc_id": "d", "queries": ["blue", "green"]}) + "\n")
    corpus = CorpusOptions(index_only=("url",), metadata=(), title_in_text=True)
    index = Index.build(documents, tmp_path / "i", corpus=corpus, expansions=tmp_path / "predicted.jsonl")
    again = Index.build(index)
    assert again.lengths.tolist() == [3]
    with Index.build([("e", "moon")], tmp_path / "other").writer(notes := Notes()) as writer:
        writer.add(index)
    assert notes.lines() == again.notes.lines()
    assert again.notes.lines() == [
        "the predicted queries of the index that is read are left out: give their files again",
        "fields that the index that is read does not store are left out: url",
        "texts of the index that is read begin with their titles: titles are indexed twice, unless left out",
    ]
    kept = Index.build(documents, tmp_path / "kept", corpus=CorpusOptions(index_only=("url",), title_in_text=True))
    again = Index.build(kept, tmp_path / "same", corpus=CorpusOptions(index_only=("url",), title_in_text=True))
    assert (again.notes.lines(), again.digest) == ([], kept.digest)
    plain = Index.build(documents, tmp_path / "plain", compress=0)
    assert Index.build(plain).notes.lines() == []
    with index.writer(notes := Notes()) as writer:
        writer.add([index.document("d")], replace=True)
    assert "Document values without a field that is indexed only: 1" in notes.lines()


def test_an_index_without_such_fields_has_the_same_record_as_before() -> None:
    assert "index_only" not in Index.build([("d", "red")]).options.as_json()


def test_a_field_that_no_document_has_is_refused() -> None:
    with pytest.raises(InputError, match="no document has this field"):
        Index.build([{"id": "d", "text": "red"}], corpus=CorpusOptions(index_only=("url",)))
    with pytest.raises(InputError, match="fields must be different names"):
        Index.build([{"id": "d", "text": "red"}], corpus=CorpusOptions(index_only=("text",)))


@pytest.mark.parametrize("name", ["msmarco-document", "msmarco-document-train", "dl19-document", "dl20-document"])
def test_recipes_index_the_url_alone(name: str, tmp_path: Path) -> None:
    wanted = ("--index-only", "url", "--title-in-text")
    entry = find_entry(name)
    assert Collection(name=name, entry=entry, sources=("irds:x",)).index_options == wanted
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "msmarco-docs.tsv").write_text(ROW)
    assert Collection(name=name, entry=entry, sources=(str(tmp_path / "docs"),)).index_options == wanted
    (tmp_path / "docs" / "msmarco-docs.tsv").rename(tmp_path / "docs" / "msmarco-docs.trec")
    assert Collection(name=name, entry=entry, sources=(str(tmp_path / "docs"),)).index_options == ()


def test_names_and_patterns_may_be_a_text() -> None:
    options = CorpusOptions(fields="title, text", metadata="year", files=FileOptions(include="*.txt"))  # type: ignore[arg-type]
    assert (options.fields, options.metadata, options.files.include) == (("title", "text"), ("year",), ("*.txt",))
    assert CorpusOptions(fields=["text"]).fields == ("text",)  # type: ignore[arg-type]


def test_documents_keep_their_text_whatever_fields_are_chosen_and_are_noted(tmp_path: Path) -> None:
    notes, corpus = Notes(), CorpusOptions(fields=("text", "url"))
    rows = [Document("a", "", "alpha", metadata={"url": "omega"}), {"id": "b", "text": "beta", "url": "omega"}]
    index = Index.build(rows, tmp_path / "index", corpus=corpus, notes=notes)
    assert [document.text for document in index] == ["alpha", "beta\nomega"]
    assert notes["Document values, whose text is read as it is, not by the chosen fields"] == 1
