from __future__ import annotations

import pytest

from longrank.analysis.distribution import Bin, distribution, round_above, shares


def test_percentiles_lie_between_neighbours() -> None:
    found = distribution([4, 1, 2, 3])  # ranks 0 to 3: the 10th percentile at rank .3, the 90th at 2.7
    assert (found.n, found.mean, found.min, found.max) == (4, 2.5, 1, 4)
    assert found.percentiles == pytest.approx({10: 1.3, 25: 1.75, 50: 2.5, 75: 3.25, 90: 3.7, 99: 3.97})


def test_small_counts_have_a_bin_each() -> None:
    assert distribution([0, 3, 3, 1]).histogram == (Bin(0, 1, 1), Bin(1, 2, 1), Bin(2, 3, 0), Bin(3, 4, 2))


def test_one_value_is_one_bin() -> None:
    assert distribution([7, 7]).histogram == (Bin(7, 8, 2),)


def test_what_is_far_above_the_rest_shares_the_last_bin() -> None:
    found = distribution([*range(100), *range(100), 100_000])  # the 99th percentile is 99, so bins are 5 wide
    assert found.histogram[0] == Bin(0, 5, 10)
    assert found.histogram[-1] == Bin(95, None, 11)
    assert sum(one.n for one in found.histogram) == found.n == 201


@pytest.mark.parametrize(("least", "width"), [(0, 1), (1, 1), (1.2, 2), (2.1, 5), (7, 10), (130, 200), (501, 1000)])
def test_widths_are_round(least: float, width: int) -> None:
    assert round_above(least) == width


def test_shares_of_nothing_are_none() -> None:
    assert shares([1, 3]) == [0.25, 0.75]
    assert shares([0, 0]) == [0, 0]
