"""What is shown of a result: the best passages, and where the words of the query stand in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes import index_of
from longrank.index import Index
from longrank.ranking.explain import search
from longrank.ranking.found import result_json
from longrank.ranking.pipeline import open_pipeline
from longrank.types import Document, Notes

FILLER = "moon tide chain wheel light house bread stone river salt"
TEXT = f"{FILLER} 😀 the fox {FILLER} foxes: the Fox's FOX {FILLER}"
"""Windows of ten words without overlap: one fox in the second, three in the third."""
APART = f"A fox! {FILLER}. {FILLER}. {FILLER}. The foxes: fox. {FILLER}"
"""The same; one fox in the first, two in the fourth, nothing in the second."""
WINDOWS = ["passages.options={length=10, stride=10}"]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    documents = [Document("d", "a title", TEXT), Document("e", "", FILLER), Document("a", "", APART)]
    return index_of(documents, tmp_path_factory.mktemp("e") / "index")


def test_the_best_passages_come_first_with_their_own_scores(index: Index) -> None:
    pipeline = open_pipeline(index, "lexical", assignments=WINDOWS, notes=Notes())
    result = next(one for one in search(pipeline, "a fox", k=5, passages=2) if one.doc_id == "a")
    assert (result.title, result.n_passages, result.n_scored) == ("", 5, 5)
    best, second = result.passages
    assert (best.index, second.index) == (3, 0)
    assert best.score > second.score > 0
    assert result.aggregate == result.score == best.score
    assert result.first_stage != result.score
    for passage in result.passages:
        assert APART[passage.start : passage.end] == passage.text


def test_passages_that_touch_are_shown_as_one_with_the_score_of_the_better(index: Index) -> None:
    pipeline = open_pipeline(index, "lexical", assignments=WINDOWS, notes=Notes())
    result = next(one for one in search(pipeline, "a fox", k=5, passages=2) if one.doc_id == "d")
    (shown,) = result.passages
    assert (shown.index, shown.score) == (2, result.aggregate)
    assert shown.text == TEXT[TEXT.index("😀") : TEXT.index(" chain", TEXT.index("FOX")) + len(" chain")]


def test_the_words_of_the_query_are_marked_in_code_points_of_the_document(index: Index) -> None:
    pipeline = open_pipeline(index, "lexical", assignments=WINDOWS, notes=Notes())
    result = next(one for one in search(pipeline, "the foxes", k=5, passages=1) if one.doc_id == "d")
    marked = [TEXT[a:b] for a, b in result.passages[0].words]
    assert marked == ["foxes", "Fox's", "FOX"]  # "the" is a stop word; "Fox's" and "foxes" are stemmed
    shown = result_json(result)
    assert [TEXT[a:b] for a, b in shown["passages"][0]["words"]] == marked
    assert (shown["doc_id"], shown["n_truncated"]) == ("d", 0)


def test_the_best_sentence_of_each_passage_is_marked_in_code_points_of_the_document(index: Index) -> None:
    pipeline = open_pipeline(index, "lexical", assignments=WINDOWS, notes=Notes())
    result = next(one for one in search(pipeline, "a fox", k=5, passages=2) if one.doc_id == "a")
    assert [[APART[a:b] for a, b in shown.highlights] for shown in result.passages] == [["The foxes: fox."], ["A fox!"]]
    assert result_json(result)["passages"][1]["highlights"] == [[0, 6]]


def test_a_query_whose_words_no_document_holds_has_no_results(index: Index) -> None:
    pipeline = open_pipeline(index, "lexical", notes=Notes())
    assert search(pipeline, "unicorn") == []
    assert search(pipeline, "the of and") == []


def test_a_first_stage_alone_shows_no_passages(index: Index) -> None:
    result = search(open_pipeline(index, "bm25", notes=Notes()), "fox")[0]
    assert (result.aggregate, result.passages, result.score) == (None, (), result.first_stage)


def test_a_document_below_the_depth_has_the_score_of_the_first_stage(tmp_path: Path) -> None:
    documents = [Document(f"d{n}", "", f"{'fox ' * (n + 1)}{FILLER}") for n in range(4)]
    index = index_of(documents, tmp_path / "index")
    found = search(open_pipeline(index, "lexical", assignments=["final.depth=2"], notes=Notes()), "fox", k=4)
    first = {one.doc_id: one.score for one in search(open_pipeline(index, "bm25", notes=Notes()), "fox", k=4)}
    assert [one.aggregate is None for one in found] == [False, False, True, True]
    assert {one.doc_id: one.first_stage for one in found} == first


def test_half_a_surrogate_pair_in_a_query_is_no_failure(index: Index) -> None:
    results = search(open_pipeline(index, "lexical", notes=Notes()), "fox \udcff")
    assert {result.doc_id for result in results} == {"a", "d"}
