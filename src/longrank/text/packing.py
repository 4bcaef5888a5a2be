"""Packing and truncation of queries and passages for a network.

    [CLS] query [SEP] passage [SEP]        or        [CLS] text [SEP]

The query is truncated first, to its own limit; then the end of the passage, until the input fits. Every truncation is
reported. Special tokens and segment ids come from the model's own post-processor, so the input is the same as in
training. `Tokenizer` is a protocol of Hugging Face's ``tokenizers.Tokenizer``.
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
"""Most characters to tokenise per token of the limit: an endless "word" would take gigabytes."""

TEXTS_AT_ONCE, CHARACTERS_AT_ONCE = 256, 1 << 16
"""Largest number of texts per call of the tokenizer, and of their characters; a longer text has a call of its own. A
tokenizer takes about a hundred bytes per token."""

SLACK = 16
"""Tokens at the end of a text's beginning that more text could change."""

SEAM = 4
"""Tokens that two texts, joined, may have more than both alone."""

_LIKELY_CHARACTERS = 16  # per token; prose has 4 to 6
_BEGINNING = re.compile(r"(?s:.*)[^ \t\r\n](?=[ \t\r\n])")  # these characters are blanks for every tokenizer


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
        """Number of each token's text, 0 or 1; None: a special token."""
        ...


class Tokenizer(Protocol):
    """Protocol of ``tokenizers.Tokenizer``."""

    def encode(self, sequence: str, pair: str | None = None) -> Encoding:
        """Tokenise a text or a pair, with special tokens."""
        ...

    def encode_batch(self, input: list[str], *, add_special_tokens: bool) -> list[Encoding]:
        """Tokenise several texts."""
        ...

    def no_truncation(self) -> None:
        """Switch truncation off."""
        ...

    def no_padding(self) -> None:
        """Switch padding off."""
        ...


class Packed(NamedTuple):
    """Token ids, uint16[L] or int32[L], segment ids, uint8[L], whether the text was truncated, and the query's end.

    ``query_end`` is the number of tokens up to the end of a pair's query, special tokens before it included; 0: no
    pair. The ids do not tell it: the text of a separator in a query becomes a separator. The types are the smallest
    possible: a block may have tens of thousands of inputs.
    """

    ids: NDArray[np.integer[Any]]
    type_ids: NDArray[np.uint8]
    truncated: bool
    query_end: int = 0


class Packer:
    """Packs texts for one model.

    Args:
        tokenizer: the model's tokenizer; its own truncation and padding are switched off.
        max_tokens: longest input, special tokens included.
        max_query_tokens: largest number of query tokens in a pair; lower if it would leave no token for the passage.

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
            raise ValueError(f"{max_tokens} tokens with {max_query_tokens} for the query are too few")
        self.max_tokens, self.max_query_tokens = max_tokens, min(max_query_tokens, room - 1)

    @property
    def text_room(self) -> int:
        """Largest number of tokens of a text that is not truncated."""
        return self.max_tokens - self._text.n_special

    @property
    def passage_room(self) -> int:
        """Largest number of tokens of a passage that is not truncated, whatever the query; at least half of the input.

        Where `max_query_tokens` is more than half of the input, a longer query may truncate such a passage.
        """
        room = self.max_tokens - self._pair.n_special
        return room - min(self.max_query_tokens, room // 2)

    def texts(self, texts: Sequence[str]) -> Iterator[Packed]:
        """Yield each text, truncated if necessary."""
        for ids, cut in self._tokenised(texts, self.text_room):
            yield self._text.filled([ids], cut)

    def leading_tokens(self, prompt: str) -> int:
        """Return the number of tokens of `prompt` at the beginning of a text, special tokens included."""
        ((ids, _),) = self._tokenised([prompt], self.max_tokens)
        return len(self._text.parts[0][0]) + len(ids)

    def pairs(self, query: str, passages: Sequence[str]) -> Iterator[Packed]:
        """Yield the query paired with each passage; ``truncated`` refers to the passage."""
        ((query_ids, _),) = self._tokenised([query], self.max_query_tokens)
        room = self.max_tokens - self._pair.n_special - len(query_ids)
        for ids, cut in self._tokenised(passages, room):
            yield self._pair.filled([query_ids, ids], cut)._replace(query_end=self.pair_specials[0] + len(query_ids))

    @property
    def pair_specials(self) -> tuple[int, int, int]:
        """Numbers of special tokens before the query of a pair, between query and passage, and after the passage."""
        before, between, after = (len(ids) for ids, _ in self._pair.parts)
        return before, between, after

    def cuts_query(self, query: str) -> bool:
        """Return true if `pairs` truncates the query."""
        ((_, cut),) = self._tokenised([query], self.max_query_tokens)
        return cut

    def _tokenised(self, texts: Sequence[str], room: int) -> Iterator[tuple[list[int], bool]]:
        """Yield at most `room` token ids of each text, and whether it has more."""
        limit = MAX_CHARACTERS_PER_TOKEN * self.max_tokens
        for piece in at_once(texts, lambda text: beginning(text[:limit], room)):
            whole = [text[:limit] for text in piece]
            read = [text[: beginning(text, room)] for text in whole]
            encodings = self._tokenizer.encode_batch(read, add_special_tokens=False)
            for text, most, some, encoding in zip(piece, whole, read, encodings, strict=True):
                ids = encoding.ids
                if len(some) < len(most) and len(ids) < room + SLACK:  # few tokens, many characters
                    ids = self._tokenizer.encode_batch([most], add_special_tokens=False)[0].ids
                yield ids[:room], len(ids) > room or len(most) < len(text)


def beginning(text: str, n_tokens: int) -> int:
    """Return the end of a beginning of `text` that likely has `n_tokens` + `SLACK` tokens.

    It ends before a blank, so that no word is cut, or else at the end of the text. Except the last tokens, its tokens
    are the same as in the full text: a tokenizer may look beyond the end of a word, but not many tokens back.
    """
    likely = _LIKELY_CHARACTERS * (n_tokens + SLACK)
    match = _BEGINNING.match(text, 0, likely) if len(text) > likely else None
    return match.end() if match else len(text)


def at_once(texts: Sequence[str], length: Callable[[str], int]) -> Iterator[Sequence[str]]:
    """Split texts into runs of at most `TEXTS_AT_ONCE` texts whose `length` sums to at most `CHARACTERS_AT_ONCE`."""
    first = total = 0
    for n, text in enumerate(texts):
        total += length(text)
        if n > first and (n - first == TEXTS_AT_ONCE or total > CHARACTERS_AT_ONCE):
            yield texts[first:n]
            first, total = n, length(text)
    if first < len(texts):
        yield texts[first:]


def token_ids(ids: Sequence[int]) -> NDArray[np.integer[Any]]:
    """Return token ids in the smallest possible type."""
    return np.array(ids, dtype=np.uint16 if max(ids, default=0) < 1 << 16 else np.int32)


@dataclass(frozen=True, slots=True)
class _Template:
    """Special tokens of an input: parts[0] A parts[1], or parts[0] A parts[1] B parts[2].

    Each part is (ids, segment ids); `segments` are the segment ids of A and B.
    """

    parts: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    segments: tuple[int, ...]

    @classmethod
    def of(cls, example: Encoding) -> _Template:
        """Return the template of an example without empty sequences."""
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
        """Number of special tokens."""
        return sum(len(ids) for ids, _ in self.parts)

    def filled(self, sequences: Sequence[list[int]], truncated: bool) -> Packed:
        """Return the template filled with the token ids of the sequences."""
        ids = list(self.parts[0][0])
        for sequence, (after, _) in zip(sequences, self.parts[1:], strict=True):
            ids += [*sequence, *after]
        return Packed(token_ids(ids), self._types(tuple(map(len, sequences))), truncated)

    @lru_cache(maxsize=4096)  # noqa: B019  (a template has the lifetime of its model)
    def _types(self, lengths: tuple[int, ...]) -> NDArray[np.uint8]:
        """Return the segment ids for sequences of these lengths; inputs of equal length share them."""
        types = list(self.parts[0][1])
        for length, segment, (_, after) in zip(lengths, self.segments, self.parts[1:], strict=True):
            types += [segment] * length + list(after)
        return np.array(types, dtype=np.uint8)
