"""Whole pipelines of each framework: filter, retriever, reranker, and a prompt or table that cites the evidence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from integrations_texts import ANSWER, FILLER, QUERY, TEXTS
from longrank.index import Index

YEARS = {"far": 2019, "long": 2020, "near": 2021}
RECENT = {"year": {"$gte": 2020}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    rows = [
        {"id": doc_id, "title": f"The {doc_id}", "text": text, "year": YEARS[doc_id]} for doc_id, text in TEXTS.items()
    ]
    rows += [{"id": f"old{n}", "text": f"{QUERY}? {FILLER}", "year": 1990} for n in range(5)]
    path = tmp_path_factory.mktemp("pipelines") / "index"
    Index.build(rows, path)
    return str(path)


def check(doc_id: str, text: str, metadata: dict[str, Any], passages: list[dict[str, Any]]) -> None:
    """A cited document: its own text and fields, and passages at their places in the text."""
    assert text == TEXTS[doc_id]
    assert (metadata["year"], metadata["title"]) == (YEARS[doc_id], f"The {doc_id}")
    assert passages
    assert all(text[passage["start"] : passage["end"]] == passage["text"] for passage in passages)


def cited(doc_id: str, passage: dict[str, Any]) -> str:
    return f"[{doc_id}:{passage['start']}-{passage['end']}] {passage['text']}"


def test_a_chain_of_langchain_filters_reranks_and_cites(folder: str) -> None:
    pytest.importorskip("langchain_core", reason="needs the extra langchain")
    from langchain_core.documents import Document
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.runnables import RunnableLambda, RunnablePassthrough

    from longrank.integrations.langchain import LongRankCompressor
    from longrank.integrations.langchain_retriever import LongRankRetriever

    retriever = LongRankRetriever(index=folder, pipeline="bm25", k=10, filter=RECENT)
    compressor = LongRankCompressor(pipeline="lexical", index=folder, top_n=1, passages=1)
    seen: list[Document] = []

    def reranked(query: str) -> str:
        seen.extend(compressor.compress_documents(retriever.invoke(query), query))
        return "\n".join(cited(str(one.id), one.metadata["longrank"]["passages"][0]) for one in seen)

    prompt = ChatPromptTemplate.from_template("{context}\n\nQuestion: {question}")
    chain = {"context": RunnableLambda(reranked), "question": RunnablePassthrough()} | prompt
    text = chain.invoke(QUERY).to_string()
    (best,) = seen
    check("long", best.page_content, best.metadata, best.metadata["longrank"]["passages"])
    assert ANSWER in text
    assert text.startswith("Human: [long:")


def test_a_query_engine_of_llama_index_filters_reranks_and_cites(folder: str) -> None:
    pytest.importorskip("llama_index.core", reason="needs the extra llama-index")
    from llama_index.core.llms import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.schema import NodeRelationship
    from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter, MetadataFilters

    from longrank.integrations.llama_index import LongRankPostprocessor
    from longrank.integrations.llama_index_retriever import LongRankRetriever

    filters = MetadataFilters(filters=[MetadataFilter(key="year", operator=FilterOperator.GTE, value=2020)])
    engine = RetrieverQueryEngine.from_args(
        LongRankRetriever(folder, "lexical", filters=filters, passages=2),
        llm=MockLLM(),
        node_postprocessors=[LongRankPostprocessor(pipeline="lexical", index=folder, top_n=1, passages=1)],
    )
    answer = engine.query(QUERY)
    (source,) = answer.source_nodes
    check("long", source.node.text, source.node.metadata, source.node.metadata["longrank"]["passages"])
    assert source.node.ref_doc_id == "long"
    assert ANSWER in str(answer)  # the mock answers with its prompt
    assert "passages" not in str(answer)  # the evidence is not shown to the model
    children = source.node.relationships[NodeRelationship.CHILD]
    assert any(ANSWER in TEXTS["long"][slice(child.metadata["start"], child.metadata["end"])] for child in children)
    assert {child.node_id for child in children} == {
        f"long:{child.metadata['start']}-{child.metadata['end']}" for child in children
    }


def test_a_pipeline_of_haystack_filters_reranks_and_cites(folder: str) -> None:
    os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when it is imported
    haystack = pytest.importorskip("haystack", reason="needs the extra haystack")
    from haystack.components.builders import PromptBuilder

    from longrank.integrations.haystack import LongRankRanker
    from longrank.integrations.haystack_retriever import LongRankRetriever

    template = (
        "{% for document in documents %}{% set passage = document.meta.longrank.passages[0] %}"
        "[{{ document.id }}:{{ passage.start }}-{{ passage.end }}] {{ passage.text }}\n{% endfor %}"
    )
    pipeline = haystack.Pipeline()
    pipeline.add_component("retriever", LongRankRetriever(folder, "bm25", top_k=10))
    pipeline.add_component("ranker", LongRankRanker("lexical", index=folder, top_k=1, passages=1))
    pipeline.add_component("prompt", PromptBuilder(template, required_variables=["documents"]))
    pipeline.connect("retriever.documents", "ranker.documents")
    pipeline.connect("ranker.documents", "prompt.documents")
    recent = {"field": "meta.year", "operator": ">=", "value": 2020}
    inputs = {"retriever": {"query": QUERY, "filters": recent}, "ranker": {"query": QUERY}}
    out = pipeline.run(inputs, include_outputs_from={"ranker"})
    (best,) = out["ranker"]["documents"]
    check("long", best.content, best.meta, best.meta["longrank"]["passages"])
    assert out["prompt"]["prompt"].strip() == cited("long", best.meta["longrank"]["passages"][0])


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # PyTerrier's own use of pandas
def test_an_experiment_of_pyterrier_filters_reranks_and_keeps_the_evidence(folder: str, tmp_path: Path) -> None:
    pt = pytest.importorskip("pyterrier", reason="needs the extra pyterrier")
    pandas = pytest.importorskip("pandas")
    from longrank.integrations.pyterrier import LongRankReranker
    from longrank.integrations.pyterrier_retriever import LongRankRetriever

    topics = pandas.DataFrame([["1", QUERY]], columns=["qid", "query"])
    qrels = pandas.DataFrame([["1", "long", 1]], columns=["qid", "docno", "label"])
    everything = LongRankRetriever(folder, "bm25", num_results=10)
    filtered = pt.apply.generic(lambda frame: frame.assign(filter=[RECENT] * len(frame))) >> everything
    reranked = filtered >> LongRankReranker("lexical", index=folder, passages=1)
    table = pt.Experiment([everything, reranked], topics, qrels, ["recip_rank"], names=["all", "recent"])
    assert dict(zip(table["name"], table["recip_rank"], strict=True))["recent"] == 1.0
    rows = reranked(topics)
    assert set(rows.docno) == {"long", "near"}
    best = rows[rows["rank"] == 0].iloc[0]
    check(best.docno, best.text, {**best.metadata, "title": best.title}, best.longrank_passages)
    assert ANSWER in cited(best.docno, best.longrank_passages[0])
