"""The one truncation policy: what a network gets to read of a query and a passage.

    [CLS] query [SEP] passage [SEP]        or        [CLS] text [SEP]

The query is cut first, at its own limit; then the passage, never the query, is cut at its end until
the whole fits. Every cut is reported. Special tokens and segment ids are read off the model's own
post-processor once, so the result equals what the model was trained with. The tokenizer comes in
through a protocol that a Hugging Face ``tokenizers.Tokenizer`` fulfils.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from longrank.types import Int32s

MAX_CHARACTERS_PER_TOKEN = 100
"""Text beyond this many characters per token that may be read is not even tokenised: tokenising one
endless "word" takes gigabytes, and no prose is that long."""

TEXTS_AT_ONCE = 256
"""Texts tokenised at once; bounds memory."""


class Encoding(Protocol):
    """A tokenised text or pair."""

    @property
    def ids(self) -> list[int]:
        """Token ids."""
        ...

    @property
    def type_ids(self) -> list[int]:
        """Segment id of each token."""
        ...

    @property
    def sequence_ids(self) -> list[int | None]:
        """0 or 1: which text each token comes from; None: a special token."""
        ...


class Tokenizer(Protocol):
    """The part of ``tokenizers.Tokenizer`` that is needed here."""

    def encode(self, sequence: str, pair: str | None = None) -> Encoding:
        """Tokenise a text or a pair, with special tokens."""
        ...

    def encode_batch(self, input: list[str], *, add_special_tokens: bool) -> list[Encoding]:
        """Tokenise several texts."""
        ...

    def no_truncation(self) -> None:
        """Stop cutting."""
        ...

    def no_padding(self) -> None:
        """Stop padding."""
        ...


class Packed(NamedTuple):
    """Token ids and segment ids, int32[L] each, and whether something of the text had to be left out."""

    ids: Int32s
    type_ids: Int32s
    truncated: bool


class Packer:
    """Packs texts for one model.

    Args:
        tokenizer: the model's; its own truncation and padding, which may come with its file, are
            switched off.
        max_tokens: what the model reads, special tokens included.
        max_query_tokens: most tokens of the query in a pair; fewer where the passage would get none.

    Raises:
        ValueError: `max_tokens` leaves no room for a query and a passage.
    """

    def __init__(self, tokenizer: Tokenizer, max_tokens: int, max_query_tokens: int = 64) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        self._text, self._pair = _Template.of(tokenizer.encode("a")), _Template.of(tokenizer.encode("a", "a"))
        room = max_tokens - self._pair.n_special
        if room < 2 or max_query_tokens < 1:
            raise ValueError(f"{max_tokens} tokens, {max_query_tokens} of them for the query, are too few")
        self.max_tokens, self.max_query_tokens = max_tokens, min(max_query_tokens, room - 1)

    def texts(self, texts: Sequence[str]) -> Iterator[Packed]:
        """Yield each text alone, its end cut if need be."""
        room = self.max_tokens - self._text.n_special
        for ids, cut in self._tokenised(texts, room):
            yield self._text.filled([ids], cut)

    def leading_tokens(self, prompt: str) -> int:
        """Return how many tokens come before the rest of a text that begins with `prompt`."""
        ((ids, _),) = self._tokenised([prompt], self.max_tokens)
        return len(self._text.parts[0][0]) + len(ids)

    def pairs(self, query: str, passages: Sequence[str]) -> Iterator[Packed]:
        """Yield the query paired with each passage; ``truncated`` is about the passage."""
        ((query_ids, _),) = self._tokenised([query], self.max_query_tokens)
        room = self.max_tokens - self._pair.n_special - len(query_ids)
        for ids, cut in self._tokenised(passages, room):
            yield self._pair.filled([query_ids, ids], cut)

    def cuts_query(self, query: str) -> bool:
        """Say whether `pairs` leaves out a part of the query."""
        ((_, cut),) = self._tokenised([query], self.max_query_tokens)
        return cut

    def _tokenised(self, texts: Sequence[str], room: int) -> Iterator[tuple[list[int], bool]]:
        """Yield at most `room` token ids of each text, and whether that is not all of it."""
        limit = MAX_CHARACTERS_PER_TOKEN * self.max_tokens
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            piece = texts[start : start + TEXTS_AT_ONCE]
            encodings = self._tokenizer.encode_batch([text[:limit] for text in piece], add_special_tokens=False)
            for text, encoding in zip(piece, encodings, strict=True):
                ids = encoding.ids
                yield ids[:room], len(ids) > room or len(text) > limit


@dataclass(frozen=True, slots=True)
class _Template:
    """Special tokens around and between the sequences: parts[0] A parts[1], or parts[0] A parts[1] B parts[2].

    Each part is (ids, their segment ids); `segments` are the segment ids of A and B.
    """

    parts: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    segments: tuple[int, ...]

    @classmethod
    def of(cls, example: Encoding) -> _Template:
        """Read the template off an example in which no sequence is empty."""
        parts: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), ())]
        segments: list[int] = []
        last: int | None = None
        for token, segment, sequence in zip(example.ids, example.type_ids, example.sequence_ids, strict=True):
            if sequence is None:
                ids, types = parts[-1]
                parts[-1] = ((*ids, token), (*types, segment))
            elif sequence != last:
                segments.append(segment)
                parts.append(((), ()))
            last = sequence
        return cls(tuple(parts), tuple(segments))

    @property
    def n_special(self) -> int:
        """How many tokens are not of a sequence."""
        return sum(len(ids) for ids, _ in self.parts)

    def filled(self, sequences: Sequence[list[int]], truncated: bool) -> Packed:
        """Put the token ids of the sequences in their places."""
        (first_ids, first_types), *others = self.parts
        ids, types = list(first_ids), list(first_types)
        for sequence, segment, (after, after_types) in zip(sequences, self.segments, others, strict=True):
            ids += [*sequence, *after]
            types += [segment] * len(sequence) + list(after_types)
        return Packed(np.array(ids, dtype=np.int32), np.array(types, dtype=np.int32), truncated)
