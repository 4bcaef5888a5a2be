"""Contracts of first stages: every preset, every similarity, and Replay."""

from __future__ import annotations

import pytest

from collections_of_words import located, random_documents
from longrank.index import Index, build_index
from longrank.protocols import Retriever
from longrank.retrieval import PRESETS, SIMILARITIES, Replay, make_retriever
from longrank.types import Query, Run

QUERIES = [Query("q1", "a b abc"), Query("q2", "zürich"), Query("q3", "title"), Query("q4", "nowhere"), Query("q5", "")]
WORDS = [name for name, stage in PRESETS.items() if stage.analyzer in ("", "porter") and stage.kind == "words"]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return build_index(located(random_documents(80)), tmp_path_factory.mktemp("contract") / "index")


@pytest.fixture(scope="module", params=[*WORDS, *(f"similarity {name}" for name in SIMILARITIES), "replay"])
def retriever(request: pytest.FixtureRequest, index: Index) -> Retriever:
    if request.param.startswith("similarity "):
        return make_retriever(index, similarity=request.param.removeprefix("similarity "))
    if request.param != "replay":
        return make_retriever(index, request.param)
    bm25 = make_retriever(index, "bm25-anserini")
    return Replay(Run("tag", [row for query in QUERIES for row in bm25.retrieve(query, 1000)]))


def test_rankings_are_best_first_with_ties_by_doc_id_descending(retriever: Retriever) -> None:
    for query in QUERIES:
        found = retriever.retrieve(query, 1000)
        assert found == list(Run("tag", found).get(query.query_id))
        assert len(found) == len({row.doc_id for row in found})


@pytest.mark.parametrize("k", [1, 2, 7, 30])
def test_the_best_k_are_the_beginning_of_all(retriever: Retriever, k: int) -> None:
    for query in QUERIES:
        assert retriever.retrieve(query, k) == retriever.retrieve(query, 1000)[:k]


def test_something_is_found_for_some_queries_and_nothing_for_others(retriever: Retriever) -> None:
    sizes = {query.query_id: len(retriever.retrieve(query, 1000)) for query in QUERIES}
    assert sizes["q3"] > 30
    assert min(sizes["q1"], sizes["q2"]) > 0  # axiomatic feedback loses the "b" of q1, and keeps q2 as it is
    assert sizes["q4"] == sizes["q5"] == 0
