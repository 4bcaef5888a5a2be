"""Keep all memory in one heap, and give freed memory back to the system.

A thread's own heap is in pieces of 64 MiB. Where the rest of the last piece is too small for a block, glibc (2.36) maps
the next piece, at once unmaps it again, since nothing is in it yet, and takes the block, and every later one of its
size, from the main thread's heap. So a batch lay in two heaps, and both filled with holes from hour to hour. In one
heap, holes serve the blocks of all threads, and its end can be given back.

The blocks of a batch lie among small ones that stay, so glibc keeps most of their memory, and more of it from hour to
hour. Asked to, it gives back whole pages amid its heaps, too. That takes milliseconds, and the next batch as long
again to get its pages; blocks of their own (glibc's ``mmap`` threshold) would be as small, but took a third of the
time of a network.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable

_SECONDS = 60.0
_ARENA_MAX = -8  # glibc's number of the option
_CHOSEN = ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")  # a user's own choice


def use_one_heap() -> None:
    """Let threads that start later share glibc's main heap, unless the environment configures its heaps."""
    options = _of_glibc("mallopt")
    if options is not None and not any(name in os.environ for name in _CHOSEN):
        options(_ARENA_MAX, 1)


class FreedMemory:
    """Gives freed memory back now and then; does nothing where the C library is not glibc.

    Args:
        seconds: from one time to the next.
    """

    def __init__(self, seconds: float = _SECONDS) -> None:
        self._seconds, self._due, self._trim = seconds, time.monotonic() + seconds, _trimming()

    def give_back(self) -> None:
        """Give it back if it is time."""
        if self._trim is not None and (now := time.monotonic()) >= self._due:
            self._due = now + self._seconds
            self._trim(0)


def _trimming() -> Callable[[int], int] | None:
    """Return glibc's function, or None."""
    return _of_glibc("malloc_trim")


def _of_glibc(name: str) -> Callable[..., int] | None:
    """Return a function of glibc; None where the C library is another."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    function: Callable[..., int] | None = getattr(library, name, None)
    return function if hasattr(library, "gnu_get_libc_version") else None
