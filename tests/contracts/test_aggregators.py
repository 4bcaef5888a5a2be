"""Contracts of aggregators."""

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
OF_PASSAGES = [name for name, entry in AGGREGATORS.items() if not entry.needs_document_score]


def made(name: str) -> Aggregator:
    return make_aggregator(name, **AGGREGATORS[name].example)


@pytest.mark.parametrize("name", AGGREGATORS)
@given(scores=SCORES, data=st.data())
def test_a_score_is_a_finite_python_float(name: str, scores: list[float], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.floats(0, 2.0**20, width=32), min_size=len(scores), max_size=len(scores)))
    own = 0.5 if AGGREGATORS[name].needs_document_score else None
    score = made(name)(evidence("d", scores, weights=weights, document_score=own))
    assert type(score) is float
    assert math.isfinite(score)


@pytest.mark.parametrize("name", OF_PASSAGES)
@given(score=st.floats(-(2.0**100), 2.0**100, width=32), weight=st.floats(0, 2.0**20, width=32))
def test_the_score_of_a_single_passage_is_its_score(name: str, score: float, weight: float) -> None:
    assert made(name)(evidence("d", [score], weights=[weight])) == pytest.approx(score, rel=1e-12)


@pytest.mark.parametrize("name", [name for name in OF_PASSAGES if AGGREGATORS[name].bounded])
@given(scores=SCORES)
def test_a_bounded_score_lies_between_the_passage_scores(name: str, scores: list[float]) -> None:
    score = made(name)(evidence("d", scores))
    noise = 1e-12 * max(map(abs, scores))
    assert min(scores) - noise <= score <= max(scores) + noise
    if AGGREGATORS[name].picks:
        assert score in scores


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
def test_options_are_checked_by_name_and_type(name: str) -> None:
    entry = AGGREGATORS[name]
    with pytest.raises(InputError, match=f"aggregator '{name}' has no option 'nonsense'"):
        make_aggregator(name, **entry.example, nonsense=2)
    for option, parameter in entry.options.items():
        with pytest.raises(InputError, match=f"{option} of aggregator '{name}' should"):
            make_aggregator(name, **{**entry.example, option: object()})
        if parameter.default is parameter.empty:
            with pytest.raises(InputError, match=f"aggregator '{name}' needs {option}; give {option}, e.g. "):
                make_aggregator(name, **{other: one for other, one in entry.example.items() if other != option})
