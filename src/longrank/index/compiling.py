"""Compilation of inner loops.

A compiled function contains the functions that it calls. numba compiles it again if its own file changes, but not if
the file of a called function does: delete ``__pycache__/*.nbi`` after changing a function that other files call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import njit
from numba.core import event


def compiled(function: Callable[..., Any]) -> Any:
    """Compile at the first call; keep the result on disk for the next process, if possible.

    The code runs without Python's lock, and divides as numpy does: testing each divisor would cost a fifth of the time.
    """
    return _compiled(function, allocates=True)


def compiled_lean(function: Callable[..., Any]) -> Any:
    """Compile as `compiled` a function that makes and returns no arrays, so references to arrays need not be counted.

    numba counts a reference to each array of each call, by an atomic instruction: 7% to 25% of a search's time.
    """
    return _compiled(function, allocates=False)


def _compiled(function: Callable[..., Any], *, allocates: bool) -> Any:
    # _nrt, the counting, is told in both cases: a function would otherwise take it over from its first caller
    options = {"nogil": True, "error_model": "numpy", "_nrt": allocates}
    try:
        return njit(**options, cache=True)(function)
    except RuntimeError:  # no writable folder beside the function's file or in the home folder
        return njit(**options)(function)


class _Telling(event.Listener):  # type: ignore[misc]
    """Calls a function when the first compilation begins."""

    def __init__(self, say: Callable[[], object]) -> None:
        self._say: Callable[[], object] | None = say

    def on_start(self, event: Any) -> None:
        """Take the begin of a compilation; what is read from the disk begins none."""
        say, self._say = self._say, None
        if say is not None:
            say()

    def on_end(self, event: Any) -> None:
        """Take the end of a compilation."""


@contextmanager
def telling(say: Callable[[], object]) -> Iterator[None]:
    """Call `say` once if a function is compiled in the block, before it is."""
    listener = _Telling(say)
    event.register("numba:compile", listener)
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)
