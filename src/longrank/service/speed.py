"""Measure how fast the models score."""

from __future__ import annotations

_HALF_LIFE = 10.0  # seconds after which a measurement has half its weight
_MIN_SECONDS = 0.5  # weighted seconds of work; less gives no rate


class Speed:
    """Tokens per second of work, with weights that decay with age.

    After an idle hour nothing is left, and the rate is unknown.
    """

    def __init__(self) -> None:
        self._tokens = self._seconds = self._at = 0.0

    def add(self, tokens: float, seconds: float, now: float) -> None:
        """Add a measurement.

        Args:
            tokens: scored tokens.
            seconds: duration.
            now: end of the work, of `time.monotonic`.
        """
        kept = 0.5 ** ((now - self._at) / _HALF_LIFE)
        self._tokens, self._seconds = kept * self._tokens + tokens, kept * self._seconds + seconds
        self._at = now

    def rate(self, now: float) -> float | None:
        """Return tokens per second; None if too little was measured lately."""
        kept = 0.5 ** ((now - self._at) / _HALF_LIFE) * self._seconds
        return self._tokens / self._seconds if kept >= _MIN_SECONDS and self._tokens > 0 else None
