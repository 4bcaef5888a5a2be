"""Admit rankings, or refuse them with 429 where they could not be answered in time.

A refusal comes at once, with ``Retry-After``; a ranking that waits too long would be computed for a client that has
left. An idle server always admits a ranking, whatever its cost.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from longrank.service.errors import Refusal
from longrank.service.settings import ServiceSettings

if TYPE_CHECKING:
    from longrank.service.metrics import Metrics

_MARGIN = 0.8  # share of the time left that a predicted wait may take
_MAX_RETRY_AFTER = 60  # seconds


class Load(Protocol):
    """The work of a `longrank.service.scheduler.Scheduler`."""

    @property
    def rate(self) -> float | None:
        """Tokens per second, or None if not known."""
        ...

    @property
    def waiting_tokens(self) -> int:
        """Tokens that are not scored yet."""
        ...

    def waiting_before(self, cost: int) -> int:
        """Return the tokens that would be scored before a new job of `cost` tokens."""
        ...


class Admission:
    """Counts the rankings in flight; its methods are called on the event loop.

    Args:
        settings: the limits.
        scheduler: the waiting work and its speed.
        metrics: shows the rankings in flight.
    """

    def __init__(self, settings: ServiceSettings, scheduler: Load, metrics: Metrics | None = None) -> None:
        self._settings, self._scheduler = settings, scheduler
        self._active = self._tokens = self._refused = 0
        if metrics is not None:
            metrics.watch(requests=lambda: self._active, tokens=lambda: scheduler.waiting_tokens)

    @property
    def active(self) -> int:
        """Rankings in flight."""
        return self._active

    @property
    def full(self) -> bool:
        """True if every further request would be refused."""
        return self._why_full() is not None

    def refuse_if_full(self) -> None:
        """Refuse a request before its body is read.

        Raises:
            Refusal: 429, overloaded.
        """
        if (why := self._why_full()) is not None:
            raise self._overloaded(why)

    @contextmanager
    def admit(self, tokens: int, deadline: float) -> Iterator[None]:
        """Count a ranking while it is in flight.

        Args:
            tokens: estimated tokens that a model will read.
            deadline: time of `time.monotonic` until which the answer is useful.

        Raises:
            Refusal: 429, overloaded.
        """
        self.refuse_if_full()
        if self._active:
            self._refuse_if_too_much(tokens, deadline)
        self._active += 1
        self._tokens += tokens
        try:
            yield
        finally:
            self._active -= 1
            self._tokens -= tokens

    def _why_full(self) -> str | None:
        if self._active >= self._settings.max_requests:
            return "as many rankings as it admits are in flight"
        if self._active and self._tokens >= self._settings.max_tokens:
            return "the rankings in flight hold as much text as it admits"
        if self._active and (wait := self._wait(0)) > self._settings.max_wait:
            return f"{wait:.0f} seconds of work are waiting"
        return None

    def _refuse_if_too_much(self, tokens: int, deadline: float) -> None:
        if self._tokens + tokens > self._settings.max_tokens:
            raise self._overloaded("with this ranking, more text would be in flight than it admits")
        if (wait := self._wait(tokens)) > self._settings.max_wait:
            raise self._overloaded(f"{wait:.0f} seconds of work are waiting")
        if wait and wait + tokens / (self._scheduler.rate or math.inf) > _MARGIN * (deadline - time.monotonic()):
            raise self._overloaded("the work before this ranking takes longer than its deadline allows")

    def _wait(self, tokens: int) -> float:
        """Return the seconds of waiting work; 0 for a ranking that overtakes all of it, or without a known rate."""
        if not self._scheduler.waiting_before(tokens):
            return 0.0
        return self._scheduler.waiting_tokens / (self._scheduler.rate or math.inf)

    def _overloaded(self, why: str) -> Refusal:
        return Refusal(429, "overloaded", f"the server is overloaded: {why}; try again later", self._retry_after())

    def _retry_after(self) -> dict[str, str]:
        """Return the seconds after which half to all of the waiting work is done.

        Then there is room, and still work to do. Clients that are refused together get different numbers.
        """
        half = math.ceil(self._scheduler.waiting_tokens / (self._scheduler.rate or math.inf) / 2)
        self._refused += 1
        return {"Retry-After": str(max(1, min(_MAX_RETRY_AFTER, half + self._refused % (half + 1))))}
