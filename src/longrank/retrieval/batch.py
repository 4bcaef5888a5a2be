"""Batches of queries, answered by several threads that share an index."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Protocol, Self

from longrank.types import Notes, Query, ScoredDoc

_AHEAD = 4  # queries per thread to answer ahead
_SELDOM = 10**6  # rounds of the middle generation
_LOCK = Lock()
_CALLS: list[int] = []  # for each call of `sparing_old_objects` now, the threshold before the first


class Shareable(Protocol):
    """A thread-safe retriever, with notes of its own for each query."""

    @property
    def notes(self) -> Notes:
        """Notes of the retriever."""
        ...

    @property
    def parallel(self) -> bool:
        """True if several threads are faster than one."""
        ...

    def noting(self, notes: Notes) -> Self:
        """Return the same retriever with other notes."""
        ...

    def retrieve(self, query: Query, k: int) -> list[ScoredDoc]:
        """Return at most `k` documents, best first."""
        ...


@contextmanager
def sparing_old_objects() -> Iterator[None]:
    """Keep Python's garbage collector from its full rounds, which would read all rows found so far again and again.

    With a thousand documents a query, these rounds take more time than the queries. The rows are in no cycles; young
    objects are collected as ever. Calls may overlap, in several threads.
    """
    with _LOCK:
        _CALLS.append(gc.get_threshold()[2] if not _CALLS else _CALLS[0])
        gc.set_threshold(*gc.get_threshold()[:2], _SELDOM)
    try:
        yield
    finally:
        with _LOCK:
            before = _CALLS.pop()
            if not _CALLS:
                gc.set_threshold(*gc.get_threshold()[:2], before)


def retrieve_all(retriever: Shareable, queries: Sequence[Query], k: int, threads: int) -> Iterator[list[ScoredDoc]]:
    """Yield ``retriever.retrieve(query, k)`` for each query, in order; notes are in order, too.

    Args:
        retriever: a thread-safe retriever.
        queries: the queries.
        k: documents per query.
        threads: largest number of threads, >= 1. A few answers per thread are in memory at a time.
    """
    with sparing_old_objects():
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
    rows, own_notes = pending.popleft().result()
    notes.merge(own_notes)
    return rows
