"""Two searches with feedback between them: which query is searched for, by what, and what is counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from feedback_collections import index_of, with_others
from longrank.index import Index
from longrank.retrieval import BM25, Hits, Searcher, WithFeedback
from longrank.retrieval.bm25 import BM25WithoutIdf
from longrank.retrieval.searcher import MAX_TERMS
from longrank.types import Notes, Query

NOTE = "queries not expanded, since feedback found no terms: 1 (first: q)"


@dataclass
class Fixed:
    """A model that always gives the same new query, and remembers what it was asked."""

    new: dict[str, float]
    asked: list[tuple[dict[str, float], list[int]]] = field(default_factory=list)
    first_pass: int = 2

    def expand(self, query: Mapping[str, float], hits: Hits, index: Index) -> dict[str, float]:
        self.asked.append((dict(query), hits.numbers.tolist()))
        return self.new

    def second_pass(self, searcher: Searcher) -> Searcher:
        return BM25WithoutIdf(searcher.index, k1=0.0, b=0.0)  # a score is the sum of the weights


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return index_of(tmp_path, with_others(["apple apple apple", "apple pear plum", "pear apple apple", "fig"]))


def test_the_model_sees_the_best_documents_of_the_query(index: Index) -> None:
    model = Fixed({"fig": 2.0})
    WithFeedback(BM25(index), model).retrieve(Query("q", "apple apple kiwi"), 9)
    assert model.asked == [({"apple": 2, "kiwi": 1}, [0, 2])]


def test_its_query_is_searched_for_by_the_searcher_of_the_second_pass(index: Index) -> None:
    found = WithFeedback(BM25(index), Fixed({"fig": 2.0, "pear": 0.5, "plum": 0.25})).retrieve(Query("q", "apple"), 9)
    assert [(row.doc_id, row.score) for row in found] == [("d0003", 2.0), ("d0001", 0.75), ("d0002", 0.5)]


def test_an_empty_new_query_is_replaced_by_the_old_one_and_the_old_searcher_and_counted(index: Index) -> None:
    notes = Notes()
    first = BM25(index, notes=notes)
    assert WithFeedback(first, Fixed({})).retrieve(Query("q", "apple"), 9) == first.retrieve(Query("q", "apple"), 9)
    assert notes.lines() == [NOTE]


def test_a_query_that_finds_nothing_is_not_expanded(index: Index) -> None:
    notes, model = Notes(), Fixed({"fig": 2.0})
    assert WithFeedback(BM25(index, notes=notes), model).retrieve(Query("q", "kiwi"), 9) == []
    assert (model.asked, notes.lines()) == ([], [NOTE])


def test_a_query_without_terms_is_counted_once(index: Index) -> None:
    notes = Notes()
    assert WithFeedback(BM25(index, notes=notes), Fixed({"fig": 2.0})).retrieve(Query("q", " "), 9) == []
    assert notes.lines() == ["queries without terms after analysis: 1 (first: q)"]


def test_remarks_can_go_to_another_place(index: Index) -> None:
    ours, theirs = Notes(), Notes()
    WithFeedback(BM25(index, notes=ours), Fixed({})).noting(theirs).retrieve(Query("q", "apple"), 9)
    assert (ours.lines(), theirs.lines()) == ([], [NOTE])


def test_only_the_heaviest_terms_of_a_new_query_are_shown_and_searched_for(index: Index) -> None:
    notes = Notes()
    new = {"fig": 0.5, "pear": 2.0} | {f"t{i:04d}": 1.0 for i in range(MAX_TERMS)}
    expanded = WithFeedback(BM25(index, notes=notes), Fixed(new)).expand(Query("q", "apple")).terms
    assert set(expanded) == {"pear", *(f"t{i:04d}" for i in range(MAX_TERMS - 1))}
    assert notes.lines() == ["query terms left out, beyond the 1024 heaviest: 2 (first: q)"]
