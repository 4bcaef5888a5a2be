"""What goes into an index comes out of it, however it was built."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from collections_of_words import located, random_documents
from longrank.errors import InputError
from longrank.index import Index, IndexOptions, batches, build_index, merge
from longrank.text.analysis import ANALYZERS
from longrank.types import Document, Notes

DOCUMENTS = random_documents(120)


@pytest.fixture
def tiny_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many segments, blocks and runs, where real ones would need gigabytes."""
    monkeypatch.setattr(batches, "_CHARS", 3000)
    monkeypatch.setattr(merge, "_BLOCK", 64)
    monkeypatch.setattr(merge, "_SAMPLE", 4)
    monkeypatch.setattr(merge, "_BUFFER", 50)


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def expected_postings(documents: list[Document], options: IndexOptions) -> dict[str, dict[int, int]]:
    """The inverted index, the slow and obvious way."""
    postings: dict[str, dict[int, int]] = {}
    for number, document in enumerate(documents):
        for term, tf in Counter(ANALYZERS[options.analyzer](options.indexed(document.title, document.text))).items():
            postings.setdefault(term, {})[number] = tf
    return postings


def check_equal(index: Index, documents: list[Document]) -> None:
    expected = expected_postings(documents, index.options)
    lengths = [sum(tfs.get(i, 0) for tfs in expected.values()) for i in range(len(documents))]
    assert list(index) == documents
    assert list(index.terms()) == sorted(expected)
    for term, tfs in expected.items():
        numbers, occurrences = index.postings(term)
        assert dict(zip(numbers.tolist(), occurrences.tolist(), strict=True)) == tfs
        assert numbers.tolist() == sorted(tfs)
        assert (index.df(term), index.count(term)) == (len(tfs), sum(tfs.values()))
        number = index.term_number(term)
        assert number is not None
        assert index.terms_at(np.array([number])) == [term]
        assert index.dfs(np.array([number])).tolist() == [len(tfs)]
    for number in range(len(documents)):
        terms, occurrences = index.vector(number)
        found = dict(zip(index.terms_at(terms), occurrences.tolist(), strict=True))
        assert found == {term: tfs[number] for term, tfs in expected.items() if number in tfs}
        assert terms.tolist() == sorted(terms.tolist())
    assert index.lengths.tolist() == lengths
    assert (index.n_docs, index.n_terms, index.total_terms) == (len(documents), len(expected), sum(lengths))
    assert index.avgdl == pytest.approx(sum(lengths) / sum(length > 0 for length in lengths))


@pytest.mark.parametrize("options", [IndexOptions(), IndexOptions(analyzer="none"), IndexOptions(index_title=False)])
def test_documents_and_postings_come_out_as_they_went_in(tmp_path: Path, options: IndexOptions) -> None:
    check_equal(build_index(located(DOCUMENTS), tmp_path / "index", options=options), DOCUMENTS)


@pytest.mark.usefixtures("tiny_pieces")
def test_an_index_of_many_segments_is_complete(tmp_path: Path) -> None:
    check_equal(build_index(located(DOCUMENTS), tmp_path / "index"), DOCUMENTS)


def test_where_segments_were_cut_does_not_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    build_index(located(DOCUMENTS), tmp_path / "whole")
    request.getfixturevalue("tiny_pieces")
    build_index(located(DOCUMENTS), tmp_path / "pieces")
    assert contents(tmp_path / "whole") == contents(tmp_path / "pieces")


def test_two_processes_write_the_same_bytes_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_CHARS", 3000)
    seen: list[int] = []
    build_index(located(DOCUMENTS), tmp_path / "one")
    build_index(located(DOCUMENTS), tmp_path / "two", workers=2, progress=seen.append)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert sum(seen) == len(DOCUMENTS)
    assert len(seen) > 3


def test_an_error_in_a_worker_process_is_the_error_of_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "_CHARS", 500)
    bad = [*DOCUMENTS, Document("bad", "", "lone \ud800 surrogate")]
    with pytest.raises(InputError, match="document 'bad': surrogates not allowed"):
        build_index(located(bad), tmp_path / "index", workers=2)
    assert not (tmp_path / "index").exists()


def test_documents_are_found_by_id_and_by_number(tmp_path: Path) -> None:
    index = build_index(located(DOCUMENTS), tmp_path / "index")
    for number, document in enumerate(DOCUMENTS):
        assert document.doc_id in index
        assert index.number(document.doc_id) == number
        assert index.doc_id(number) == document.doc_id
        assert index.document(document.doc_id) == document
    assert index.doc_ids(np.array([5, 0, 5])) == [DOCUMENTS[i].doc_id for i in (5, 0, 5)]
    ranked = sorted(range(len(DOCUMENTS)), key=lambda i: DOCUMENTS[i].doc_id.encode())
    assert np.argsort(index.id_ranks).tolist() == ranked


@pytest.mark.parametrize("absent", ["", "doc", "zzz", "\ud800", 7, None])
def test_an_unknown_id_is_not_in_the_index(tmp_path: Path, absent: object) -> None:
    index = build_index(located(DOCUMENTS[:9]), tmp_path / "index")
    assert absent not in index
    if isinstance(absent, str):
        with pytest.raises(KeyError):
            index.document(absent)


@pytest.mark.parametrize("term", ["", "nowhere", "zzzz", "\ud800"])
def test_an_unknown_term_has_no_postings(tmp_path: Path, term: str) -> None:
    index = build_index(located(DOCUMENTS[:9]), tmp_path / "index")
    assert index.df(term) == index.count(term) == len(index.postings(term)[0]) == 0
    assert index.term_number(term) is None


@pytest.mark.parametrize(("occurrences", "width"), [(255, 1), (256, 2), (70_000, 4)])
def test_occurrences_are_kept_as_narrow_as_they_fit(tmp_path: Path, occurrences: int, width: int) -> None:
    index = build_index(located([Document("d", "", "word " * occurrences)]), tmp_path / "index")
    assert index.postings("word")[1].tolist() == [occurrences]
    _, tfs = index.vector(0)
    assert tfs.tolist() == [occurrences]
    assert tfs.itemsize == width


@pytest.mark.usefixtures("tiny_pieces")
@pytest.mark.parametrize("second", [1, 60])
def test_a_repeated_id_is_refused_with_both_places(tmp_path: Path, second: int) -> None:
    stream = located(DOCUMENTS)
    stream[second] = stream[second]._replace(document=Document(DOCUMENTS[0].doc_id, "", "other"), path="more.jsonl")
    with pytest.raises(InputError) as caught:
        build_index(stream, tmp_path / "index")
    where = f"more.jsonl:{second + 1}: doc_id occurs twice, first at docs.jsonl:1 (got '{DOCUMENTS[0].doc_id}')"
    assert str(caught.value) == where
    assert not (tmp_path / "index").exists()


def test_no_document_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no document; the list is empty"):
        build_index([], tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_an_unknown_analyzer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown analyzer"):
        build_index(located(DOCUMENTS), tmp_path / "index", options=IndexOptions(analyzer="krovetz"))


def test_documents_with_nothing_to_index_are_kept_and_counted(tmp_path: Path) -> None:
    notes = Notes()
    documents = [Document("a", "", ""), Document("b", "", "the of"), Document("c", "", "word")]
    index = build_index(located(documents), tmp_path / "index", notes=notes)
    assert (index.n_docs, index.n_nonempty, index.avgdl) == (3, 1, 1.0)
    assert notes["documents without a term, which no query finds"] == 2
    check_equal(index, documents)


def test_an_index_of_nothing_but_empty_documents_opens(tmp_path: Path) -> None:
    index = build_index(located([Document("a", "", "")]), tmp_path / "index")
    assert (index.n_docs, index.n_terms, index.avgdl) == (1, 0, 0.0)


def test_equal_content_gives_equal_digests_and_other_content_others(tmp_path: Path) -> None:
    first = build_index(located(DOCUMENTS), tmp_path / "a").digest
    assert build_index(located(DOCUMENTS, "elsewhere.tsv"), tmp_path / "b").digest == first
    assert build_index(located(DOCUMENTS[1:]), tmp_path / "c").digest != first
    assert build_index(located(DOCUMENTS), tmp_path / "d", options=IndexOptions(analyzer="none")).digest != first
