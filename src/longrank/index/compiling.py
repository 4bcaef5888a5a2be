"""Compilation of inner loops.

A compiled function contains the functions that it calls. numba compiles it again if its own file changes, but not if
the file of a called function does: delete ``__pycache__/*.nbi`` after changing a function that other files call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Any:
    """Compile at the first call; keep the result on disk for the next process, if possible.

    The code runs without Python's lock, and divides as numpy does: testing each divisor would cost a fifth of the time.
    """
    try:
        return njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:  # no writable folder beside the function's file or in the home folder
        return njit(nogil=True, error_model="numpy")(function)
