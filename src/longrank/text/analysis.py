"""Analyzers turn text into index terms: Lucene's English chain, with or without stemming and stop words.

words (UAX #29) -> possessive 's removed -> lower-case -> stop words dropped -> stemmed

Stop words are dropped before stemming. Queries and documents go through the same chain.
"""

from __future__ import annotations

from collections.abc import Callable

from longrank.text.porter import stem
from longrank.text.words import pieces, single_word, word_spans, words

STOP_WORDS = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not"),
        *("of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was"),
        *("will", "with"),
    )
)
"""Lucene's English stop words."""

_POSSESSIVE = ("'s", "'S", "\u2019s", "\u2019S", "\uff07s", "\uff07S")
_CACHED = 1 << 18  # distinct words in the cache; about 40 MiB


class Analyzer:
    """Turns text into terms; the terms of known words are cached.

    Attributes:
        name: its name in `ANALYZERS`.
        about: description in a line.
    """

    def __init__(self, name: str, stem: Callable[[str], str] | None, stop_words: frozenset[str]) -> None:
        self.name = name
        stemming = "original Porter stemming" if stem else "no stemming"
        self.about = f"UAX #29 words, possessive removed, lower-case; {len(stop_words) or 'no'} stop words; {stemming}"
        self._terms = _Terms(stem, stop_words)

    def term(self, word: str) -> str:
        """Return the term of a word of `longrank.text.words.words`; empty for a stop word."""
        return self._terms[word]

    def __call__(self, text: str) -> list[str]:
        """Return the terms of `text` in order, without stop words."""
        word = single_word(text)
        if word is not None:  # ten times as fast
            return [term] if (term := self._terms[word]) else []
        terms: list[str] = []
        for piece in pieces(text):
            terms += filter(None, map(self._terms.__getitem__, words(piece)))
        return terms

    def spans(self, text: str) -> list[tuple[str, int, int]]:
        """Return (term, start, end) for each term; the offsets count code points of `text`."""
        spans = ((self._terms[text[start:end]], start, end) for start, end in word_spans(text))
        return [span for span in spans if span[0]]


class _Terms(dict[str, str]):
    """Cache: word -> term, ``""`` for a stop word; emptied when full."""

    def __init__(self, stem: Callable[[str], str] | None, stop_words: frozenset[str]) -> None:
        super().__init__()
        self._stem, self._stop_words = stem, stop_words

    def __missing__(self, word: str) -> str:
        if len(self) >= _CACHED:
            self.clear()
        term = self[word] = self._term(word)
        return term

    def _term(self, word: str) -> str:
        if word.endswith(_POSSESSIVE):
            word = word[:-2]
        term = _lower(word)
        if term in self._stop_words:
            return ""
        return self._stem(term) if self._stem else term


def _lower(word: str) -> str:
    """Lower-case letter by letter, so that the length stays the same (a final sigma becomes a plain sigma)."""
    return word.lower() if word.isascii() else "".join(letter.lower()[0] for letter in word)


ANALYZERS: dict[str, Analyzer] = {
    "porter": Analyzer("porter", stem, STOP_WORDS),
    "none": Analyzer("none", None, frozenset()),
}
"""Analyzers by name: ``porter`` is the default of Lucene and Anserini; ``none`` keeps every word unstemmed."""
