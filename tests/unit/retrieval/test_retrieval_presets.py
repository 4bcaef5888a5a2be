"""First stages by name, and what may be replaced in them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from collections_of_words import located, random_documents
from longrank.errors import InputError
from longrank.index import Index, IndexOptions, build_index
from longrank.retrieval import BM25, PRESETS, FirstStage, QueryLikelihood, first_stage, make_retriever
from longrank.types import Query

QUERY = Query("q", "c ca abc")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return build_index(located(random_documents(60)), tmp_path_factory.mktemp("presets") / "index")


@pytest.mark.parametrize(
    ("name", "k1", "b"),
    [
        ("bm25-anserini", 0.9, 0.4),
        ("bm25-lucene", 1.2, 0.75),
        ("bm25-msmarco-passage", 0.82, 0.68),
        ("bm25-msmarco-doc", 3.44, 0.87),
        ("bm25base", 0.9, 0.4),
        ("bm25base_p", 0.9, 0.4),
        ("bm25tuned", 3.44, 0.87),
        ("bm25tuned_p", 0.82, 0.68),
    ],
)
def test_a_preset_is_its_parameters_and_may_be_overridden(index: Index, name: str, k1: float, b: float) -> None:
    assert make_retriever(index, name).retrieve(QUERY, 30) == BM25(index, k1=k1, b=b).retrieve(QUERY, 30)
    assert make_retriever(index, name, b=0.0).retrieve(QUERY, 30) == BM25(index, k1=k1, b=0.0).retrieve(QUERY, 30)


def test_the_similarity_may_be_replaced(index: Index) -> None:
    expected = QueryLikelihood(index, mu=300.0).retrieve(QUERY, 30)
    assert make_retriever(index, "bm25-anserini", similarity="ql", mu=300.0).retrieve(QUERY, 30) == expected
    assert make_retriever(index, "ql", mu=300.0).retrieve(QUERY, 30) == expected


def test_settings_that_are_none_are_those_of_the_preset() -> None:
    assert first_stage("bm25-lucene", {"k1": None, "feedback": None}) == FirstStage(parameters={"k1": 1.2, "b": 0.75})


@pytest.mark.parametrize("suffix", ["", "_p"])
@pytest.mark.parametrize(
    ("middle", "feedback"), [("", "none"), ("_ax", "axiomatic"), ("_prf", "bm25prf"), ("_rm3", "rm3")]
)
def test_the_sixteen_baselines_of_h2oloo_are_two_bases_with_each_feedback(
    suffix: str, middle: str, feedback: str
) -> None:
    for base in ("bm25base", "bm25tuned"):
        assert PRESETS[base + middle + suffix] == replace(PRESETS[base + suffix], feedback=feedback)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k2": 1}, r"similarity 'bm25' with feedback 'none' has no such setting \(got 'k2'\); one of b, doc_lengths"),
        ({"similarity": "bm52"}, "unknown similarity.*did you mean 'bm25'"),
        ({"k1": "1"}, "k1 of similarity 'bm25' should be a valid number"),
        ({"k1": -1.0}, "k1 must be between 0 and 1e6"),
        ({"similarity": "ql", "mu": 1e-320}, "mu must be between 1e-6 and 1e12"),
        ({"similarity": "ql", "b": 0.4}, "similarity 'ql' with feedback 'none' has no such setting .got 'b'"),
        ({"doc_lengths": "long"}, "doc_lengths must be lucene or exact"),
        ({"feedback": "rm2"}, "unknown feedback.*did you mean 'rm3'"),
    ],
)
def test_what_is_wrong_is_refused(index: Index, settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_retriever(index, "bm25-anserini", **settings)


def test_an_unknown_preset_is_answered_with_the_nearest(index: Index) -> None:
    with pytest.raises(InputError, match="did you mean 'bm25-lucene'"):
        make_retriever(index, "bm25-lucen")


def test_the_baselines_of_santos_need_the_index_they_were_made_for(index: Index, tmp_path: Path) -> None:
    plain = build_index(located(random_documents(60)), tmp_path / "plain", options=IndexOptions("none"))
    for name, right, wrong in (("santos-bm25", plain, index), ("santos-bm25-porter", index, plain)):
        assert make_retriever(right, name).retrieve(QUERY, 30) == BM25(right, k1=1.2, b=0.75).retrieve(QUERY, 30)
        with pytest.raises(InputError, match=f"needs an index with another analyzer .*{PRESETS[name].analyzer}"):
            make_retriever(wrong, name)
