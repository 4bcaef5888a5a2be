"""The LlamaIndex postprocessor with LlamaIndex's own nodes."""

from __future__ import annotations

import asyncio
import pickle

import pytest

from integrations_texts import ANSWER, LONG, ORDER, QUERY, TEXTS
from longrank.errors import InputError

pytest.importorskip("llama_index.core", reason="needs the extra llama-index")

from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode

from longrank.integrations.llama_index import LongRankPostprocessor


@pytest.fixture(scope="module")
def postprocessor(index: str) -> LongRankPostprocessor:
    return LongRankPostprocessor(pipeline="lexical", index=index, passages=2)


@pytest.fixture
def nodes() -> list[NodeWithScore]:
    made = [TextNode(id_=doc_id, text=text, metadata={"source": doc_id}) for doc_id, text in TEXTS.items()]
    return [NodeWithScore(node=node, score=0.5) for node in made]


def test_nodes_are_ranked_with_scores_and_evidence(
    postprocessor: LongRankPostprocessor, nodes: list[NodeWithScore]
) -> None:
    best = postprocessor.postprocess_nodes(nodes, query_str=QUERY)
    assert [one.node_id for one in best] == ORDER == [one.metadata["source"] for one in best]
    assert 1 >= best[0].score > best[1].score > best[2].score >= 0
    evidence = best[0].metadata["longrank"]
    first = evidence["passages"][0]
    assert ANSWER in LONG[first["start"] : first["end"]] == first["text"]
    assert (evidence["unit"], evidence["aggregator"], evidence["truncated"]) == ("bm25", "maxp", False)


def test_models_are_not_shown_the_evidence(postprocessor: LongRankPostprocessor, nodes: list[NodeWithScore]) -> None:
    once = postprocessor.postprocess_nodes(nodes, query_bundle=QueryBundle(QUERY))
    best = postprocessor.postprocess_nodes(once, query_bundle=QueryBundle(QUERY))[0].node
    assert best.excluded_llm_metadata_keys.count("longrank") == 1
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert best.get_content(mode) == f"source: long\n\n{LONG}".strip()


def test_the_nodes_given_stay_as_they_were(postprocessor: LongRankPostprocessor, nodes: list[NodeWithScore]) -> None:
    before = [one.model_dump() for one in nodes]
    postprocessor.postprocess_nodes(nodes, query_str=QUERY)
    assert [one.model_dump() for one in nodes] == before


def test_awaited_it_gives_the_same_also_many_at_a_time(index: str, nodes: list[NodeWithScore]) -> None:
    postprocessor = LongRankPostprocessor(pipeline="lexical", index=index, top_n=2)

    async def all_at_once() -> list[list[NodeWithScore]]:
        asked = (postprocessor.apostprocess_nodes(nodes, query_str=QUERY) for _ in range(8))
        return list(await asyncio.gather(*asked))

    expected = postprocessor.postprocess_nodes(nodes, query_str=QUERY)
    assert [one.node_id for one in expected] == ORDER[:2]
    assert asyncio.run(all_at_once()) == [expected] * 8


def test_it_can_be_pickled_and_written_as_settings(
    postprocessor: LongRankPostprocessor, nodes: list[NodeWithScore]
) -> None:
    expected = postprocessor.postprocess_nodes(nodes, query_str=QUERY)
    copies = pickle.loads(pickle.dumps(postprocessor)), LongRankPostprocessor.from_dict(postprocessor.to_dict())
    for again in copies:
        assert again.postprocess_nodes(nodes, query_str=QUERY) == expected


def test_mistakes_are_told(postprocessor: LongRankPostprocessor, nodes: list[NodeWithScore]) -> None:
    with pytest.raises(InputError, match="reranking needs the query"):
        postprocessor.postprocess_nodes(nodes)
    with pytest.raises(InputError, match="unknown pipeline"):
        LongRankPostprocessor(pipeline="maxpp")
    with pytest.raises(ValueError, match="top_k"):
        LongRankPostprocessor(top_k=3)
    assert postprocessor.postprocess_nodes([], query_str=QUERY) == []
