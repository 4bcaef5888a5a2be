from __future__ import annotations

import numpy as np
import pytest

from longrank.errors import InputError
from longrank.evaluation.tuning.grids import mean_setting, parse_axes, settings_of, shown_setting

KINDS: dict[str, type[int] | type[float]] = {"k1": float, "b": float, "fb_docs": int}


def test_steps_are_counted_in_decimals() -> None:
    axes = parse_axes(["k1=0.6:1.2:0.1", "b=.5:.95:.1"], KINDS)
    assert axes == {"k1": (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2), "b": (0.5, 0.6, 0.7, 0.8, 0.9)}


def test_values_in_memory_are_without_the_error_of_floats() -> None:
    tenths = tuple(number / 10 for number in range(11))
    for given in (np.linspace(0, 1, 11), np.arange(0, 1.01, 0.1), [0.1 * number for number in range(11)]):
        assert parse_axes({"k1": given}, KINDS) == {"k1": tenths}
    assert parse_axes({"fb_docs": np.arange(1, 4), "b": np.array(0.5)}, KINDS) == {"fb_docs": (1, 2, 3), "b": (0.5,)}
    with pytest.raises(InputError, match="at most 9 decimals"):
        parse_axes({"k1": [1 / 3]}, KINDS)


def test_values_are_sorted_and_kept_once() -> None:
    assert parse_axes(["k1= 2, .5,1,0.50"], KINDS) == {"k1": (0.5, 1.0, 2.0)}


def test_the_largest_and_the_finest_values_are_told_apart() -> None:
    axes = parse_axes(["k1=999999999999,1e12,0e5000,.000000001", "fb_docs=0e5000,1e12"], KINDS)
    assert axes == {"k1": (0.0, 1e-9, 999999999999.0, 1e12), "fb_docs": (0, 10**12)}
    assert parse_axes(["k1=999999999999.000000001,999999999999"], KINDS) == {"k1": (999999999999.0,)}  # as a float


def test_whole_numbers_stay_whole_and_fractions_are_refused_for_them() -> None:
    axes = parse_axes(["fb_docs=5:15:5", "k1=1"], KINDS)
    assert axes == {"fb_docs": (5, 10, 15), "k1": (1.0,)}
    assert [type(value) for values in axes.values() for value in values] == [int, int, int, float]
    with pytest.raises(InputError, match="takes whole numbers"):
        parse_axes(["fb_docs=5,7.5"], KINDS)


def test_the_last_axis_changes_fastest() -> None:
    assert settings_of({"k1": (1.0, 2.0), "b": (0.1, 0.2)}) == [
        {"k1": 1.0, "b": 0.1},
        {"k1": 1.0, "b": 0.2},
        {"k1": 2.0, "b": 0.1},
        {"k1": 2.0, "b": 0.2},
    ]


def test_the_mean_is_that_of_the_decimals_written() -> None:
    b = [0.6, 0.7, 0.7, 0.7, 0.7]  # their floats do not sum to 3.4
    assert mean_setting([{"k1": k1, "b": one} for k1, one in zip((0.8, 0.8, 0.8, 0.8, 0.9), b, strict=True)]) == {
        "k1": 0.82,
        "b": 0.68,
    }


def test_the_mean_of_whole_numbers_is_rounded_halves_up() -> None:
    mean = mean_setting([{"fb_docs": 5}, {"fb_docs": 10}])
    assert mean == {"fb_docs": 8} and isinstance(mean["fb_docs"], int)
    assert mean_setting([{"fb_docs": n} for n in (5, 5, 10)]) == {"fb_docs": 7}


def test_settings_are_shown_as_they_are_typed() -> None:
    assert shown_setting({"k1": 0.82, "b": 2 / 3, "fb_docs": 10}) == "k1=0.82 b=0.6666666667 fb_docs=10"
    assert shown_setting({"mu": 1000004.0, "fb_docs": 12345678901}) == "mu=1000004 fb_docs=12345678901"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "the grid is empty"),
        (["k1"], "not an axis"),
        (["k1="], "not an axis"),
        (["k1=a:b:c"], "not an axis"),
        (["k1=1:2"], "not an axis"),
        (["k1=1:2:0"], "not an axis"),
        (["k1=0:0:0"], "not an axis"),
        (["k1=1,,2"], "not an axis"),
        (["k1=nan"], "not an axis"),
        (["k1=0:inf:1"], "not an axis"),
        (["k1=2:1:0.1"], "range of a grid is empty"),
        (["k1=1:2:-0.1"], "range of a grid is empty"),
        (["k1=2:1:-0.1"], "range of a grid is empty"),
        (["k1=0:1:1e-9"], "more than 100000 settings"),
        (["k1=0:1:1e-40"], "has at most 9 decimals .got '1e-40'"),
        (["fb_docs=1e5000"], "at most 1e[+]12 and has at most 9 decimals .got '1e5000'"),
        (["k1=-1e999999:1:1"], "at most 1e[+]12"),
        (["k1=1,1.0000000000000000000000000000000000001"], "has at most 9 decimals"),
        (["k1=0:1:0.001", "b=0:1:0.001"], "1002001 settings, more than"),
        (["fb_doc=1"], "no setting to tune in this first stage .got 'fb_doc'.; did you mean 'fb_docs'"),
        (["k1=1", "k1=2"], "given twice"),
    ],
)
def test_what_is_no_grid_is_refused(texts: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_axes(texts, KINDS)
