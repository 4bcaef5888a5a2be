"""Segments written one after another here, or by several processes; the result is the same."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from multiprocessing import get_context
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from longrank.errors import LongRankError
from longrank.index.options import IndexOptions
from longrank.index.segments import Segment, write_segment

if TYPE_CHECKING:
    from longrank.formats.corpora import Located

Task: TypeAlias = tuple[Path, Sequence["Located"], IndexOptions]
"""The arguments of `write_segment`."""

_Pipe: TypeAlias = Any  # Connection is generic in some versions of Python and not in others


def write_segments(tasks: Iterator[Task], workers: int) -> Iterator[Segment]:
    """Do the tasks and yield what comes of them, in order of completion.

    Args:
        tasks: what to write; as many as there are workers, and one more, are in memory at a time.
        workers: processes to start; none is started if 1, or if there is only one task.

    Raises:
        InputError: a document cannot be written.
        LongRankError: a worker process was killed.
    """
    begun = list(islice(tasks, 2 if workers > 1 else 1))
    several = len(begun) > 1
    tasks = chain(_drained(begun), tasks)
    if not several:
        yield from (write_segment(*task) for task in tasks)
        return
    with _started(workers) as pipes:
        yield from _distributed(tasks, pipes)


def _drained(tasks: list[Task]) -> Iterator[Task]:
    """Yield the tasks and forget them: a batch of documents is large."""
    while tasks:
        yield tasks.pop(0)


def _distributed(tasks: Iterator[Task], pipes: Sequence[_Pipe]) -> Iterator[Segment]:
    idle, busy = list(pipes), set[_Pipe]()
    for task in tasks:
        if not idle:
            idle = list(wait(busy))
            busy.difference_update(idle)
            yield from map(_received, idle)
        pipe = idle.pop()
        with _noticing_death():
            pipe.send(task)
        busy.add(pipe)
    yield from map(_received, busy)


def _received(pipe: _Pipe) -> Segment:
    with _noticing_death():
        answer = pipe.recv()
    if isinstance(answer, Exception):
        raise answer
    return answer  # type: ignore[no-any-return]


@contextmanager
def _noticing_death() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError):
        raise LongRankError("a worker process was killed, perhaps for lack of memory; try --workers 1") from None


@contextmanager
def _started(n: int) -> Iterator[list[_Pipe]]:
    """Start `n` processes, each at the other end of a pipe; they end with the block, or with this process."""
    context = get_context("spawn")  # a fork would copy locks of other threads
    pipes, processes = [], []
    try:
        for _ in range(n):
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(there,), daemon=True)
            process.start()
            there.close()  # so that a dead worker is an end of file here
            pipes.append(here)
            processes.append(process)
        yield pipes
    finally:
        for pipe in pipes:
            pipe.close()
        for process in processes:
            process.terminate()
            process.join()


def _serve(pipe: _Pipe) -> None:
    """Do what comes through the pipe until its other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the first process decides
    try:
        while True:
            pipe.send(_answer(pipe.recv()))
    except (EOFError, OSError):
        return


def _answer(task: Task) -> Segment | Exception:
    try:
        return write_segment(*task)
    except Exception as error:  # shown by the first process
        return error
