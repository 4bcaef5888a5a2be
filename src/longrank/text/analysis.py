"""From text to index terms: Lucene's English analysis chain, and the same without stemming and stop list.

words (UAX #29) -> possessive 's removed -> lower-case -> stop words dropped -> stemmed

The stop list is applied before stemming. Queries and documents go through the same chain.
"""

from __future__ import annotations

from collections.abc import Callable

from longrank.text.porter import stem
from longrank.text.words import pieces, word_spans, words

STOP_WORDS = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not"),
        *("of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was"),
        *("will", "with"),
    )
)
"""Lucene's English stop words."""

_POSSESSIVE = ("'s", "'S", "\u2019s", "\u2019S", "\uff07s", "\uff07S")
_CACHED = 1 << 18  # distinct words whose terms are remembered; about 40 MiB


class Analyzer:
    """Turns text into terms; calls are pure, words seen before are looked up.

    Attributes:
        name: its name in `ANALYZERS`.
        about: what it does, in a line.
    """

    def __init__(self, name: str, stem: Callable[[str], str] | None, stop_words: frozenset[str]) -> None:
        self.name = name
        stemming = "original Porter stemming" if stem else "no stemming"
        self.about = f"UAX #29 words, possessive removed, lower-case; {len(stop_words) or 'no'} stop words; {stemming}"
        self._terms = _Terms(stem, stop_words)

    def term(self, word: str) -> str:
        """Return the term of one of `longrank.text.words.words`; empty for a word that leaves no trace."""
        return self._terms[word]

    def __call__(self, text: str) -> list[str]:
        """Return the terms of `text` in order; stop words leave no trace."""
        terms: list[str] = []
        for piece in pieces(text):
            terms += filter(None, map(self._terms.__getitem__, words(piece)))
        return terms

    def spans(self, text: str) -> list[tuple[str, int, int]]:
        """Return (term, start, end) for each term; the offsets count code points of `text`."""
        found = ((self._terms[text[start:end]], start, end) for start, end in word_spans(text))
        return [span for span in found if span[0]]


class _Terms(dict[str, str]):
    """word -> its term, ``""`` for a word that is dropped; filled as words come, emptied when full."""

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
    """Lower-case letter by letter, so that the length stays (and a final sigma is any sigma)."""
    return word.lower() if word.isascii() else "".join(letter.lower()[0] for letter in word)


ANALYZERS: dict[str, Analyzer] = {
    "porter": Analyzer("porter", stem, STOP_WORDS),
    "none": Analyzer("none", None, frozenset()),
}
"""The chains by name: ``porter`` is Lucene's and Anserini's default; ``none`` keeps every word as it is."""
