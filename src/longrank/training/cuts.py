"""Count cut texts once each, however often a training reads them."""

from __future__ import annotations

from collections.abc import Sequence

from longrank.text.packing import Packed, Packer
from longrank.training.ranks import Ranks
from longrank.types import Notes

_SHOWN = 40  # characters of a text in a note


class Cuts:
    """Cut texts so far.

    Args:
        notes: counts them.
    """

    def __init__(self, notes: Notes) -> None:
        self._notes, self._seen, n = notes, set[int](), Ranks().n
        self._where = f" (where the first of {n} processes read)" if n > 1 else ""

    def add(self, what: str, text: str, cut: bool) -> None:
        """Count a text under `what` if it is cut and not yet counted there."""
        if cut and (key := hash((what, text))) not in self._seen:
            self._seen.add(key)
            self._notes.add(what + self._where, text[:_SHOWN])

    def texts(self, packer: Packer, kind: str, texts: Sequence[str], prompt: str = "") -> list[Packed]:
        """Return texts packed one by one after a prompt; count cut texts as ``queries`` or ``texts``, by `kind`."""
        packed = list(packer.texts([prompt + text for text in texts]))
        for text, tokens in zip(texts, packed, strict=True):
            self.add(f"{kind} cut at {packer.max_tokens} tokens", text, tokens.truncated)
        return packed
