"""A result that a worker thread sets and a coroutine awaits until a deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Generic, TypeVar

from longrank.service.errors import LATE, Refusal

T = TypeVar("T")


class Awaited(Generic[T]):
    """A result; set from any thread.

    Args:
        deadline: time of `time.monotonic` until which the result is useful.
    """

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self._future: Future[T] = Future()

    @property
    def gone(self) -> bool:
        """True if nobody waits: the task was cancelled, the deadline has passed, or the result is set."""
        return self._future.done() or time.monotonic() >= self.deadline

    async def result(self) -> T:
        """Wait for the result.

        Raises:
            Refusal: 504, the deadline passes.
        """
        future = asyncio.wrap_future(self._future)
        try:
            await asyncio.wait((future,), timeout=self.deadline - time.monotonic())
            if not future.done():
                raise Refusal(504, LATE, "the deadline passed before the ranking was computed")
            return future.result()
        finally:
            self._future.cancel()

    def give(self, value: T) -> None:
        """Set the result."""
        with suppress(InvalidStateError):  # cancelled
            self._future.set_result(value)

    def fail(self, error: BaseException) -> None:
        """Let `result` raise an error."""
        if not isinstance(error, Exception) or isinstance(error, StopIteration):
            # asyncio refuses StopIteration, and a BaseException (a Rust panic) would end the event loop.
            wrapped = RuntimeError(f"{type(error).__name__}: {error}")
            wrapped.__cause__ = error
            error = wrapped
        with suppress(InvalidStateError):
            self._future.set_exception(error)


class Call(Awaited[T]):
    """A short function call in the model thread."""

    def __init__(self, work: Callable[[], T], deadline: float) -> None:
        super().__init__(deadline)
        self._work = work

    def do(self) -> None:
        """Call the function unless nobody waits."""
        if self.gone:
            return
        try:
            self.give(self._work())
        except BaseException as error:
            self.fail(error)
