"""Terms of languages besides English: Snowball stems by PyStemmer, and bigrams for Chinese, Japanese and Korean."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import Any

import regex

from longrank.errors import MissingExtra
from longrank.text.words import word_spans

SNOWBALL = (
    *("arabic", "armenian", "basque", "catalan", "danish", "dutch", "esperanto", "estonian", "finnish", "french"),
    *("german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian"),
    *("portuguese", "romanian", "russian", "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish"),
)
"""Languages with a stemmer in PyStemmer 3.1, without English, which has the analyzer ``porter``."""

_LOCK = Lock()  # a stemmer serves one thread at a time
_CATALAN_ELISION = regex.compile(r"[dlmnst]'(?=\w)")
_CJK = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}ー][\p{M}ﾞﾟ]*+")


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
    if language == "catalan" and (elision := _CATALAN_ELISION.match(word)):
        word = word[elision.end() :]
    return word


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
