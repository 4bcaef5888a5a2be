"""Terms of languages besides English.

Snowball stems by PyStemmer; bigrams for Chinese, Japanese and Korean; words of Thai, Lao, Khmer and Burmese by ICU.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import Any

import regex

from longrank.errors import MissingExtra
from longrank.text.stop_words import stop_words
from longrank.text.words import word_spans

SNOWBALL = (
    *("arabic", "armenian", "basque", "catalan", "danish", "dutch", "esperanto", "estonian", "finnish", "french"),
    *("german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian"),
    *("portuguese", "romanian", "russian", "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish"),
)
"""Languages with a stemmer in PyStemmer 3.1, without English, which has the analyzer ``porter``."""

_LOCK = Lock()  # a stemmer serves one thread at a time
_ELISIONS = {
    "catalan": regex.compile(r"[dlmnst]'(?=\w)"),
    "french": regex.compile(r"(?:[cdjlmnst]|(?:jus|lors|puis|quois?)?qu)'(?=\w)"),
    "italian": regex.compile(r"(?:[clmtsvd]|(?:a|da|de|ne|su|co|pe)ll|(?:a|da|de|su)?gl|un)'(?=\w)"),
}
_UNSPACED = regex.compile(r"\p{Line_Break=SA}+")  # runs of Thai, Lao, Khmer, Burmese and their neighbours
_SYLLABLE = r"[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?"  # Hangul in letters, as macOS writes names (NFD)
_CJK = regex.compile(rf"(?:{_SYLLABLE}|[\p{{Han}}\p{{Hiragana}}\p{{Katakana}}\p{{Hangul}}ーｰ])[\p{{M}}ﾞﾟ]*+")


@cache
def _stemmer(language: str) -> Any:
    try:
        from Stemmer import Stemmer
    except ImportError:
        raise MissingExtra(f"the analyzer '{language}'", "languages") from None
    return Stemmer(language, 0)  # without its cache: the analyzer has a cache


def check_stemmer(language: str) -> None:
    """Raise MissingExtra if PyStemmer is not installed."""
    _stemmer(language)


def snowball(language: str, term: str) -> str:
    """Return the Snowball stem of a term in lower case.

    Raises:
        MissingExtra: PyStemmer is not installed.
    """
    stemmer = _stemmer(language)
    with _LOCK:
        stem: str = stemmer.stemWord(term)
    return stem or term


def lowered(language: str, word: str) -> str:
    """Return a word composed (NFC) and in lower case, with straight apostrophes.

    ``İ`` becomes ``i``, Turkish ``I`` becomes ``ı``. Catalan articles and pronouns before an apostrophe are removed;
    the stemmers of French and Italian remove theirs.
    """
    word = unicodedata.normalize("NFC", word).replace("\u2019", "'")
    if language == "turkish":
        word = word.replace("I", "ı")
    word = word.replace("İ", "i").lower()
    return _without_elision(language, word) if language == "catalan" else word


def _without_elision(language: str, word: str) -> str:
    elision = _ELISIONS[language].match(word) if language in _ELISIONS else None
    return word[elision.end() :] if elision else word


def is_stop_word(language: str, word: str) -> bool:
    """Say whether a lowered word is in the language's stop list, with or without an elision (``qu'il``)."""
    stop = stop_words(language)
    return word in stop or _without_elision(language, word) in stop


def folded(word: str) -> str:
    """Return a word in lower case with its compatible forms folded (NFKC): full-width Latin, half-width Katakana."""
    return unicodedata.normalize("NFKC", word).lower()


def bigram_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) in code points of each bigram of Han, Hiragana, Katakana or Hangul, and of each other word.

    A character without such a neighbour stands alone. Bigrams overlap by a character; marks belong to the character
    before them. This is the rule of Lucene's ``CJKBigramFilter``.
    """
    end = 0
    for run in _runs(text):
        yield from _words_between(text, end, run[0][0])
        end = run[-1][1]
        if len(run) == 1:
            yield run[0]
        yield from ((first, last) for (first, _), (_, last) in pairwise(run))
    yield from _words_between(text, end, len(text))


@cache
def _word_breaker() -> Any:
    try:
        from icu4py.breakers import WordBreaker
    except ImportError:
        raise MissingExtra("the analyzer 'icu'", "icu") from None
    return WordBreaker


def check_icu() -> None:
    """Raise MissingExtra if icu4py is not installed."""
    _word_breaker()


def icu_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) in code points of each word; runs of scripts without blanks are split by ICU's dictionaries.

    Raises:
        MissingExtra: icu4py is not installed, and the text has such a run.
    """
    end = 0
    for run in _UNSPACED.finditer(text):
        yield from _words_between(text, end, run.start())
        end = run.end()
        places = _utf16_places(run[0])
        spans = _word_breaker()(run[0], "th").segments()
        yield from ((run.start() + places[a], run.start() + places[b]) for a, b in spans)
    yield from _words_between(text, end, len(text))


def _utf16_places(text: str) -> Sequence[int]:
    """Return the place in code points of each place in units of UTF-16, which ICU counts."""
    if not text or max(text) <= "\uffff":
        return range(len(text) + 1)
    return [*(n for n, letter in enumerate(text) for _ in range(1 + (letter > "\uffff"))), len(text)]


def _runs(text: str) -> Iterator[list[tuple[int, int]]]:
    run: list[tuple[int, int]] = []
    for match in _CJK.finditer(text):
        if run and run[-1][1] != match.start():
            yield run
            run = []
        run.append(match.span())
    if run:
        yield run


def _words_between(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    return ((start + a, start + b) for a, b in word_spans(text[start:end]))
