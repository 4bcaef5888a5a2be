"""Order of tasks and results that several workers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

AHEAD = 4  # results for each worker that may wait for an earlier result


def in_order(numbered: Iterable[tuple[int, T]]) -> Iterator[T]:
    """Yield numbered results in the order 0, 1, 2, ...; early results wait."""
    early: dict[int, T] = {}
    due = 0
    for number, result in numbered:
        early[number] = result
        while due in early:
            yield early.pop(due)
            due += 1


def is_far_ahead(number: int, busy: Iterable[int], workers: int) -> bool:
    """Tell whether a task must wait, since too many results would wait for the oldest task in work."""
    return number - min(busy, default=number) >= AHEAD * workers


def answer(function: Callable[[Any], Any], task: Any) -> Any:
    """Return the result of a task, or the exception that it raised; see `result`."""
    try:
        return function(task)
    except Exception as error:  # raised again in the driver
        return error


def result(answered: Any) -> Any:
    """Return the result that a worker answered, or raise its exception."""
    if isinstance(answered, Exception):
        raise answered
    return answered
