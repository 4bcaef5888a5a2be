"""A first stage that is opened by its first query: a pipeline that only reranks needs no stored vectors."""

from __future__ import annotations

import threading
from collections.abc import Callable

from longrank.protocols import Retriever
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
        with self._lock:
            self._stage = self._stage or self._make()
        return self._stage.retrieve(query, k)
