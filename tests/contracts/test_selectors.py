"""What every selector must keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank.errors import InputError
from longrank.text.select import SELECTORS, make_selector
from longrank.types import Passage, Query

WORDS = st.lists(st.sampled_from(["the", "Tide", "rises", "moon", "high", ",", "tide's"]), max_size=8).map(" ".join)


def passages(texts: list[str]) -> list[Passage]:
    return [Passage("d", 3 * i, text, 0, len(text)) for i, text in enumerate(texts)]


@pytest.mark.parametrize("name", SELECTORS)
@given(texts=st.lists(WORDS, min_size=1, max_size=40), query=WORDS)
def test_some_passages_are_chosen_in_order_with_a_weight_each(name: str, texts: list[str], query: str) -> None:
    given = passages(texts)
    selected = make_selector(name).select(Query("q", query), given)
    assert selected.passages
    positions = [given.index(passage) for passage in selected.passages]
    assert positions == sorted(set(positions))
    assert selected.weights.dtype == np.float32
    assert selected.weights.shape == (len(selected.passages),)
    assert (selected.weights >= 0).all()


@pytest.mark.parametrize("name", SELECTORS)
def test_a_document_with_fewer_passages_than_n_keeps_all(name: str) -> None:
    given = passages(["one", "the tide", "tide tide"])
    assert make_selector(name).select(Query("q", "tide"), given).passages == tuple(given)


@pytest.mark.parametrize("name", SELECTORS)
def test_the_fingerprint_names_rule_and_options(name: str) -> None:
    assert make_selector(name).fingerprint.startswith(name)
    if SELECTORS[name][1]:
        assert make_selector(name, 3).fingerprint != make_selector(name, 4).fingerprint
        assert len(make_selector(name, 3).select(Query("q", "x"), passages(["a"] * 9)).passages) == 3


@pytest.mark.parametrize("name", SELECTORS)
@pytest.mark.parametrize("n", [0, -1])
def test_fewer_than_one_passage_is_refused(name: str, n: int) -> None:
    with pytest.raises(InputError):
        make_selector(name, n)
