"""Tasks done here, or by several processes; the results are the same.

A process that is killed is an error, never a result that is missing or an endless wait.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from multiprocessing import get_context
from multiprocessing.connection import wait
from typing import Any, TypeAlias, TypeVar

from longrank.errors import LongRankError

T = TypeVar("T")
R = TypeVar("R")
_Pipe: TypeAlias = Any  # Connection is generic in some versions of Python and not in others
_Numbered: TypeAlias = Iterator[tuple[int, T]]


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def distributed(function: Callable[[T], R], tasks: Iterable[T], workers: int) -> Iterator[tuple[int, R]]:
    """Call `function` with every task; yield (number of the task, result) in order of completion.

    Args:
        function: picklable; each process gets one copy, so what it opens at its first call stays open.
        tasks: picklable; as many as there are workers, and one more, are in memory at a time.
        workers: processes to start; none is started if 1, or if there is only one task.

    Raises:
        LongRankError: a process was killed.
        Exception: what `function` raises.
    """
    tasks = iter(tasks)
    begun = list(islice(tasks, 2 if workers > 1 else 1))
    several = len(begun) > 1
    numbered = enumerate(chain(_drained(begun), tasks))
    if not several:
        yield from ((number, function(task)) for number, task in numbered)
        return
    with _started(function, workers) as pipes:
        yield from _shared_out(numbered, pipes)


def in_order(numbered: Iterable[tuple[int, T]]) -> Iterator[T]:
    """Yield what comes with the numbers 0, 1, 2, ... in that order; what is early waits."""
    early: dict[int, T] = {}
    due = 0
    for number, one in numbered:
        early[number] = one
        while due in early:
            yield early.pop(due)
            due += 1


def _drained(tasks: list[T]) -> Iterator[T]:
    """Yield the tasks and forget them: one may be large."""
    while tasks:
        yield tasks.pop(0)


def _shared_out(tasks: _Numbered[Any], pipes: Sequence[_Pipe]) -> _Numbered[Any]:
    idle, busy = list(pipes), dict[_Pipe, int]()
    for number, task in tasks:
        if not idle:
            idle = list(wait(busy))
            yield from ((busy.pop(pipe), _received(pipe)) for pipe in idle)
        pipe = idle.pop()
        with _noticing_death():
            pipe.send(task)
        busy[pipe] = number
    while busy:
        yield from ((busy.pop(pipe), _received(pipe)) for pipe in wait(busy))


def _received(pipe: _Pipe) -> Any:
    with _noticing_death():
        answer = pipe.recv()
    if isinstance(answer, Exception):
        raise answer
    return answer


@contextmanager
def _noticing_death() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError):
        raise LongRankError("a worker process was killed, perhaps for lack of memory; try --workers 1") from None


@contextmanager
def _started(function: Callable[[Any], Any], n: int) -> Iterator[list[_Pipe]]:
    """Start `n` processes, each at the other end of a pipe; they end with the block, or with this process."""
    context = get_context("spawn")  # a fork would copy locks of other threads
    pipes, processes = [], []
    try:
        for _ in range(n):
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(there, function), daemon=True)
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


def _serve(pipe: _Pipe, function: Callable[[Any], Any]) -> None:
    """Do what comes through the pipe until its other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the first process decides
    try:
        while True:
            pipe.send(_answer(function, pipe.recv()))
    except (EOFError, OSError):
        return


def _answer(function: Callable[[Any], Any], task: Any) -> Any:
    try:
        return function(task)
    except Exception as error:  # shown by the first process
        return error
