"""Run tasks in this process or in several; the results are the same.

A killed process is an error, never a missing result or an endless wait.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from multiprocessing import current_process, get_context, parent_process
from multiprocessing.connection import wait
from typing import Any, Self, TypeAlias, TypeVar

from longrank.engines.order import answer, is_far_ahead, result
from longrank.errors import InputError, LongRankError

T = TypeVar("T")
R = TypeVar("R")
_Pipe: TypeAlias = Any  # Connection is generic in some versions of Python and not in others
_Numbered: TypeAlias = Iterator[tuple[int, T]]


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Local:
    """Processes of this machine; follows `longrank.engines.Engine`.

    Args:
        workers: processes to start; none is started for 1 worker or 1 task.
        address: no other machine.
        resources: processes share all resources of the machine.

    Raises:
        InputError: an address or resources.
    """

    def __init__(self, workers: int | None = None, address: str = "", resources: Mapping[str, float] | None = None):
        if address or resources:
            raise InputError("the engine local takes no address and no resources", fix="--engine ray takes both")
        self.workers = workers or 1

    @property
    def threads(self) -> int | None:
        """CPU threads for each process; None: as in this process."""
        return max(1, cores() // self.workers) if self.workers > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None: ...

    def each(
        self, function: Callable[[T], R] | Sequence[Callable[[T], R]], tasks: Iterable[T]
    ) -> Iterator[tuple[int, R]]:
        """Call `function` with every task, as `longrank.engines.Engine.each`; at most `workers` + 1 are in memory."""
        tasks = iter(tasks)
        first = list(islice(tasks, 2 if self.workers > 1 else 1))
        several = len(first) > 1
        functions = [function] * self.workers if callable(function) else list(function)
        numbered = enumerate(chain(_drained(first), tasks))
        if not several or current_process().daemon:  # a worker may not start workers of its own
            yield from ((number, functions[0](task)) for number, task in numbered)
            return
        with _started(functions) as pipes:
            yield from _shared_out(numbered, pipes)


def _drained(items: list[T]) -> Iterator[T]:
    """Yield tasks or answers and drop them from the list, since they may be large."""
    while items:
        yield items.pop(0)


def _shared_out(tasks: _Numbered[Any], pipes: Sequence[_Pipe]) -> _Numbered[Any]:
    done: list[tuple[int, Any]] = []
    try:
        yield from _worked_off(tasks, pipes, done)
    except Exception:
        yield from _results(done)  # what is finished is not lost
        raise


def _worked_off(tasks: _Numbered[Any], pipes: Sequence[_Pipe], done: list[tuple[int, Any]]) -> _Numbered[Any]:
    idle, busy = list(pipes), dict[_Pipe, int]()
    for number, task in tasks:
        while not idle or is_far_ahead(number, busy.values(), len(pipes)):
            yield from _results(done)  # not before: the caller works on results while all processes have a task
            ready = list(wait(busy))
            done += (_received(pipe, busy.pop(pipe)) for pipe in ready)
            idle += ready
        pipe = idle.pop()
        with _noticing_death(number):
            pipe.send(task)
        busy[pipe] = number
    yield from _results(done)
    while busy:
        done += (_received(pipe, busy.pop(pipe)) for pipe in wait(busy))
        yield from _results(done)


def _results(answers: list[tuple[int, Any]]) -> _Numbered[Any]:
    return ((number, result(answered)) for number, answered in _drained(answers))


def _received(pipe: _Pipe, number: int) -> tuple[int, Any]:
    with _noticing_death(number):
        return number, pipe.recv()


@contextmanager
def _noticing_death(number: int) -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError):
        raise _WorkerDied(number) from None


class _WorkerDied(LongRankError):
    """A worker process ended without an answer to the block `number`."""

    def __init__(self, number: int) -> None:
        what = f"a worker process was killed at block {number}, perhaps for lack of memory"
        super().__init__(f"{what}; use fewer --workers or smaller batches")
        self.number = number


def _check_ends(processes: Sequence[Any], died: _WorkerDied) -> None:
    """Check that no process ended with an error of its own: nothing killed it.

    Raises:
        LongRankError: a process did.
    """
    ended = wait([process.sentinel for process in processes], 5)
    for process in processes:
        if process.sentinel in ended:
            process.join(5)  # its pipes close before it has an exit code
    if any(process.exitcode == 1 for process in processes):
        what = f"a worker process ended with an error at block {died.number}, which stands above"
        guard = (
            'a script that uses workers needs `if __name__ == "__main__":` before its calls, for each worker imports it'
        )
        raise LongRankError(f"{what}; {guard}") from None


@contextmanager
def _started(functions: Sequence[Callable[[Any], Any]]) -> Iterator[list[_Pipe]]:
    """Start a process for each function, each with a pipe; they end with the block or with this process."""
    context = get_context("spawn")  # a fork would copy locks of other threads
    pipes, processes = [], []
    try:
        for function in functions:
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(there, function), daemon=True)
            process.start()
            there.close()  # then a dead worker is an end of file here
            pipes.append(here)
            processes.append(process)
        yield pipes
    except _WorkerDied as died:
        _check_ends(processes, died)
        raise
    finally:
        for pipe in pipes:
            pipe.close()
        for process in processes:
            process.terminate()
            process.join()


def _serve(pipe: _Pipe, function: Callable[[Any], Any]) -> None:
    """Run the tasks that arrive through the pipe until its other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal signals all processes; the parent decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        while True:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a task that ran a command line has left its own handler
            pipe.send(answer(function, pipe.recv()))
    except (EOFError, OSError):
        return


def _end_with_parent() -> None:
    """End this process if its parent is killed, even inside a task: it may hold a lock that the next command needs."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)
