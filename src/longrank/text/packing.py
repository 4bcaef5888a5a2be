"""The one truncation policy: what a network gets to read of a query and a passage.

    [CLS] query [SEP] passage [SEP]        or        [CLS] text [SEP]

The query is cut first, at its own limit; then the passage, never the query, is cut at its end until
the whole fits. Every cut is reported. Special tokens and segment ids are read off the model's own
post-processor once, so the result equals what the model was trained with. The tokenizer comes in
through a protocol that a Hugging Face ``tokenizers.Tokenizer`` fulfils.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

MAX_CHARACTERS_PER_TOKEN = 100
"""Text beyond this many characters per token that may be read is not even tokenised: tokenising one
endless "word" takes gigabytes, and no prose is that long."""

TEXTS_AT_ONCE, CHARACTERS_AT_ONCE = 256, 1 << 16
"""Texts tokenised at once, and the characters of all of them; a longer text goes alone. Bounds memory: a
tokenizer takes about a hundred bytes a token."""

SLACK = 16
"""Tokens at the end of a text's beginning that are not relied on: more text could change them."""

_LIKELY_CHARACTERS = 16  # that hold a token; prose has 4 to 6
_BEGINNING = re.compile(r"(?s:.*)[^ \t\r\n](?=[ \t\r\n])")  # characters that are blanks to every tokenizer


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
    """Token ids, uint16[L] or int32[L], segment ids, uint8[L], and whether something of the text had to be left out.

    As small as they can be: a block may hold tens of thousands of these at a time.
    """

    ids: NDArray[np.integer[Any]]
    type_ids: NDArray[np.uint8]
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

    @property
    def pair_specials(self) -> tuple[int, int, int]:
        """How many special tokens are before the query of a pair, between query and passage, and after it."""
        before, between, after = (len(ids) for ids, _ in self._pair.parts)
        return before, between, after

    def cuts_query(self, query: str) -> bool:
        """Say whether `pairs` leaves out a part of the query."""
        ((_, cut),) = self._tokenised([query], self.max_query_tokens)
        return cut

    def _tokenised(self, texts: Sequence[str], room: int) -> Iterator[tuple[list[int], bool]]:
        """Yield at most `room` token ids of each text, and whether that is not all of it."""
        limit = MAX_CHARACTERS_PER_TOKEN * self.max_tokens
        for piece in at_once(texts, lambda text: beginning(text[:limit], room)):
            whole = [text[:limit] for text in piece]
            read = [text[: beginning(text, room)] for text in whole]
            encodings = self._tokenizer.encode_batch(read, add_special_tokens=False)
            for text, most, some, encoding in zip(piece, whole, read, encodings, strict=True):
                ids = encoding.ids
                if len(some) < len(most) and len(ids) < room + SLACK:  # few tokens in many characters
                    ids = self._tokenizer.encode_batch([most], add_special_tokens=False)[0].ids
                yield ids[:room], len(ids) > room or len(most) < len(text)


def beginning(text: str, n_tokens: int) -> int:
    """Return where a beginning of `text` ends that likely holds `n_tokens` tokens and `SLACK` more.

    It ends before a blank, so that no word is cut; where there is none, at the end of the text. All but its last
    tokens are those of the whole text: a tokenizer may look beyond the end of a word, but not many tokens back.
    """
    likely = _LIKELY_CHARACTERS * (n_tokens + SLACK)
    found = _BEGINNING.match(text, 0, likely) if len(text) > likely else None
    return found.end() if found else len(text)


def at_once(texts: Sequence[str], length: Callable[[str], int]) -> Iterator[Sequence[str]]:
    """Split texts into runs of at most `TEXTS_AT_ONCE`, in which `length` adds up to `CHARACTERS_AT_ONCE` at most."""
    first = total = 0
    for n, text in enumerate(texts):
        total += length(text)
        if n > first and (n - first == TEXTS_AT_ONCE or total > CHARACTERS_AT_ONCE):
            yield texts[first:n]
            first, total = n, length(text)
    if first < len(texts):
        yield texts[first:]


def token_ids(ids: Sequence[int]) -> NDArray[np.integer[Any]]:
    """Return token ids in the smallest type that holds them."""
    return np.array(ids, dtype=np.uint16 if max(ids, default=0) < 1 << 16 else np.int32)


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
        ids = list(self.parts[0][0])
        for sequence, (after, _) in zip(sequences, self.parts[1:], strict=True):
            ids += [*sequence, *after]
        return Packed(token_ids(ids), self._types(tuple(map(len, sequences))), truncated)

    @lru_cache(maxsize=4096)  # noqa: B019  (a template lives as long as its model)
    def _types(self, lengths: tuple[int, ...]) -> NDArray[np.uint8]:
        """Return the segment ids for sequences of these lengths; texts of one length share them."""
        types = list(self.parts[0][1])
        for length, segment, (_, after) in zip(lengths, self.segments, self.parts[1:], strict=True):
            types += [segment] * length + list(after)
        return np.array(types, dtype=np.uint8)
