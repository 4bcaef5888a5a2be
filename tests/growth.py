"""Assert that time grows linearly with an input, on machines of any speed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Input = TypeVar("Input")

_TIMES = 8
_MOST = 3 * _TIMES  # quadratic time is _TIMES * _TIMES
_TRIES = 5  # a machine that is busy or pauses disturbs a few of them


def assert_linear_time(work: Callable[[Input], object], made: Callable[[int], Input], size: int) -> None:
    """Compare the processor time of `work` for inputs of `size` and of an eighth of `size`."""
    ratios = list[float]()
    for _ in range(_TRIES):
        ratios.append(_seconds(work, made(size)) / _seconds(work, made(size // _TIMES)))
        if ratios[-1] < _MOST:
            return
    raise AssertionError(f"{_TIMES} times the input takes {min(ratios):.0f} times the time, or more: {ratios}")


def _seconds(work: Callable[[Input], object], given: Input) -> float:
    began = time.process_time()
    work(given)
    return time.process_time() - began
