"""Compilation of inner loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Any:
    """Compile at the first call, without Python's lock; keep the result on disk for the next process, if possible."""
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no writable folder beside the function's file or in the home folder
        return njit(nogil=True)(function)
