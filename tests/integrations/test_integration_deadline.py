"""Rerankers of all frameworks with a deadline: counts of a partial ranking in the metadata."""

from __future__ import annotations

import copy
import math
import pickle
from functools import partial
from typing import Any

import pytest

from integrations_texts import ANSWER, ORDER, QUERY, TEXTS
from longrank.errors import InputError
from longrank.integrations import reranking, searching
from longrank.integrations.reranking import LazyReranker, document
from longrank.integrations.searching import LazySearcher
from longrank.ranking.timed import Deadline
from slow_reading import Clock, slowed

COUNTS = {"n_documents": 3, "n_read": 0, "n_partly": 1, "n_unread": 2}
READ_ONE = ["long", "far", "near"]
"""The documents if one passage is read: the others keep their order."""
DOCUMENTS = [document(doc_id, text) for doc_id, text in TEXTS.items()]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (reranking, searching):
        monkeypatch.setattr(module, "Deadline", partial(Deadline, clock=clock))
    return clock


def test_counts_stand_in_the_evidence_and_unread_documents_have_no_score(index: str, clock: Clock) -> None:
    reranker = LazyReranker("lexical", index=index, deadline=2)
    slowed(reranker.load(), clock)
    ranked = reranker.rank(QUERY, DOCUMENTS, passages=1)
    assert [DOCUMENTS[result.index].doc_id for result, _ in ranked] == READ_ONE
    assert [evidence["partial"] for _, evidence in ranked] == [COUNTS] * 3
    assert [evidence["score"] is None for _, evidence in ranked] == [False, True, True]
    assert all(evidence["truncated"] for _, evidence in ranked)
    assert ANSWER in ranked[0][1]["passages"][0]["text"]


def test_with_time_enough_nothing_differs(index: str, clock: Clock) -> None:
    timed, whole = LazyReranker("lexical", index=index, deadline=1000), LazyReranker("lexical", index=index)
    slowed(timed.load(), clock)
    got, expected = (one.rank(QUERY, DOCUMENTS, passages=2) for one in (timed, whole))
    assert [evidence for _, evidence in got] == [evidence for _, evidence in expected]
    assert "partial" not in got[0][1]


def test_copies_keep_the_deadline() -> None:
    reranker = LazyReranker("lexical", deadline=2.5)
    assert [again.deadline for again in (copy.deepcopy(reranker), pickle.loads(pickle.dumps(reranker)))] == [2.5, 2.5]


@pytest.mark.parametrize("wrong", [0, -1, math.nan])
def test_a_wrong_deadline_is_told_at_once(wrong: float) -> None:
    with pytest.raises(InputError, match="deadline must be a number of seconds above 0"):
        LazyReranker("lexical", deadline=wrong)


def test_langchain(index: str, clock: Clock) -> None:
    documents = pytest.importorskip("langchain_core.documents", reason="needs the extra langchain")
    from longrank.integrations.langchain import LongRankCompressor

    compressor = LongRankCompressor(pipeline="lexical", index=index, deadline=2)
    slowed(compressor._reranker.load(), clock)
    given = [documents.Document(text, id=doc_id, metadata={"source": doc_id}) for doc_id, text in TEXTS.items()]
    out = compressor.compress_documents(given, QUERY)
    assert [one.id for one in out] == READ_ONE
    assert [one.metadata["longrank"]["partial"] for one in out] == [COUNTS] * 3
    assert [one.metadata["relevance_score"] for one in out[1:]] == [0.0, 0.0]


def test_llama_index(index: str, clock: Clock) -> None:
    schema = pytest.importorskip("llama_index.core.schema", reason="needs the extra llama-index")
    from longrank.integrations.llama_index import LongRankPostprocessor

    made = LongRankPostprocessor(pipeline="lexical", index=index, deadline=2)
    again = LongRankPostprocessor.from_dict(made.to_dict())
    slowed(again._reranker.load(), clock)
    nodes = [schema.NodeWithScore(node=schema.TextNode(id_=doc_id, text=text)) for doc_id, text in TEXTS.items()]
    out = again.postprocess_nodes(nodes, query_str=QUERY)
    assert [one.node_id for one in out] == READ_ONE
    assert [one.node.metadata["longrank"]["partial"] for one in out] == [COUNTS] * 3


def test_haystack(index: str, clock: Clock) -> None:
    haystack = pytest.importorskip("haystack", reason="needs the extra haystack")
    from longrank.integrations.haystack import LongRankRanker

    ranker = LongRankRanker.from_dict(LongRankRanker("lexical", index=index, deadline=2).to_dict())
    slowed(ranker.reranker.load(), clock)
    given = [haystack.Document(id=doc_id, content=text) for doc_id, text in TEXTS.items()]
    out = ranker.run(query=QUERY, documents=given)["documents"]
    assert [one.id for one in out] == READ_ONE
    assert [one.meta["longrank"]["partial"] for one in out] == [COUNTS] * 3


def test_pyterrier_has_a_column_of_counts_for_each_query(index: str, clock: Clock) -> None:
    pd = pytest.importorskip("pandas", reason="needs the extra pyterrier")
    pytest.importorskip("pyterrier", reason="needs the extra pyterrier")
    from longrank.integrations.pyterrier import LongRankReranker

    reranker = LongRankReranker("lexical", index=index, deadline=2)
    rows = [(qid, QUERY, docno, text) for qid in ("q1", "q2") for docno, text in TEXTS.items()]
    frame = pd.DataFrame(rows, columns=["qid", "query", "docno", "text"])
    assert reranker(frame.iloc[:0]).columns[-1] == "longrank_partial"
    slowed(reranker.reranker.load(), clock)
    out: Any = reranker(frame)
    assert out.docno.tolist() == READ_ONE * 2
    assert out.longrank_partial.tolist() == [COUNTS] * 6
    assert out.longrank_score.isna().tolist() == [False, True, True] * 2
    for _, one in out.groupby("qid"):
        assert one.score.is_monotonic_decreasing
    whole = LongRankReranker("lexical", index=index)(out)
    assert "longrank_partial" not in whole.columns  # counts of an earlier ranking are gone
    assert whole.docno.tolist() == ORDER * 2


# --- retrievers: two of the documents share a word with the query ---------------------------------

FOUND = {"n_documents": 2, "n_read": 0, "n_partly": 1, "n_unread": 1}


def check_found(doc_ids: list[str], evidence: list[dict[str, Any]]) -> None:
    assert doc_ids == ["long", "near"]
    assert [one["partial"] for one in evidence] == [FOUND] * 2
    assert [one["score"] is None for one in evidence] == [False, True]
    assert all(one["truncated"] for one in evidence)
    assert ANSWER in evidence[0]["passages"][0]["text"]
    assert evidence[1]["passages"] == []


def test_a_search_counts_what_its_deadline_left_unread(index: str, clock: Clock) -> None:
    searcher = pickle.loads(pickle.dumps(LazySearcher(index, "lexical", deadline=2)))
    slowed(searcher.load(), clock)
    found = searcher.search(QUERY, k=3, passages=1)
    check_found([result.doc_id for result, _, _ in found], [metadata["longrank"] for _, _, metadata in found])
    with pytest.raises(InputError, match="deadline must be a number of seconds above 0"):
        LazySearcher(index, "lexical", deadline=0)


def test_a_search_with_time_enough_is_the_same(index: str, clock: Clock) -> None:
    timed, whole = LazySearcher(index, "lexical", deadline=1000), LazySearcher(index, "lexical")
    slowed(timed.load(), clock)
    assert timed.search(QUERY, k=3, passages=2) == whole.search(QUERY, k=3, passages=2)


def test_langchain_retriever(index: str, clock: Clock) -> None:
    pytest.importorskip("langchain_core", reason="needs the extra langchain")
    from longrank.integrations.langchain_retriever import LongRankRetriever

    retriever = LongRankRetriever(index=index, pipeline="lexical", deadline=2, passages=1)
    slowed(retriever._searcher.load(), clock)
    out = retriever.invoke(QUERY)
    check_found([one.id for one in out], [one.metadata["longrank"] for one in out])


def test_llama_index_retriever(index: str, clock: Clock) -> None:
    pytest.importorskip("llama_index.core", reason="needs the extra llama-index")
    from longrank.integrations.llama_index_retriever import LongRankRetriever

    retriever = LongRankRetriever(index, "lexical", deadline=2, passages=1)
    slowed(retriever.searcher.load(), clock)
    out = retriever.retrieve(QUERY)
    check_found([one.node_id for one in out], [one.node.metadata["longrank"] for one in out])


def test_haystack_retriever(index: str, clock: Clock) -> None:
    pytest.importorskip("haystack", reason="needs the extra haystack")
    from longrank.integrations.haystack_retriever import LongRankRetriever

    made = LongRankRetriever(index, "lexical", deadline=2, passages=1)
    retriever = LongRankRetriever.from_dict(made.to_dict())
    slowed(retriever.searcher.load(), clock)
    out = retriever.run(QUERY)["documents"]
    check_found([one.id for one in out], [one.meta["longrank"] for one in out])


def test_pyterrier_retriever_has_a_column_of_counts_for_each_query(index: str, clock: Clock) -> None:
    pd = pytest.importorskip("pandas", reason="needs the extra pyterrier")
    pytest.importorskip("pyterrier", reason="needs the extra pyterrier")
    from longrank.integrations.pyterrier_retriever import LongRankRetriever

    retriever = LongRankRetriever(index, "lexical", deadline=2)
    slowed(retriever.searcher.load(), clock)
    queries = pd.DataFrame([["q1", QUERY], ["q2", QUERY]], columns=["qid", "query"])
    out = retriever(queries)
    assert out.docno.tolist() == ["long", "near"] * 2
    assert out.longrank_partial.tolist() == [FOUND] * 4
    assert "longrank_partial" not in LongRankRetriever(index, "lexical")(queries).columns
