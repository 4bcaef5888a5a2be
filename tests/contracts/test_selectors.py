"""Contracts of selectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import CountingScorer
from longrank.errors import InputError
from longrank.protocols import ScoringTask, Selected, Selector
from longrank.ranking.cascade import CHEAP_SELECTORS, DEFAULT_N, Budget, CheapSelector
from longrank.text.select import SELECTORS, make_selector
from longrank.types import Passage, Query

WORDS = st.lists(st.sampled_from(["the", "Tide", "rises", "moon", "high", ",", "tide's"]), max_size=8).map(" ".join)


NAMES = [*SELECTORS, *CHEAP_SELECTORS]
TAKE_N = [name for name in NAMES if name != "all"]


def selector(name: str, n: int | None = None) -> Selector:
    """The selector `name`, cheap scorers replaced by counting ones."""
    if name in SELECTORS:
        return make_selector(name, n)
    return CheapSelector(
        name, [CountingScorer() for _ in CHEAP_SELECTORS[name].scorers], Budget(DEFAULT_N if n is None else n)
    )


def selected(name: str, n: int | None, query: str, texts: list[str]) -> Selected:
    passages = tuple(Passage("d", 3 * i, text, 0, len(text)) for i, text in enumerate(texts))
    (found,) = selector(name, n).select([ScoringTask(Query("q", query), "d", passages, tuple(texts))])
    return found


@pytest.mark.parametrize("name", NAMES)
@given(texts=st.lists(WORDS, min_size=1, max_size=40), query=WORDS)
def test_some_passages_are_chosen_in_order_with_a_weight_each(name: str, texts: list[str], query: str) -> None:
    found = selected(name, None, query, texts)
    positions = found.positions.tolist()
    assert positions
    assert positions == sorted(set(positions))
    assert set(positions) <= set(range(len(texts)))
    assert found.weights.dtype == np.float32
    assert found.weights.shape == (len(positions),)
    assert (found.weights >= 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_document_with_fewer_passages_than_n_keeps_all(name: str) -> None:
    assert selected(name, None, "tide", ["one", "the tide", "tide tide"]).positions.tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", NAMES)
def test_the_fingerprint_names_the_rule(name: str) -> None:
    assert selector(name).fingerprint.startswith(name)


@pytest.mark.parametrize("name", TAKE_N)
def test_n_passages_are_chosen_and_the_fingerprint_names_n(name: str) -> None:
    assert selector(name, 3).fingerprint != selector(name, 4).fingerprint
    assert len(selected(name, 3, "x", ["a"] * 9).positions) == 3


@pytest.mark.parametrize("name", TAKE_N)
@pytest.mark.parametrize("n", [0, -1])
def test_fewer_than_one_passage_is_refused(name: str, n: int) -> None:
    with pytest.raises(InputError):
        selector(name, n)
