"""Several threads answer as one does."""

from __future__ import annotations

import gc

import pytest

import longrank
from collections_of_words import located, random_documents
from longrank.errors import InputError
from longrank.index import Index, build_index
from longrank.retrieval import BM25, make_retriever, retrieve_all, sparing_old_objects
from longrank.types import Notes, Query

QUERIES = [Query(f"q{i}", text) for i, text in enumerate(["a b abc", "", "c ca", "zürich", "the", "dd e"] * 10)]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return build_index(located(random_documents(80)), tmp_path_factory.mktemp("batch") / "index")


@pytest.mark.parametrize("preset", ["bm25-anserini", "ql", "bm25-lucene+rm3"])
@pytest.mark.parametrize("threads", [1, 3])
def test_answers_and_remarks_come_in_the_order_of_the_queries(index: Index, preset: str, threads: int) -> None:
    notes, one_by_one = Notes(), Notes()
    expected = [make_retriever(index, preset, notes=one_by_one).retrieve(query, 20) for query in QUERIES]
    found = retrieve_all(make_retriever(index, preset, notes=notes), QUERIES, 20, threads)
    assert [ranking.rows() for ranking in found] == expected
    assert notes.lines() == one_by_one.lines() == ["queries without terms after analysis: 20 (first: q1)"]


def test_remarks_have_one_order_whatever_the_blocks(index: Index) -> None:
    queries = ["zzz", *["a b"] * 11, "", "c"]
    found = [longrank.retrieve(index, queries, k=k, allow_empty=True, threads=2).notes.lines() for k in (10, 5000)]
    found.append(longrank.retrieve(index, queries, k=10, allow_empty=True, engine="local").notes.lines())
    assert len(found[0]) == 3 and found[0] == found[1] == found[2]


def test_a_few_queries_are_shared_out_to_all_threads(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, block = [], BM25.retrieve_block
    monkeypatch.setattr(BM25, "retrieve_block", lambda self, some, k: sizes.append(len(some)) or block(self, some, k))
    assert len(list(retrieve_all(make_retriever(index), QUERIES[:16], 10, 8))) == 16
    assert sizes == [2] * 8


@pytest.mark.parametrize("threads", [0, -1])
def test_threads_are_at_least_one(index: Index, threads: int) -> None:
    with pytest.raises(InputError, match="threads must be 1 or more"):
        longrank.retrieve(index, ["a"], threads=threads)


def test_an_error_ends_the_work(index: Index) -> None:
    with pytest.raises(Exception, match="k must be at least 1"):
        list(retrieve_all(make_retriever(index), QUERIES, 0, 2))


def test_no_query_gives_no_answer(index: Index) -> None:
    assert list(retrieve_all(make_retriever(index), [], 10, 2)) == []


def test_full_rounds_of_the_collector_wait_until_the_last_of_overlapping_calls_ends(index: Index) -> None:
    before = gc.get_threshold()
    first, second = sparing_old_objects(), sparing_old_objects()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold()[2] > 1000 * before[2]
    second.__exit__(None, None, None)
    assert gc.get_threshold() == before
    seen = []
    longrank.retrieve(index, ["a b", "c"], progress=lambda n: seen.append(gc.get_threshold()[2]))
    assert min(seen) > 1000 * before[2] and gc.get_threshold() == before
