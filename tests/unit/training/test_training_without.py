from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank.training.without import Without


@given(st.sets(st.integers(0, 30)), st.integers(31, 40))
def test_a_sequence_without_some_places_is_what_is_left(places: set[int], n: int) -> None:
    items = [str(i) for i in range(n)]
    left = [item for i, item in enumerate(items) if i not in places]
    view = Without(items, places)
    assert [view[i] for i in range(len(view))] == left == list(view)
    assert view[-1] == left[-1]
    assert view[1:5] == tuple(left[1:5])
    with pytest.raises(IndexError):
        view[len(left)]
