"""Analyzers turn text into index terms: Lucene's English chain, with or without stems and stop words; other languages.

words (UAX #29) -> possessive 's removed -> lower-case -> stop words dropped -> stemmed

Stop words are dropped before stemming. Queries and documents go through the same chain. Other languages have chains in
`longrank.text.languages`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from unicodedata import normalize

from longrank.errors import InputError
from longrank.text import languages
from longrank.text.porter import stem
from longrank.text.stop_words import stop_words
from longrank.text.words import pieces, single_word, word_spans, words
from longrank.types import Notes, Query
from longrank.types.letters import NARROW, is_plain

STOP_WORDS = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not"),
        *("of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was"),
        *("will", "with"),
    )
)
"""Lucene's English stop words."""

_UNITS = re.compile(rf"[\S{NARROW}]+")
_POSSESSIVE = ("'s", "'S", "\u2019s", "\u2019S", "\uff07s", "\uff07S")
_CACHED = 1 << 18  # distinct words in the cache; about 40 MiB


class Analyzer:
    """Turns text into terms; the terms of known words are cached.

    Attributes:
        name: its name in `ANALYZERS`.
        about: description in a line.
    """

    def __init__(self, name: str, about: str, term: Callable[[str], str]) -> None:
        self.name, self.about = name, about
        self._terms = _Terms(term)

    def check(self) -> None:
        """Raise MissingExtra if a package that it needs is not installed."""

    def term(self, word: str) -> str:
        """Return the term of a word of `words`; empty for a stop word."""
        return self._terms[word]

    def words(self, text: str) -> list[str]:
        """Return the words of `text` in their spelling, each of which has a term or is a stop word."""
        return words(text)

    def _word_spans(self, text: str) -> Iterable[tuple[int, int]]:
        return word_spans(text)

    def __call__(self, text: str) -> list[str]:
        """Return the terms of `text` in order, without stop words."""
        word = single_word(text)
        if word is not None:  # ten times as fast
            return [term] if (term := self._terms[word]) else []
        terms: list[str] = []
        for piece in pieces(text):
            terms += filter(None, map(self._terms.__getitem__, self.words(piece)))
        return terms

    def spans(self, text: str) -> list[tuple[str, int, int]]:
        """Return (term, start, end) for each term; the offsets count code points of `text`."""
        spans = ((self._terms[text[start:end]], start, end) for start, end in self._word_spans(text))
        return [span for span in spans if span[0]]


class _Terms(dict[str, str]):
    """Cache: word -> term, ``""`` for a stop word; emptied when full."""

    def __init__(self, term: Callable[[str], str]) -> None:
        super().__init__()
        self._term = term

    def __missing__(self, word: str) -> str:
        if len(self) >= _CACHED:
            self.clear()
        term = self[word] = self._term(word)
        return term


class _Other(Analyzer):
    """Words of other languages than English; Lucene's boundaries, but that a narrow no-break space is a blank."""

    def _word_spans(self, text: str) -> Iterable[tuple[int, int]]:
        return self._spans_in(text.replace(NARROW, " "))

    def _spans_in(self, text: str) -> Iterable[tuple[int, int]]:
        return word_spans(text)

    def words(self, text: str) -> list[str]:
        return words(text) if text.isascii() else [text[start:end] for start, end in self._word_spans(text)]


class _Language(_Other):
    """Words in lower case without stop words, stemmed by Snowball."""

    def __init__(self, name: str) -> None:
        n_stop = len(stop_words(name)) or "no"
        about = (
            f"UAX #29 words, lower-case; {n_stop} stop words; Snowball stemming for {name.title()} (extra `languages`)"
        )
        super().__init__(name, about, partial(_language_term, name))

    def check(self) -> None:
        languages.check_stemmer(self.name)

    def words(self, text: str) -> list[str]:
        return words(text.replace(NARROW, " "))


class _Bigrams(_Other):
    """Bigrams of Chinese, Japanese and Korean characters, and other words in lower case."""

    def __init__(self) -> None:
        about = "overlapping bigrams of Chinese, Japanese and Korean characters; other words lower-case; no stop words"
        super().__init__("cjk", about, languages.folded)

    def _spans_in(self, text: str) -> Iterable[tuple[int, int]]:
        return languages.bigram_spans(text)


class _Unspaced(_Other):
    """Words of Thai, Lao, Khmer and Burmese, which no blanks separate, and other words; in lower case."""

    def __init__(self) -> None:
        about = (
            "words of Thai, Lao, Khmer and Burmese by ICU's dictionaries (extra `icu`); other words lower-case; "
            "no stop words"
        )
        super().__init__("icu", about, partial(languages.lowered, "thai"))

    def check(self) -> None:
        languages.check_icu()

    def _spans_in(self, text: str) -> Iterable[tuple[int, int]]:
        return languages.icu_spans(text)


def _language_term(language: str, word: str) -> str:
    word = languages.lowered(language, word)
    return "" if languages.is_stop_word(language, word) else languages.snowball(language, word)


def _english_word(word: str) -> str:
    return _lower(word[:-2] if word.endswith(_POSSESSIVE) else word)


def _english_term(word: str) -> str:
    term = _english_word(word)
    return "" if term in STOP_WORDS else stem(term)


def _lower(word: str) -> str:
    """Lower-case letter by letter, so that the length stays the same (a final sigma becomes a plain sigma)."""
    return word.lower() if word.isascii() else "".join(letter.lower()[0] for letter in word)


_ENGLISH = "UAX #29 words, possessive removed, lower-case"
ANALYZERS: dict[str, Analyzer] = {
    "porter": Analyzer("porter", f"{_ENGLISH}; {len(STOP_WORDS)} stop words; original Porter stemming", _english_term),
    "none": Analyzer("none", f"{_ENGLISH}; no stop words; no stemming", _english_word),
    "cjk": _Bigrams(),
    "icu": _Unspaced(),
    **{name: _Language(name) for name in languages.SNOWBALL},
}
"""Analyzers by name: ``porter`` is the default of Lucene and Anserini; ``none`` keeps every word unstemmed."""


DECOMPOSED = "whose decomposed letters (not NFC) or narrow no-break spaces (U+202F) make other words"
"""The words of a note, after the kind of text."""


def differs_composed(text: str, analyze: Callable[[str], object]) -> bool:
    """Tell whether a word of a text has other terms if its letters are composed and its spaces are blanks."""
    if is_plain(text):
        return False
    words = dict.fromkeys(word for word in _UNITS.findall(text) if not is_plain(word))
    return any(analyze(normalize("NFC", word).replace(NARROW, " ")) != analyze(word) for word in words)


def note_query(query: Query, terms: Callable[[Query], object], notes: Notes) -> None:
    """Count a query that `terms` gives other terms for if its letters are composed and its spaces are blanks."""
    differs = differs_composed(query.text, lambda text: terms(replace(query, text=text)))
    notes.add(f"queries {DECOMPOSED}", query.query_id, differs)


def check_analyzer(name: str) -> None:
    """Check the name of an analyzer, and that the packages that it needs are installed.

    Raises:
        InputError: unknown name.
        MissingExtra: a package is not installed.
    """
    if name not in ANALYZERS:
        raise InputError("unknown analyzer", got=name, fix=f"one of {', '.join(sorted(ANALYZERS))}")
    ANALYZERS[name].check()
