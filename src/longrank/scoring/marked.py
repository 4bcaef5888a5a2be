"""Inputs of late interaction: texts after a marker, and queries filled up with mask tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from longrank.errors import InputError
from longrank.networks.late_settings import LateSettings
from longrank.networks.model_files import Model
from longrank.text.packing import SEAM, Packed, Packer, token_ids


class Marked:
    """Packs texts after a marker: ``[CLS] marker text [SEP]``.

    A marker that the vocabulary has as one token is inserted as that token, as ColBERT and PyLate do; any other marker
    is text.

    Args:
        raw: a ``tokenizers.Tokenizer``.
        marker: the marker, and a prompt after it.
        max_tokens: longest input, special tokens and marker included.
    """

    def __init__(self, raw: Any, marker: str, max_tokens: int) -> None:
        token = _marker_token(raw, marker)
        self._id = None if token is None else int(raw.token_to_id(token))
        prompt = marker if token is None else marker.removeprefix(token)
        self._prompt = prompt if prompt.strip() else ""
        self._packer = Packer(raw, max_tokens - (token is not None), 1)
        self._first = self._packer.leading_tokens("")

    @property
    def room(self) -> int:
        """Largest number of tokens of a text that is not cut."""
        used = self._packer.leading_tokens(self._prompt) - self._first + SEAM if self._prompt else 0
        return max(1, self._packer.text_room - used)

    def texts(self, texts: Sequence[str]) -> Iterator[Packed]:
        """Yield each text after the marker, cut if necessary."""
        for packed in self._packer.texts([self._prompt + text for text in texts]):
            if self._id is None:
                yield packed
                continue
            ids, kinds = packed.ids.tolist(), packed.type_ids
            ids.insert(self._first, self._id)
            yield Packed(token_ids(ids), np.insert(kinds, self._first, kinds[0]), packed.truncated)


def _marker_token(raw: Any, marker: str) -> str | None:
    """Return the beginning of a marker that is one token: all of it, or a word in brackets."""
    first = marker.split(None, 1)[0] if marker.strip() else ""
    names = (marker, f"{first} ", first) if first.startswith(("[", "<")) else ()
    return next((name for name in names if raw.token_to_id(name) is not None), None)


class QueryFiller(NamedTuple):
    """Fills queries up to `length` tokens with `token`; None: leaves them as they are."""

    token: int | None
    length: int
    attends: bool

    @classmethod
    def of(cls, model: Model, tokenizer: Any, settings: LateSettings, length: int) -> QueryFiller:
        """Return what fills the queries of a model.

        Raises:
            InputError: the tokenizer lacks the token.
        """
        if not settings.expands:
            return cls(None, 0, False)
        name = settings.filler or tokenizer.mask_token or "[MASK]"
        token = tokenizer.get_vocab().get(name)
        if token is None:
            raise InputError("the tokenizer lacks the token that fills queries up", path=model.path, got=name)
        return cls(int(token), length, settings.attends)

    def fill(self, packed: Packed) -> tuple[Packed, int]:
        """Return the query filled up, and the number of its first tokens that others attend to."""
        n, missing = len(packed.ids), 0 if self.token is None else max(0, self.length - len(packed.ids))
        ids = token_ids([*packed.ids.tolist(), *[self.token or 0] * missing])
        filled = Packed(ids, np.pad(packed.type_ids, (0, missing)), packed.truncated)
        return filled, n + missing if self.attends else n


def token_ids_of(raw: Any, unknown: int | None, words: Sequence[str]) -> list[int]:
    """Return the token ids of the words that the vocabulary has as one token."""
    found = (raw.token_to_id(word) for word in words)
    return sorted({int(token) for token in found if token is not None and token != unknown})
