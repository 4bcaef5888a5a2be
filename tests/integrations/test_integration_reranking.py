"""The reranker of the integrations: loading once, at the first use; evidence; notes; missing extras."""

from __future__ import annotations

import copy
import logging
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from integrations_texts import ANSWER, LONG, ORDER, QUERY, TEXTS
from longrank.errors import InputError
from longrank.index import Index
from longrank.integrations.reranking import LazyReranker, RerankerSettings, document
from longrank.integrations.searching import LazySearcher, SearcherSettings

DOCUMENTS = [document(doc_id, text) for doc_id, text in TEXTS.items()]


def order(reranker: LazyReranker) -> list[str]:
    return [DOCUMENTS[one.index].doc_id for one, _ in reranker.rank(QUERY, DOCUMENTS, passages=1)]


def test_evidence_is_the_passages_of_the_text_that_was_given(index: str) -> None:
    (one, evidence), *_ = LazyReranker("lexical", index=index).rank(QUERY, DOCUMENTS, top_n=1, passages=2)
    assert (one.index, evidence["unit"], evidence["aggregator"], evidence["truncated"]) == (1, "bm25", "maxp", False)
    best, second = evidence["passages"]
    assert ANSWER in best["text"] == LONG[best["start"] : best["end"]]
    assert evidence["score"] == best["score"] > second["score"]
    assert [LONG[start:end] for start, end in best["highlights"]] == [ANSWER]


def test_passages_that_a_pipeline_does_not_select_are_unread(index: str) -> None:
    settings = ["select.name=first", "select.n=1"]
    (_, evidence), *_ = LazyReranker("lexical", assignments=settings).rank(QUERY, [document("long", LONG)], passages=1)
    assert evidence["truncated"]
    searcher = LazySearcher(index, "lexical", assignments=settings)
    found = [metadata["longrank"] for _, _, metadata in searcher.search(QUERY, k=9, passages=1)]
    assert next(one["truncated"] for one in found if one["doc_id"] == "long")


def test_a_reranker_is_loaded_once_and_its_copies_load_their_own(index: str) -> None:
    reranker = LazyReranker("lexical", index=index)
    assert order(reranker) == ORDER
    assert reranker.load() is reranker.load()
    for again in (copy.deepcopy(reranker), pickle.loads(pickle.dumps(reranker))):
        assert again.load() is not reranker.load()
        assert order(again) == ORDER


def test_a_mistake_is_told_before_anything_is_loaded() -> None:
    with pytest.raises(InputError, match=r"unknown pipeline.*maxp"):
        LazyReranker("maxpp")
    with pytest.raises(InputError, match="aggregate"):
        LazyReranker("maxp", assignments=["aggregate.nmae=maxp"])
    for wrong in ({"top_n": 0}, {"top_n": -1}, {"passages": -1}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))} must be"):
            RerankerSettings(**wrong)
    for wrong in ({"k": 0}, {"passages": -1}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))} must be"):
            SearcherSettings(index="absent", **wrong)


def test_without_an_index_the_documents_give_the_statistics(index: str) -> None:
    own, indexed = (LazyReranker("lexical", **options) for options in ({}, {"index": index}))  # type: ignore[arg-type]
    assert order(own) == ORDER
    (best, _), *_ = own.rank("hurricanes wug", [*DOCUMENTS, document("wug", "wug")], passages=1)
    assert best.index == len(DOCUMENTS)
    (best, _), *_ = indexed.rank("hurricanes wug", [*DOCUMENTS, document("wug", "wug")], passages=1)
    assert best.index < len(DOCUMENTS)


def test_statistics_of_a_changed_index_are_taken_anew(tmp_path: Path) -> None:
    index = Index.build([("d1", "A zebra."), ("d2", "A horse.")], tmp_path / "index")
    reranker = LazyReranker("lexical", index=str(tmp_path / "index"))

    def best() -> int:
        return reranker.rank("zebra horse", [document("z", "zebra"), document("h", "horse")], passages=1)[0][0].index

    index.add([(f"h{n}", "A horse.") for n in range(5)])
    assert best() == 0
    Index.open(tmp_path / "index").add([(f"z{n}", "A zebra.") for n in range(9)])
    assert best() == 1


def test_no_documents_are_ranked_without_loading_anything() -> None:
    assert LazyReranker("maxp", model="./there-is-no-such-model").rank(QUERY, [], passages=1) == []


@pytest.mark.neural
def test_the_model_that_is_taken_where_none_is_named_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "longrank"):
        assert order(LazyReranker("maxp"))[0] == "long"
    assert caplog.messages == ["no model given: the bi-encoder minilm scores the passages, not a cross-encoder"]


@pytest.mark.neural
def test_a_query_that_is_cut_is_logged_at_each_call(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    Index.build([("d", "bees and honey")], tmp_path / "index")
    reranker, searcher = LazyReranker(), LazySearcher(str(tmp_path / "index"), "minilm")
    for _ in range(2):
        for query, n_cut in (("honey " * 300, 1), ("honey", 0)):
            with caplog.at_level(logging.WARNING, "longrank"):
                reranker.rank(query, DOCUMENTS[:1], passages=1)
                searcher.search(query, k=1, passages=1)
            assert [line.startswith("queries cut at the scorer's limit: 1") for line in caplog.messages] == (
                [True] * 2 * n_cut
            )
            caplog.clear()


@pytest.mark.neural
def test_who_chooses_nothing_is_warned_of_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "longrank"):
        assert order(LazyReranker())[0] == "long"
    assert caplog.messages == []


def test_a_document_without_text_is_named() -> None:
    with pytest.raises(InputError, match=r"document 'd7' has no text to rerank \(got 'float'\)"):
        document("d7", float("nan"))


@pytest.mark.parametrize("title", [None, float("nan"), 7])
def test_a_title_that_is_no_string_counts_as_none(title: object) -> None:
    assert document("d", "text", title).title == ""


@pytest.mark.parametrize(
    ("module", "library", "extra"),
    [
        ("pyterrier", "pyterrier", "pyterrier"),
        ("langchain", "langchain_core", "langchain"),
        ("haystack", "haystack", "haystack"),
        ("llama_index", "llama_index", "llama-index"),
    ],
)
def test_a_missing_extra_is_one_line_with_the_install_command(module: str, library: str, extra: str) -> None:
    code = f"import sys; sys.modules['{library}'] = None; import longrank.integrations.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert f"needs the extra '{extra}'; pip install '.[{extra}]'" in last
