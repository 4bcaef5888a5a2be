"""How fast the models are at present."""

from __future__ import annotations

_HALF_LIFE = 10.0  # seconds after which a measurement counts half
_LEAST_SECONDS = 0.5  # of (still counted) work; less says little


class Speed:
    """Tokens per second of work, recent work counting most: both are summed up, and forgotten at the same pace.

    Work that lies long behind is forgotten, too: nothing is known after an idle hour, instead of what was true then.
    """

    def __init__(self) -> None:
        self._tokens = self._seconds = self._at = 0.0

    def add(self, tokens: float, seconds: float, now: float) -> None:
        """Count a piece of work.

        Args:
            tokens: what was done.
            seconds: how long it took.
            now: when it ended, of `time.monotonic`.
        """
        kept = 0.5 ** ((now - self._at) / _HALF_LIFE)
        self._tokens, self._seconds = kept * self._tokens + tokens, kept * self._seconds + seconds
        self._at = now

    def rate(self, now: float) -> float | None:
        """Return tokens per second; None while too little has been measured lately."""
        kept = 0.5 ** ((now - self._at) / _HALF_LIFE) * self._seconds
        return self._tokens / self._seconds if kept >= _LEAST_SECONDS and self._tokens > 0 else None
