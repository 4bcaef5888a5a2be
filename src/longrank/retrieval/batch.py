"""Many queries at once: the compiled loops of several threads run side by side on one index in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, Self

from longrank.types import Notes, Query, ScoredDoc

_AHEAD = 4  # queries per thread that are answered before their turn


class Shareable(Protocol):
    """A retriever that several threads may use, each query with its own place for remarks."""

    @property
    def notes(self) -> Notes:
        """Where remarks go."""
        ...

    @property
    def parallel(self) -> bool:
        """Whether several threads answer queries sooner than one."""
        ...

    def noting(self, notes: Notes) -> Self:
        """Return the same retriever with another place for remarks."""
        ...

    def retrieve(self, query: Query, k: int) -> list[ScoredDoc]:
        """Return at most `k` documents, best first."""
        ...


def retrieve_all(retriever: Shareable, queries: Sequence[Query], k: int, threads: int) -> Iterator[list[ScoredDoc]]:
    """Yield what ``retriever.retrieve(query, k)`` returns for each query, in order; remarks come in order, too.

    Args:
        retriever: safe to use from several threads.
        queries: what to answer.
        k: documents per query.
        threads: how many at most, >= 1. A few answers per thread are in memory at a time.
    """
    if threads == 1 or not retriever.parallel:
        yield from (retriever.retrieve(query, k) for query in queries)
    else:
        yield from _by_threads(retriever, queries, k, threads)


def _by_threads(retriever: Shareable, queries: Sequence[Query], k: int, threads: int) -> Iterator[list[ScoredDoc]]:
    def answer(query: Query) -> tuple[list[ScoredDoc], Notes]:
        notes = Notes()
        return retriever.noting(notes).retrieve(query, k), notes

    with ThreadPoolExecutor(threads) as pool:
        pending: deque[Future[tuple[list[ScoredDoc], Notes]]] = deque()
        try:
            for query in queries:
                pending.append(pool.submit(answer, query))
                if len(pending) > threads * _AHEAD:
                    yield _next(pending, retriever.notes)
            while pending:
                yield _next(pending, retriever.notes)
        finally:
            pool.shutdown(cancel_futures=True)


def _next(pending: deque[Future[tuple[list[ScoredDoc], Notes]]], notes: Notes) -> list[ScoredDoc]:
    rows, remarks = pending.popleft().result()
    notes.merge(remarks)
    return rows
