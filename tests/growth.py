"""Assert that time grows linearly with an input, on machines of any speed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Input = TypeVar("Input")

_TIMES = 8
_MOST = 3 * _TIMES  # quadratic time is _TIMES * _TIMES
_TRIES = 5  # a machine that is busy or pauses disturbs a few of them


def assert_linear_time(
    work: Callable[[Input], object],
    make: Callable[[int], Input],
    size: int,
    clock: Callable[[], float] = time.process_time,
) -> None:
    """Compare the time of `work` for inputs of `size` and of an eighth of `size`.

    `clock`: `time.monotonic` for work of another process, whose time this process' clock does not count.
    """
    ratios = list[float]()
    for _ in range(_TRIES):
        ratios.append(_seconds(work, make(size), clock) / _seconds(work, make(size // _TIMES), clock))
        if ratios[-1] < _MOST:
            return
    raise AssertionError(f"{_TIMES} times the input takes {min(ratios):.0f} times the time, or more: {ratios}")


def _seconds(work: Callable[[Input], object], value: Input, clock: Callable[[], float]) -> float:
    began = clock()
    work(value)
    return clock() - began
