"""Contracts of fusion methods."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidences import run
from longrank.errors import InputError
from longrank.fusion import FUSIONS
from longrank.types import Run

RUNS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-100, 100, width=32), min_size=1),
).map(run)


def fusion(name: str, maps: tuple[float, ...]) -> Callable[..., Run]:
    return partial(FUSIONS[name], maps=list(maps)) if name == "mapfuse" else FUSIONS[name]


@pytest.mark.parametrize("name", FUSIONS)
@given(one=RUNS, other=RUNS)
@settings(max_examples=30, deadline=None)
def test_the_union_of_documents_is_returned(name: str, one: Run, other: Run) -> None:
    fused = fusion(name, (0.3, 0.2))([one, other], tag="t")
    assert fused.tag == "t"
    assert set(fused) == {*one, *other}
    for query_id in fused:
        wanted = {row.doc_id for part in (one, other) for row in part.get(query_id)}
        assert {row.doc_id for row in fused[query_id]} == wanted


@pytest.mark.parametrize("name", FUSIONS)
@given(one=RUNS, other=RUNS, third=RUNS)
@settings(max_examples=30, deadline=None)
def test_the_order_of_runs_does_not_matter(name: str, one: Run, other: Run, third: Run) -> None:
    forwards = fusion(name, (0.3, 0.2, 0.1))([one, other, third], tag="t")
    backwards = fusion(name, (0.1, 0.2, 0.3))([third, other, one], tag="t")
    assert {q: forwards[q] for q in forwards} == {q: backwards[q] for q in backwards}


@pytest.mark.parametrize("name", FUSIONS)
@given(one=RUNS)
@settings(max_examples=30, deadline=None)
def test_a_run_fused_with_itself_keeps_its_order_but_for_ties(name: str, one: Run) -> None:
    fused = fusion(name, (0.5, 0.5))([one, one], tag="t")
    for query_id in one:
        position = {row.doc_id: i for i, row in enumerate(fused[query_id])}
        ranking = one[query_id]
        assert all(
            position[a.doc_id] < position[b.doc_id]
            for a, b in pairwise(ranking)
            if name != "linear" or a.score != b.score
        )


@pytest.mark.parametrize("name", FUSIONS)
def test_one_run_is_nothing_to_fuse(name: str) -> None:
    with pytest.raises(InputError, match="two runs or more"):
        fusion(name, (0.5,))([run({"q": {"a": 1.0}})], tag="t")
