"""The LangChain compressor with LangChain's own documents."""

from __future__ import annotations

import asyncio
import pickle

import pytest

from integrations_texts import ANSWER, LONG, ORDER, QUERY, TEXTS
from longrank.errors import InputError

pytest.importorskip("langchain_core", reason="needs the extra langchain")

from langchain_core.documents import Document

from longrank.integrations.langchain import LongRankCompressor


@pytest.fixture(scope="module")
def compressor(index: str) -> LongRankCompressor:
    return LongRankCompressor(pipeline="lexical", index=index, passages=2)


@pytest.fixture
def documents() -> list[Document]:
    return [Document(text, id=doc_id, metadata={"source": doc_id}) for doc_id, text in TEXTS.items()]


def test_documents_are_ranked_with_relevance_and_evidence(
    compressor: LongRankCompressor, documents: list[Document]
) -> None:
    best = compressor.compress_documents(documents, QUERY)
    assert [one.id for one in best] == ORDER == [one.metadata["source"] for one in best]
    relevance = [one.metadata["relevance_score"] for one in best]
    assert 1 >= relevance[0] > relevance[1] > relevance[2] >= 0
    evidence = best[0].metadata["longrank"]
    first = evidence["passages"][0]
    assert ANSWER in LONG[first["start"] : first["end"]] == first["text"]
    assert (evidence["unit"], evidence["aggregator"], evidence["truncated"]) == ("bm25", "maxp", False)
    assert len(evidence["passages"]) == 2


def test_the_documents_given_stay_as_they_were(compressor: LongRankCompressor, documents: list[Document]) -> None:
    compressor.compress_documents(documents, QUERY)
    assert [one.metadata for one in documents] == [{"source": doc_id} for doc_id in TEXTS]


def test_awaited_it_gives_the_same_also_many_at_a_time(index: str, documents: list[Document]) -> None:
    compressor = LongRankCompressor(pipeline="lexical", index=index, top_n=2)

    async def all_at_once() -> list[object]:
        return await asyncio.gather(*(compressor.acompress_documents(documents, QUERY) for _ in range(8)))

    expected = compressor.compress_documents(documents, QUERY)
    assert [one.id for one in expected] == ORDER[:2]
    assert asyncio.run(all_at_once()) == [expected] * 8


def test_no_documents_give_none(compressor: LongRankCompressor) -> None:
    assert compressor.compress_documents([], QUERY) == []


def test_a_compressor_can_be_copied_and_pickled(compressor: LongRankCompressor, documents: list[Document]) -> None:
    expected = compressor.compress_documents(documents, QUERY)
    for again in (compressor.model_copy(deep=True), pickle.loads(pickle.dumps(compressor))):
        assert again.compress_documents(documents, QUERY) == expected


def test_changed_settings_rank(index: str, documents: list[Document]) -> None:
    compressor = LongRankCompressor(pipeline="lexical", index=index)
    copy = compressor.model_copy(update={"assignments": ("aggregate.name=firstp",)})
    for _ in range(2):
        for changed, name in ((compressor, "maxp"), (copy, "firstp")):
            assert changed.compress_documents(documents, QUERY)[0].metadata["longrank"]["aggregator"] == name
    compressor.assignments = copy.assignments
    assert compressor.compress_documents(documents, QUERY) == copy.compress_documents(documents, QUERY)
    compressor.pipeline = "maxpp"
    with pytest.raises(InputError, match="unknown pipeline"):
        compressor.compress_documents(documents, QUERY)


def test_mistakes_are_told_when_it_is_made() -> None:
    with pytest.raises(InputError, match="unknown pipeline"):
        LongRankCompressor(pipeline="maxpp")
    with pytest.raises(ValueError, match="top_k"):
        LongRankCompressor(top_k=3)
