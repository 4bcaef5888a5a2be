from __future__ import annotations

from pathlib import Path

import pytest

from longrank.analysis.collection import judged_documents, judgments, measured, query_statistics, words
from longrank.analysis.sources import open_source
from longrank.errors import InputError
from longrank.formats.trec import read_qrels
from longrank.types import Document, Notes, Query

DOCUMENTS = [
    Document("a", "one two", "three four five"),
    Document("b", "", " "),
    Document("c", "", "six"),
]
QRELS = {"q1": {"a": 2, "c": 0, "x": 1}, "q2": {"a": 0, "y": -1}, "q3": {"x": 1}}
QUERIES = [Query("q1", "what is it"), Query("q2", "who"), Query("q9", "never judged")]


def lengths() -> dict[str, dict[str, int]]:
    _, found = measured(DOCUMENTS, {"words": words}, judged_documents(QRELS))
    return {doc_id: dict(one) for doc_id, one in found.items()}


def test_documents_are_measured_with_their_titles_in_every_unit() -> None:
    units = {"words": words, "characters": lambda _, document: len(document.text), "places": lambda n, _: n}
    found, kept = measured(DOCUMENTS, units, {"a", "nowhere"})
    assert (found.n, found.empty) == (3, 1)
    assert [found.lengths["words"].mean, found.lengths["words"].max] == [2, 5]
    assert found.lengths["places"].max == 2
    assert kept == {"a": {"words": 5, "characters": 15, "places": 0}}


def test_no_document_is_an_error() -> None:
    with pytest.raises(InputError, match="no document to measure"):
        measured([], {"words": words}, ())


def test_queries_are_counted_and_those_judged() -> None:
    found = query_statistics(QUERIES, QRELS)
    assert (found.n, found.judged, found.words.max) == (3, 2, 3)
    assert query_statistics(QUERIES, None).judged is None


def test_judgments_are_counted_by_grade_and_negative_ones_are_none() -> None:
    found = judgments(QRELS, lengths(), QUERIES)
    assert (found.n, found.relevant, found.without_relevant) == (5, 3, 1)
    assert found.grades == {-1: 1, 0: 2, 1: 2, 2: 1}
    assert (found.per_query.mean, found.relevant_per_query.mean) == (pytest.approx(5 / 3), 1)
    assert judgments(QRELS, lengths(), QUERIES, level=2).relevant == 1


def test_queries_whose_grades_are_all_below_zero_are_not_judged() -> None:
    qrels = {**QRELS, "q9": {"a": -1}, "q8": {"b": -2}}
    assert query_statistics(QUERIES, qrels).judged == 2
    found, without = judgments(qrels, lengths(), QUERIES), judgments(QRELS, lengths(), QUERIES)
    assert found.grades == {**without.grades, -1: 2, -2: 1}
    assert [found.without_relevant, found.unknown, found.per_query, found.relevant_per_query] == [
        without.without_relevant,
        without.unknown,
        without.per_query,
        without.relevant_per_query,
    ]
    nothing = judgments({"q9": {"a": -1}}, lengths(), QUERIES)
    assert (nothing.n, nothing.without_relevant, nothing.per_query.max) == (0, 0, 0)


def test_judged_documents_and_queries_that_are_missing_are_named() -> None:
    found = judgments(QRELS, lengths(), QUERIES)
    assert (found.missing, found.of_missing) == (("x",), 2)
    assert found.unknown == ("q3",)
    assert judgments(QRELS, lengths(), None).unknown is None


def test_one_example_of_each_grade_is_drawn_among_documents_that_are_there() -> None:
    drawn = {one.grade: (one.query_id, one.doc_id) for one in judgments(QRELS, lengths(), None).examples}
    assert drawn[2] == ("q1", "a")
    assert drawn[0] in {("q1", "c"), ("q2", "a")}
    assert drawn.keys() == {0, 2}  # the documents of grade 1 are missing
    seeds = {judgments(QRELS, lengths(), None, seed=seed).examples[0].doc_id for seed in range(20)}
    assert seeds == {"a", "c"}
    backwards = {q: dict(reversed(judged.items())) for q, judged in reversed(QRELS.items())}
    assert judgments(backwards, lengths(), None).examples == judgments(QRELS, lengths(), None).examples


@pytest.mark.parametrize(
    ("name", "documents", "per_document", "judged", "per_query"),
    [
        ("time", 423, (623.5, 484, 76, 5408), 324, (3.9, 2, 18)),
        ("cranfield", 1400, (176.6, 156, 0, 689), 1837, (8.2, 7, 40)),
    ],
)
def test_the_counts_are_those_that_the_collections_state(
    shared_data: Path,
    name: str,
    documents: int,
    per_document: tuple[float, ...],
    judged: int,
    per_query: tuple[float, ...],
) -> None:
    """Expected: the README of each, counted by the program that converted it."""
    source = open_source(str(shared_data / name), Notes())
    qrels = read_qrels(shared_data / name / "qrels.txt", Notes())
    found, lengths = measured(source.documents(), {"words": words}, judged_documents(qrels))
    length = found.lengths["words"]
    assert found.n == documents
    assert (round(length.mean, 1), length.percentiles[50], length.min, length.max) == per_document
    grades = judgments(qrels, lengths, None)
    assert (grades.n, grades.missing) == (judged, ())
    assert (round(grades.per_query.mean, 1), grades.per_query.percentiles[50], grades.per_query.max) == per_query
