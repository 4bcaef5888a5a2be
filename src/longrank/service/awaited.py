"""What a coroutine waits for until a deadline, and the worker thread gives it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from longrank.service.errors import Refusal

T = TypeVar("T")


class Awaited(Generic[T]):
    """A result on its way from the worker thread to the event loop; made on the loop.

    Args:
        deadline: when it is no longer wanted, of `time.monotonic`.
    """

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[T] = self._loop.create_future()
        self._left = False

    @property
    def gone(self) -> bool:
        """Whether nobody waits any more: the task was cancelled, the deadline has passed, or there is an answer."""
        return self._left or time.monotonic() >= self.deadline

    async def result(self) -> T:
        """Wait for it.

        Raises:
            Refusal: 504, the deadline passes.
        """
        try:
            await asyncio.wait((self._future,), timeout=self.deadline - time.monotonic())
            if not self._future.done():
                raise Refusal(504, "deadline", "the deadline has passed before the ranking was computed")
            return self._future.result()
        finally:
            self._left = True

    def give(self, value: T) -> None:
        """Answer; from any thread."""
        self._settle(self._future.set_result, value)

    def fail(self, error: BaseException) -> None:
        """Let `result` raise; from any thread."""
        if not isinstance(error, Exception) or isinstance(error, StopIteration):
            # A future refuses the one, and what is no Exception (a Rust panic) would end the event loop.
            wrapped = RuntimeError(f"{type(error).__name__}: {error}")
            wrapped.__cause__ = error
            error = wrapped
        self._settle(self._future.set_exception, error)

    def _settle(self, settle: Callable[[Any], None], value: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self._unless_left, settle, value)

    def _unless_left(self, settle: Callable[[Any], None], value: object) -> None:
        if not self._left:
            settle(value)
