"""Packing and truncation of prompts: questions about a query and a passage.

    Query: {query} Document: {passage} Relevant:

The prompt is tokenised as one text, so without truncation the ids are the tokenizer's. The query is truncated first, to
its own limit; then the last tokens of the passage, until the prompt fits. The other words of the prompt always stay.
Every truncation is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.text.packing import MAX_CHARACTERS_PER_TOKEN, SEAM, SLACK, Packed, at_once, beginning, token_ids

_BLANK = re.compile(r"(?<=[^ \t\r\n])[ \t\r\n]")
_LAST_CHARACTERS = 100  # of a passage; several words
_LEAST = 4  # tokens for the passage beside the longest query; also covers tokens that span a boundary


class Encoding(Protocol):
    """A tokenised text."""

    @property
    def ids(self) -> list[int]:
        """Token ids."""
        ...

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """(start, end) of each token in code points of the text; (0, 0) for added special tokens."""
        ...


class Tokenizer(Protocol):
    """Protocol of ``tokenizers.Tokenizer`` without truncation and padding."""

    def encode(self, sequence: str, *, add_special_tokens: bool) -> Encoding:
        """Tokenise a text."""
        ...

    def encode_batch(self, input: list[str], *, add_special_tokens: bool) -> list[Encoding]:
        """Tokenise several texts."""
        ...


class Template(NamedTuple):
    """Parts of a prompt: the text before, between and after its slots, and the order of the slots."""

    before: str
    between: str
    after: str
    query_first: bool

    @classmethod
    def of(cls, prompt: str) -> Template:
        """Read a prompt with one {query} and one {passage}.

        Raises:
            InputError: a slot is missing or occurs twice.
        """
        if prompt.count("{query}") != 1 or prompt.count("{passage}") != 1:
            raise InputError("a prompt needs {query} and {passage} once each", got=prompt[:80])
        query_first = prompt.index("{query}") < prompt.index("{passage}")
        first, second = ("{query}", "{passage}") if query_first else ("{passage}", "{query}")
        before, _, tail = prompt.partition(first)
        between, _, after = tail.partition(second)
        return cls(before, between, after, query_first)

    def filled(self, query: str, passage: str) -> tuple[str, int, int]:
        """Return the text, and the start and end of the passage in it."""
        first, second = (query, passage) if self.query_first else (passage, query)
        text = f"{self.before}{first}{self.between}{second}{self.after}"
        end = len(text) - len(self.after) if self.query_first else len(self.before) + len(passage)
        return text, end - len(passage), end


class _Filled(NamedTuple):
    """A prompt with its passage at code points `first` .. `last`; `gap` < `last`: text is left out there."""

    text: str
    first: int
    gap: int
    last: int


class PromptPacker:
    """Packs prompts for one model.

    Args:
        tokenizer: the model's tokenizer, with truncation and padding switched off.
        prompt: text with {query} and {passage}.
        max_tokens: longest prompt, special tokens included.
        max_query_tokens: largest number of query tokens; lower if it would leave no token for the passage.

    Raises:
        InputError: the prompt lacks a slot, or leaves no room for query and passage.
    """

    def __init__(self, tokenizer: Tokenizer, prompt: str, max_tokens: int, max_query_tokens: int) -> None:
        self._tokenizer, self._template = tokenizer, Template.of(prompt)
        room = max_tokens - self._length("") - _LEAST
        if room < 1:
            raise InputError(
                f"max_tokens leaves no room for query and passage beside the prompt of {self._length('')} tokens",
                got=max_tokens,
            )
        self.max_tokens, self.max_query_tokens = max_tokens, min(max_query_tokens, room)

    @property
    def passage_room(self) -> int:
        """Largest number of tokens of a passage that is not truncated, as of `longrank.text.packing.Packer`."""
        room = self.max_tokens - self._length("")
        return max(1, room - min(self.max_query_tokens, room // 2) - 2 * SEAM)

    def room_beside(self, query: str) -> int:
        """Return the largest number of tokens of a passage that is not truncated beside this query, at least 1."""
        return max(1, self.max_tokens - self._length(self._read_of(query)) - 2 * SEAM)

    def prompts(self, query: str, passages: Sequence[str]) -> Iterator[Packed]:
        """Yield the prompt for each passage; ``truncated`` refers to the passage."""
        query, limit = self._read_of(query), MAX_CHARACTERS_PER_TOKEN * self.max_tokens
        for piece in at_once(passages, lambda passage: beginning(passage[:limit], self.max_tokens)):
            filled = [self._filled(query, passage[:limit], shorten=True) for passage in piece]
            encodings = self._tokenizer.encode_batch([prompt.text for prompt in filled], add_special_tokens=True)
            for passage, prompt, encoding in zip(piece, filled, encodings, strict=True):
                near_gap = self._reads_gap(encoding, prompt)
                encoded = self._whole(query, passage[:limit]) if near_gap else (encoding, prompt)
                yield self._cut(*encoded, cut_before=len(passage) > limit)

    def cuts_query(self, query: str) -> bool:
        """Return true if `prompts` truncates the query."""
        return self._read_of(query) != query

    def _filled(self, query: str, passage: str, *, shorten: bool) -> _Filled:
        """Fill the template; with `shorten`, leave out the middle of a long passage, which is hardly read.

        The end of the passage stays, since the next tokens of the prompt may depend on it.
        """
        start, end = beginning(passage, self.max_tokens), len(passage)
        last_words = _BLANK.search(passage, max(start, end - _LAST_CHARACTERS))
        if shorten and start < end and last_words:
            passage = passage[:start] + passage[last_words.start() :]
        text, first, last = self._template.filled(query, passage)
        return _Filled(text, first, first + start if shorten and last_words else last, last)

    def _whole(self, query: str, passage: str) -> tuple[Encoding, _Filled]:
        filled = self._filled(query, passage, shorten=False)
        return self._tokenizer.encode(filled.text, add_special_tokens=True), filled

    def _reads_gap(self, encoding: Encoding, filled: _Filled) -> bool:
        """Return true if remaining tokens are near the gap, where the tokens of the full passage may differ."""
        if filled.gap == filled.last:
            return False
        ends = _ends(encoding)
        n_before = int(((filled.first < ends) & (ends <= filled.gap)).sum())
        n_passage = int(((filled.first < ends) & (ends <= filled.last)).sum())
        return n_before - SLACK < self.max_tokens - (len(ends) - n_passage)

    def _cut(self, encoding: Encoding, filled: _Filled, *, cut_before: bool) -> Packed:
        """Drop the last tokens of the passage until the prompt fits."""
        ids = token_ids(encoding.ids)
        too_many = len(ids) - self.max_tokens
        if too_many > 0:
            # A first token may begin with the space before the passage; a last token that ends after the passage stays.
            ends = _ends(encoding)
            ids = np.delete(ids, np.flatnonzero((filled.first < ends) & (ends <= filled.last))[-too_many:])
        return Packed(ids, np.zeros(len(ids), dtype=np.uint8), too_many > 0 or cut_before)

    def _read_of(self, query: str) -> str:
        """Return the query, truncated to its limit."""
        text = query[: beginning(query, self.max_query_tokens)]
        offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
        if len(text) < len(query) and len(offsets) < self.max_query_tokens + SLACK:
            text = query[: MAX_CHARACTERS_PER_TOKEN * self.max_tokens]
            offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
        text = text if len(offsets) <= self.max_query_tokens else text[: offsets[self.max_query_tokens - 1][1]]
        while text and self._length(text) > self.max_tokens - _LEAST:  # it has more tokens within the prompt
            text = text[:-1]
        return text

    def _length(self, query: str) -> int:
        text, _, _ = self._template.filled(query, "")
        return len(self._tokenizer.encode(text, add_special_tokens=True).ids)


def _ends(encoding: Encoding) -> NDArray[np.int64]:
    return np.array([end for _, end in encoding.offsets], dtype=np.int64)
