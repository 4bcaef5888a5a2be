"""A first stage that is opened by its first query: a pipeline that only reranks needs no stored vectors."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.protocols import MaskedRetriever, Retriever
from longrank.types import Query, ScoredDoc


class Deferred:
    """Opens a first stage when a query first needs it; safe to use from several threads."""

    def __init__(self, make: Callable[[], Retriever]) -> None:
        self._make, self._lock = make, threading.Lock()
        self._stage: Retriever | None = None

    def retrieve(self, query: Query, k: int) -> list[ScoredDoc]:
        """Return at most `k` documents, best first.

        Raises:
            LongRankError: the stage cannot be opened; the next query tries again.
        """
        return self.open().retrieve(query, k)

    def within(self, mask: NDArray[np.bool_]) -> Deferred:
        """Return the same stage among the documents of a mask, bool[D]."""
        return Deferred(lambda: masked(self.open(), mask))

    def open(self) -> Retriever:
        """Return the stage, opened.

        Raises:
            LongRankError: the stage cannot be opened, as with stored vectors of other documents.
        """
        with self._lock:
            self._stage = self._stage or self._make()
            return self._stage


def masked(retriever: Retriever, mask: NDArray[np.bool_]) -> Retriever:
    """Return a first stage among the documents of a mask, bool[D].

    Raises:
        InputError: the first stage takes no mask.
    """
    if not isinstance(retriever, MaskedRetriever):
        raise InputError("this first stage takes no filter", got=type(retriever).__name__, fix="search an index")
    return retriever.within(mask)
