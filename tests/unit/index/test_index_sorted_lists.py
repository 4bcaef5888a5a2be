from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank.index.arrays import Strings, write_strings
from longrank.index.documents import OrderedStrings
from longrank.index.sorted_lists import united

LISTS = st.lists(
    st.lists(st.text("aé\0b", max_size=4).map(str.encode), unique=True, max_size=12), min_size=1, max_size=6
)


@given(LISTS)
def test_strings_of_several_lists_are_numbered_in_sorted_order(
    tmp_path_factory: pytest.TempPathFactory, lists: list[list[bytes]]
) -> None:
    folder = tmp_path_factory.mktemp("lists")
    for number, strings in enumerate(lists):
        write_strings(folder, f"sorted{number}", sorted(strings))
        write_strings(folder, f"mixed{number}", strings)
    orders = [np.array(sorted(range(len(some)), key=some.__getitem__), np.uint32) for some in lists]
    expected = sorted({string for strings in lists for string in strings})
    for opened in (
        [Strings.mapped(folder, f"sorted{number}") for number in range(len(lists))],
        [OrderedStrings(Strings.mapped(folder, f"mixed{n}"), order) for n, order in enumerate(orders)],
    ):
        union = united(opened)
        assert union.size == len(expected)
        for strings, numbers in zip(lists, union.numbers, strict=True):
            assert [expected[number] for number in numbers.tolist()] == sorted(strings)
