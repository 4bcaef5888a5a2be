"""Compilation of inner loops."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile


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
    dispatcher = njit(**options)(function)
    with suppress(RuntimeError):  # no writable folder beside the function's file or in the home folder
        dispatcher._cache = _Cache(function)
    return dispatcher


def _stamp() -> str:
    """Return a digest of the files of this folder that name this module: all code and constants of compiled functions.

    numba itself would compile a function again only if the function's own file changes.
    """
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("[!.]*.py")):
        with suppress(OSError):  # removed or replaced at this moment
            content = path.read_bytes()
            digest.update(content if _NAME in content else b"")
    return digest.hexdigest()


_NAME = b"longrank.index.compiling"
_STAMP = _stamp()  # as early as can be: files may change while this process runs


class _Cache(FunctionCache):  # type: ignore[misc]
    """numba's cache on disk, whose content is dropped when any file of `_stamp` has changed."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = (self._impl.locator.get_source_stamp(), _STAMP)
        self._cache_file = IndexDataCacheFile(self._cache_path, self._impl.filename_base, stamp)


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
