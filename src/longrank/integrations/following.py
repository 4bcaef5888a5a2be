"""Follow an index that changes while an integration answers from it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

from longrank.index import Index
from longrank.index.folder import place_of
from longrank.index.stamps import CANNOT_OPEN, Stamp, stamp_of
from longrank.protocols import PassageScorer
from longrank.scoring import keeping_models

T = TypeVar("T")
Place = TypeVar("Place", bound=Index | Path | str | None)

_log = logging.getLogger("longrank")


def absolute(index: Place) -> Place:
    """Return an index that stays the same if the working folder changes: a path as an absolute path.

    Raises:
        InputError: not a path, or an address of another kind.
    """
    if not isinstance(index, Path | str):
        return index
    place = place_of(index)
    return type(index)(place.absolute()) if isinstance(place, Path) else index


def absolute_pipeline(name: str | None) -> str | None:
    """Return the name of a pipeline that stays the same if the working folder changes: a file as an absolute path."""
    return name if name is None or not str(name).endswith(".toml") else str(Path(name).absolute())


class Followed(NamedTuple, Generic[T]):
    """A value made from an index; a warning if it is of an old state, else an empty text."""

    value: T
    warning: str


class Following(Generic[T]):
    """A value made from the newest state of an index, at its first use; models stay loaded.

    Args:
        index: absolute folder or address of the index. An open index stays in its state; None: there is no index.
        load: makes the value.
    """

    def __init__(self, index: Index | Path | str | None, load: Callable[[], T]) -> None:
        self._index, self._load, self._lock = index, load, Lock()
        self._models: dict[Any, PassageScorer] = {}
        self._followed: Followed[T] | None = None
        self._stamp: Stamp = ()

    def current(self) -> Followed[T]:
        """Return the value, made again if the index was changed.

        If the changed index cannot be opened, the old value stays in use, which is logged and is the warning. Each
        call tries again.

        Raises:
            InputError, MissingExtra, IntegrityError: `load` fails at first.
        """
        with self._lock:
            followed = self._followed
            try:
                stamp = self._look()
                if followed is None or stamp != self._stamp:
                    followed = self._followed = self._made()
                    self._stamp = stamp  # from before the index was opened
            except CANNOT_OPEN as error:
                if followed is None:
                    raise
                warning = f"the changed index cannot be opened, the old state stays in use: {error}"
                _log.warning("%s", warning)
                return followed._replace(warning=warning)
            return followed

    def _look(self) -> Stamp:
        return () if self._index is None or isinstance(self._index, Index) else stamp_of(self._index)

    def _made(self) -> Followed[T]:
        with keeping_models(self._models):
            return Followed(self._load(), "")
