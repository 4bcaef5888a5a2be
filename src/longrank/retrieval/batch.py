"""Batches of queries, answered by several threads that share an index."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Protocol, Self, runtime_checkable

from longrank.types import Notes, Query, Ranking, ScoredDoc

_BLOCK = 16  # queries that a thread answers together, less if they find many documents
_ROWS = 8192  # of a block
_AHEAD = 1  # blocks per thread to answer ahead
_SELDOM = 10**6  # rounds of the middle generation
_LOCK = Lock()
_CALLS: list[int] = []  # for each call of `sparing_old_objects` now, the threshold before the first


class Retriever(Protocol):
    """A first stage."""

    def retrieve(self, query: Query, k: int) -> list[ScoredDoc]:
        """Return at most `k` documents, best first."""
        ...


@runtime_checkable
class BlockRetriever(Protocol):
    """A thread-safe first stage that answers several queries together, mostly without Python's lock."""

    @property
    def notes(self) -> Notes:
        """Notes of the first stage."""
        ...

    def noting(self, notes: Notes) -> Self:
        """Return the same first stage with other notes."""
        ...

    def retrieve_block(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Return at most `k` documents of each query, best first."""
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


def retrieve_all(
    retriever: Retriever | BlockRetriever, queries: Sequence[Query], k: int, threads: int
) -> Iterator[Ranking]:
    """Yield the documents of each query, as ``retriever.retrieve(query, k)``, in order; notes are in order, too.

    Args:
        retriever: a first stage; threads share a `BlockRetriever` only.
        queries: the queries.
        k: documents per query.
        threads: largest number of threads, >= 1. A few answers per thread are in memory at a time.
    """
    with sparing_old_objects():
        if not isinstance(retriever, BlockRetriever):
            yield from (Ranking.of(query.query_id, retriever.retrieve(query, k)) for query in queries)
            return
        share = -(-len(queries) // threads)  # of a thread: a few queries are shared out, too
        size = max(1, min(_BLOCK, _ROWS // max(k, 1), share))
        blocks = (queries[first : first + size] for first in range(0, len(queries), size))
        if threads == 1:
            answers: Iterator[list[Ranking]] = (retriever.retrieve_block(block, k) for block in blocks)
        else:
            answers = _by_threads(retriever, blocks, k, threads)
        for rankings in answers:
            yield from rankings


def _by_threads(
    retriever: BlockRetriever, blocks: Iterable[Sequence[Query]], k: int, threads: int
) -> Iterator[list[Ranking]]:
    def answer(block: Sequence[Query]) -> tuple[list[Ranking], Notes]:
        notes = Notes()
        return retriever.noting(notes).retrieve_block(block, k), notes

    with ThreadPoolExecutor(threads) as pool:
        pending: deque[Future[tuple[list[Ranking], Notes]]] = deque()
        try:
            for block in blocks:
                pending.append(pool.submit(answer, block))
                if len(pending) > threads * _AHEAD:
                    yield _next(pending, retriever.notes)
            while pending:
                yield _next(pending, retriever.notes)
        finally:
            pool.shutdown(cancel_futures=True)


def _next(pending: deque[Future[tuple[list[Ranking], Notes]]], notes: Notes) -> list[Ranking]:
    rankings, own_notes = pending.popleft().result()
    notes.merge(own_notes)
    return rankings
