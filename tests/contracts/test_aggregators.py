"""What every aggregator must keep."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidences import evidence
from longrank.aggregation import AGGREGATORS, make_aggregator
from longrank.errors import InputError
from longrank.protocols import Aggregator

SCORES = st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=1, max_size=40)
NEEDED = {"birch": {"weights": [1.0, 0.5, 0.25]}}
OF_PASSAGES = sorted(set(AGGREGATORS) - {"document"})


def made(name: str) -> Aggregator:
    return make_aggregator(name, **NEEDED.get(name, {}))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", AGGREGATORS)
@given(scores=SCORES, data=st.data())
def test_a_score_is_a_finite_python_float(name: str, scores: list[float], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.floats(0, 2.0**20, width=32), min_size=len(scores), max_size=len(scores)))
    own = 0.5 if name == "document" else None
    score = made(name)(evidence("d", scores, weights=weights, document_score=own))
    assert type(score) is float
    assert math.isfinite(score)


@pytest.mark.parametrize("name", OF_PASSAGES)
@given(score=st.floats(-(2.0**100), 2.0**100, width=32), weight=st.floats(0, 2.0**20, width=32))
def test_the_score_of_a_single_passage_is_its_score(name: str, score: float, weight: float) -> None:
    assert made(name)(evidence("d", [score], weights=[weight])) == pytest.approx(score, rel=1e-12)


@pytest.mark.parametrize("name", sorted(set(OF_PASSAGES) - {"firstp"}))
@given(pairs=st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 5)), min_size=1, max_size=20), data=st.data())
def test_the_order_of_passages_does_not_matter(name: str, pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(pairs))
    one, other = (
        made(name)(evidence("d", [float(s) for s, _ in order], weights=[float(w) for _, w in order]))
        for order in (pairs, shuffled)
    )
    assert one == pytest.approx(other, rel=1e-12)


@pytest.mark.parametrize("name", OF_PASSAGES)
@given(scores=SCORES)
def test_evidence_is_not_changed(name: str, scores: list[float]) -> None:
    given = evidence("d", scores)
    before = given.passage_score.tobytes()
    given.passage_score.setflags(write=False)
    given.passage_weight.setflags(write=False)
    made(name)(given)
    assert given.passage_score.tobytes() == before


@pytest.mark.parametrize("name", AGGREGATORS)
def test_options_of_another_aggregator_are_refused(name: str) -> None:
    if name != "kmaxp":
        with pytest.raises(InputError, match="takes no k"):
            make_aggregator(name, k=2, **NEEDED.get(name, {}))  # type: ignore[arg-type]
    if name != "birch":
        with pytest.raises(InputError, match="takes no weights"):
            make_aggregator(name, weights=[1.0])
