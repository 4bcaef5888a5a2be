"""Give memory that was freed back to the system.

The blocks of a batch lie among small ones that stay, so glibc keeps most of their memory, and more of it from hour to
hour. Asked to, it gives back whole pages amid its heaps, too. That takes milliseconds, and the next batch as long
again to get its pages; blocks of their own (glibc's ``mmap`` threshold) would be as small, but took a third of the
time of a network.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable

_SECONDS = 60.0


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
    if not sys.platform.startswith("linux"):
        return None
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim
