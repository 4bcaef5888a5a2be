"""The Haystack component in a Haystack pipeline."""

from __future__ import annotations

import os
from inspect import signature

import pytest

from integrations_texts import ANSWER, LONG, ORDER, QUERY, TEXTS
from longrank.errors import InputError

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when it is imported
haystack = pytest.importorskip("haystack", reason="needs the extra haystack")

from haystack import Document, Pipeline  # noqa: E402

from longrank.integrations.haystack import LongRankRanker  # noqa: E402
from longrank.integrations.haystack_retriever import LongRankRetriever  # noqa: E402


@pytest.fixture(scope="module")
def ranker(index: str) -> LongRankRanker:
    return LongRankRanker("lexical", index=index, passages=2)


@pytest.fixture
def documents() -> list[Document]:
    return [Document(id=doc_id, content=text, meta={"source": doc_id}) for doc_id, text in TEXTS.items()]


def test_documents_are_ranked_with_scores_and_evidence(ranker: LongRankRanker, documents: list[Document]) -> None:
    best = ranker.run(query=QUERY, documents=documents)["documents"]
    assert [one.id for one in best] == ORDER == [one.meta["source"] for one in best]
    assert 1 >= best[0].score > best[1].score > best[2].score >= 0
    evidence = best[0].meta["longrank"]
    first = evidence["passages"][0]
    assert ANSWER in LONG[first["start"] : first["end"]] == first["text"]
    assert (evidence["unit"], evidence["aggregator"], evidence["truncated"]) == ("bm25", "maxp", False)


def test_the_documents_given_stay_as_they_were(ranker: LongRankRanker, documents: list[Document]) -> None:
    ranker.run(query=QUERY, documents=documents)
    assert [(one.score, one.meta) for one in documents] == [(None, {"source": doc_id}) for doc_id in TEXTS]


def test_a_pipeline_that_is_written_and_read_again_runs(
    index: str, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAYSTACK_DESERIALIZATION_ALLOWLIST", "longrank.integrations.haystack")
    made = Pipeline()
    made.add_component("ranker", LongRankRanker("lexical", index=index, assignments=["passages.preset=dai"], top_k=2))
    again = Pipeline.loads(made.dumps())
    assert again.to_dict() == made.to_dict()
    out = again.run({"ranker": {"query": QUERY, "documents": documents}})["ranker"]["documents"]
    assert [one.id for one in out] == ORDER[:2]


def test_types_of_inputs_are_no_text_which_old_versions_of_haystack_cannot_connect() -> None:
    for kind in (LongRankRanker, LongRankRetriever):
        assert not [one for one in signature(kind.run).parameters.values() if isinstance(one.annotation, str)]


def test_top_k_of_a_run_replaces_the_components_own(ranker: LongRankRanker, documents: list[Document]) -> None:
    assert len(ranker.run(query=QUERY, documents=documents, top_k=1)["documents"]) == 1
    assert ranker.run(query=QUERY, documents=[])["documents"] == []


def test_warming_up_tells_what_cannot_be_loaded() -> None:
    with pytest.raises(InputError, match="no-such"):
        LongRankRanker("lexical", index="no-such").warm_up()


def test_a_document_without_text_is_named(ranker: LongRankRanker) -> None:
    with pytest.raises(InputError, match="document 'picture' has no text"):
        ranker.run(query=QUERY, documents=[Document(id="picture")])
