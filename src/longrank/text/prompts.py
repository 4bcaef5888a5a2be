"""Packing a prompt: a question about query and passage, in which only the passage is cut.

    Query: {query} Document: {passage} Relevant:

The text is tokenised whole, so where nothing is cut the ids are those of the tokenizer. The query is cut
first, at its own limit; then the last tokens of the passage are left out until the whole fits: what asks
the question, before and after, always stays. Every cut is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from longrank.errors import InputError
from longrank.text.packing import MAX_CHARACTERS_PER_TOKEN, TEXTS_AT_ONCE, Packed

_SLACK = 4  # tokens left for the passage beside the longest query; also covers tokens that span a boundary


class Encoding(Protocol):
    """A tokenised text."""

    @property
    def ids(self) -> list[int]:
        """Token ids."""
        ...

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """(start, end) of each token in code points of the text; (0, 0) for special tokens that were added."""
        ...


class Tokenizer(Protocol):
    """The part of ``tokenizers.Tokenizer`` that is needed here; its truncation and padding are off."""

    def encode(self, sequence: str, *, add_special_tokens: bool) -> Encoding:
        """Tokenise a text."""
        ...

    def encode_batch(self, input: list[str], *, add_special_tokens: bool) -> list[Encoding]:
        """Tokenise several texts."""
        ...


class Template(NamedTuple):
    """A prompt taken apart: before the first slot, between the two, after the second; which slot is first."""

    before: str
    between: str
    after: str
    query_first: bool

    @classmethod
    def of(cls, prompt: str) -> Template:
        """Read a prompt with one {query} and one {passage}.

        Raises:
            InputError: it has not exactly one of each.
        """
        if prompt.count("{query}") != 1 or prompt.count("{passage}") != 1:
            raise InputError("a prompt needs {query} and {passage}, once each", got=prompt[:80])
        query_first = prompt.index("{query}") < prompt.index("{passage}")
        first, second = ("{query}", "{passage}") if query_first else ("{passage}", "{query}")
        before, _, rest = prompt.partition(first)
        between, _, after = rest.partition(second)
        return cls(before, between, after, query_first)

    def filled(self, query: str, passage: str) -> tuple[str, int, int]:
        """Return the text, and where the passage begins and ends in it."""
        first, second = (query, passage) if self.query_first else (passage, query)
        text = f"{self.before}{first}{self.between}{second}{self.after}"
        end = len(text) - len(self.after) if self.query_first else len(self.before) + len(passage)
        return text, end - len(passage), end


class PromptPacker:
    """Packs prompts for one model.

    Args:
        tokenizer: the model's, its truncation and padding switched off.
        prompt: text with {query} and {passage}.
        max_tokens: what the model reads, special tokens included.
        max_query_tokens: most tokens of the query; fewer where the passage would get none.

    Raises:
        InputError: the prompt lacks a slot, or leaves no room for query and passage.
    """

    def __init__(self, tokenizer: Tokenizer, prompt: str, max_tokens: int, max_query_tokens: int) -> None:
        self._tokenizer, self._template = tokenizer, Template.of(prompt)
        room = max_tokens - self._length("") - _SLACK
        if room < 1:
            raise InputError(
                f"max_tokens leaves no room for query and passage beside the prompt of {self._length('')} tokens",
                got=max_tokens,
            )
        self.max_tokens, self.max_query_tokens = max_tokens, min(max_query_tokens, room)

    def prompts(self, query: str, passages: Sequence[str]) -> Iterator[Packed]:
        """Yield the prompt for each passage; ``truncated`` is about the passage."""
        query, limit = self._read_of(query), MAX_CHARACTERS_PER_TOKEN * self.max_tokens
        for start in range(0, len(passages), TEXTS_AT_ONCE):
            piece = passages[start : start + TEXTS_AT_ONCE]
            filled = [self._template.filled(query, passage[:limit]) for passage in piece]
            encodings = self._tokenizer.encode_batch([text for text, _, _ in filled], add_special_tokens=True)
            for passage, (_, first, last), encoding in zip(piece, filled, encodings, strict=True):
                yield self._cut(encoding, first, last, cut_before=len(passage) > limit)

    def cuts_query(self, query: str) -> bool:
        """Say whether `prompts` leaves out a part of the query."""
        return self._read_of(query) != query

    def _cut(self, encoding: Encoding, first: int, last: int, *, cut_before: bool) -> Packed:
        """Leave out the last tokens of the passage, which lies at code points `first` .. `last`, until all fits."""
        ids, too_many = np.array(encoding.ids, dtype=np.int32), len(encoding.ids) - self.max_tokens
        if too_many > 0:
            # A first token may begin with the space before the passage; a last one that reaches beyond it stays.
            ends = np.array([end for _, end in encoding.offsets])
            ids = np.delete(ids, np.flatnonzero((first < ends) & (ends <= last))[-too_many:])
        return Packed(ids, np.zeros(len(ids), dtype=np.int32), too_many > 0 or cut_before)

    def _read_of(self, query: str) -> str:
        """Return the beginning of the query that is read."""
        beginning = query[: MAX_CHARACTERS_PER_TOKEN * self.max_tokens]
        offsets = self._tokenizer.encode(beginning, add_special_tokens=False).offsets
        read = (
            beginning if len(offsets) <= self.max_query_tokens else beginning[: offsets[self.max_query_tokens - 1][1]]
        )
        while read and self._length(read) > self.max_tokens - _SLACK:  # tokenised alone it was shorter
            read = read[:-1]
        return read

    def _length(self, query: str) -> int:
        text, _, _ = self._template.filled(query, "")
        return len(self._tokenizer.encode(text, add_special_tokens=True).ids)
