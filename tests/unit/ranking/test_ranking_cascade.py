from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import documents, index_of, queries
from longrank.errors import InputError
from longrank.formats.evidence import read_evidence
from longrank.index import Index
from longrank.ranking.build import add_vectors
from longrank.ranking.cascade import Budget, choose
from longrank.ranking.pipeline import open_pipeline, rerank
from longrank.types import Evidence, Notes, Run
from tiny_models import save_cross_encoder, save_encoder

SCORES = st.lists(
    st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=8).map(lambda row: np.array(row, np.float32)),
    min_size=1,
    max_size=6,
)


def rows(*scores: list[float]) -> list[np.ndarray]:
    return [np.array(one, np.float32) for one in scores]


def chosen(found: list[list[np.ndarray]], **budget: int) -> list[list[int]]:
    return [places.tolist() for places in choose(found, Budget(**budget))]


def test_a_budget_per_document_takes_the_best_of_each_and_ties_go_to_the_earlier() -> None:
    assert chosen([rows([1, 3, 2], [5], [4, 4, 4])], n=2) == [[1, 2], [0], [0, 1]]


def test_a_budget_per_query_takes_one_of_each_document_and_then_the_best_of_all() -> None:
    found = [rows([1, 3, 2], [0, -1], [9, 8, 7])]
    assert chosen(found, per_query=5) == [[1], [0], [0, 1, 2]]
    assert chosen(found, per_query=6) == [[1, 2], [0], [0, 1, 2]]
    assert chosen(found, per_query=2) == [[1], [0], [0]]


def test_a_pooled_budget_is_that_of_the_query_times_its_candidates() -> None:
    found = [rows([1, 3, 2], [0, -1], [9, 8, 7])]
    assert chosen(found, n=2, pooled=True) == chosen(found, per_query=6) == [[1, 2], [0], [0, 1, 2]]
    assert Budget(n=2, pooled=True).of_query(50) == 100
    assert str(Budget(per_query=9, pooled=True)) == str(Budget(per_query=9))


def test_two_scorers_agree_by_reciprocal_ranks_in_which_equal_scores_have_equal_ranks() -> None:
    """1/61 + 1/62 twice, then 1/63 + 1/63: the third passage is left out; a constant scorer changes nothing."""
    assert chosen([rows([9, 5, 1]), rows([0.2, 0.3, 0.1])], n=2) == [[0, 1]]
    assert chosen([rows([0, 0, 0]), rows([0.1, 0.3, 0.2])], n=1) == [[1]]


def test_ranks_are_of_the_query_where_the_budget_is() -> None:
    """The second document's best is third in the query by both scorers, after two of the first document."""
    first, second = rows([5, 4, 0], [3, 2, 1]), rows([5, 4, 0], [3, 2, 1])
    assert chosen([first, second], per_query=3) == [[0, 1], [0]]


@given(found=SCORES, n=st.integers(1, 9))
def test_a_larger_budget_only_adds_passages(found: list[np.ndarray], n: int) -> None:
    for budget in ("n", "per_query"):
        few, more = (chosen([found], **{budget: size}) for size in (n, n + 1))
        assert all(set(one) <= set(other) for one, other in zip(few, more, strict=True))


@given(found=SCORES, per_query=st.integers(1, 60))
def test_a_budget_per_query_is_kept_and_no_document_goes_without(found: list[np.ndarray], per_query: int) -> None:
    sizes = list(map(len, chosen([found], per_query=per_query)))
    assert min(sizes) >= 1
    assert sum(sizes) == min(max(per_query, len(found)), sum(map(len, found)))


@pytest.mark.parametrize("budget", [{}, {"n": 1, "per_query": 1}, {"n": 0}, {"per_query": 0}])
def test_a_budget_is_one_number_of_at_least_one(budget: dict[str, int]) -> None:
    with pytest.raises(InputError):
        Budget(**budget)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return index_of(documents(30, words=400), tmp_path_factory.mktemp("cascade") / "index")


def first_stage(index: Index) -> Run:
    retriever = open_pipeline(index, "bm25", notes=Notes()).retriever
    return Run("bm25", [row for query in queries(6) for row in retriever.retrieve(query, 12)])


def scored(index: Index, path: Path, *assignments: str, notes: Notes | None = None) -> list[Evidence]:
    pipeline = open_pipeline(index, "lexical", assignments=assignments, notes=Notes())
    rerank(pipeline, queries(6), first_stage(index), path, tag="t", notes=notes or Notes())
    return list(read_evidence(path)[1])


def test_the_evidence_of_a_cascade_is_that_of_the_chosen_rows(index: Index, tmp_path: Path) -> None:
    whole = scored(index, tmp_path / "all")
    for name, options in (("n", {"n": 2}), ("per_query", {"per_query": 30})):
        few = scored(index, tmp_path / name, "select.name=bm25", f"select.{name}={options[name]}")
        for query in queries(6):
            every = [one for one in whole if one.query_id == query.query_id]
            kept = choose([[one.passage_score for one in every]], Budget(**options))
            ours = [one for one in few if one.query_id == query.query_id]
            assert [one.doc_id for one in ours] == [one.doc_id for one in every]
            for one, other, places in zip(ours, every, kept, strict=True):
                assert one.passage_index.tolist() == places.tolist()
                assert one.passage_score.tolist() == other.passage_score[places].tolist()
                assert one.n_passages == other.n_passages


def test_what_is_chosen_does_not_depend_on_the_block(index: Index, tmp_path: Path) -> None:
    settings = ("select.name=bm25", "select.per_query=30")
    found = [scored(index, tmp_path / size, *settings, f"final.block_queries={size}") for size in ("1", "6")]
    assert [one.passage_index.tolist() for one in found[0]] == [one.passage_index.tolist() for one in found[1]]


def test_the_saving_is_told(index: Index, tmp_path: Path) -> None:
    notes = Notes()
    found = scored(index, tmp_path / "e", "select.name=bm25", "select.n=1", notes=notes)
    every = sum(one.n_passages for one in found)
    assert f"passages scored: {len(found)} of {every} ({len(found) / every:.1%})" in notes.lines()
    notes = Notes()
    scored(index, tmp_path / "all", notes=notes)
    assert not [line for line in notes.lines() if line.startswith("passages scored")]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["select.name=bm25", "select.model=minilm"], "selector 'bm25' takes no model"),
        (["select.name=first", "select.model=minilm"], "selector 'first' takes no model"),
        (["select.name=first", "select.per_query=3"], "selector 'first' takes no per_query"),
        (["select.name=first", "select.pooled=true"], "selector 'first' takes no pooled"),
        (["select.name=bm25", "select.n=3", "select.per_query=3"], "set either n"),
        (["select.name=vector"], "did you mean 'vectors'"),
    ],
)
def test_settings_that_a_selector_does_not_take_are_refused(index: Index, settings: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_pipeline(index, "lexical", assignments=settings, notes=Notes())


@pytest.mark.neural
def test_vectors_choose_for_a_cross_encoder_and_those_of_the_index_choose_the_same(tmp_path: Path) -> None:
    index = index_of(documents(5, words=400), tmp_path / "index")
    encoder, cross = save_encoder(tmp_path / "encoder"), save_cross_encoder(tmp_path / "cross")
    settings = [f"select.model={json.dumps(str(encoder))}", "select.n=2", "passages.preset=windows"]
    retriever = open_pipeline(index, "bm25", notes=Notes()).retriever
    run = Run("bm25", retriever.retrieve(queries(1)[0], 5))
    for path in ("encoded", "stored"):
        pipeline = open_pipeline(index, "cascade", model=str(cross), assignments=settings, notes=Notes())
        rerank(pipeline, queries(1), run, tmp_path / path, tag="t", notes=Notes())
        add_vectors(index.path, str(encoder), "windows", Notes(), lambda n: None)
    assert (tmp_path / "encoded").read_bytes() == (tmp_path / "stored").read_bytes()
    header, found = read_evidence(tmp_path / "stored")
    assert "bm25+vectors(n=2 pooled; lexical" in header["scorer"]
    sizes = [len(one.passage_index) for one in found]
    assert sum(sizes) == 2 * len(sizes)
