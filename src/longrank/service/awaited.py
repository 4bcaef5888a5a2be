"""A result that a worker thread sets and a coroutine awaits until a deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from longrank.service.errors import Refusal

T = TypeVar("T")


class Awaited(Generic[T]):
    """A result; constructed on the event loop, set from any thread.

    Args:
        deadline: time of `time.monotonic` until which the result is useful.
    """

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[T] = self._loop.create_future()
        self._left = False

    @property
    def gone(self) -> bool:
        """True if nobody waits: the task was cancelled, the deadline has passed, or the result was taken."""
        return self._left or time.monotonic() >= self.deadline

    async def result(self) -> T:
        """Wait for the result.

        Raises:
            Refusal: 504, the deadline passes.
        """
        try:
            await asyncio.wait((self._future,), timeout=self.deadline - time.monotonic())
            if not self._future.done():
                raise Refusal(504, "deadline", "the deadline passed before the ranking was computed")
            return self._future.result()
        finally:
            self._left = True

    def give(self, value: T) -> None:
        """Set the result."""
        self._settle(self._future.set_result, value)

    def fail(self, error: BaseException) -> None:
        """Let `result` raise an error."""
        if not isinstance(error, Exception) or isinstance(error, StopIteration):
            # A future refuses StopIteration, and a BaseException (a Rust panic) would end the event loop.
            wrapped = RuntimeError(f"{type(error).__name__}: {error}")
            wrapped.__cause__ = error
            error = wrapped
        self._settle(self._future.set_exception, error)

    def _settle(self, settle: Callable[[Any], None], value: object) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._unless_left, settle, value)

    def _unless_left(self, settle: Callable[[Any], None], value: object) -> None:
        if not self._left:
            settle(value)
