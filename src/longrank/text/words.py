"""Word boundaries: the defaults of Unicode (UAX #29), as Lucene applies them.

A word is a segment of UAX #29 with a letter, a digit, an ideograph or an emoji; runs of punctuation or underscores are
no words. Every Han or Hiragana character is a word, a run of a South-East Asian script (Thai, Lao, ...) is a word, and
so is an emoji sequence.

Nearly all text is ASCII: a small pattern gives the same words twenty times as fast. The full pattern reads only
stretches between blanks with other characters, since no word contains a blank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from longrank.text.word_pattern import WORD

MAX_WORD = 255
"""Longest word in UTF-16 code units, as Lucene counts; a longer word is split."""

# Classes of UAX #29 in ASCII: letters, digits, the joining underscore, and joiners of letters (:), digits (, ;) or both
# (. '). The first line excludes words of underscores alone. No group here is possessive: Python 3.11.2, which Debian 12
# has, never leaves such a group.
_ASCII_WORD = re.compile(
    r"[A-Za-z0-9_](?:(?<!_)|(?<!__)_*+[A-Za-z0-9])[A-Za-z0-9_]*+"
    r"(?:[.':,;](?:(?<=[A-Za-z][.':])(?=[A-Za-z])|(?<=[0-9][.',;])(?=[0-9]))[A-Za-z0-9_]+)*"
)

_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~"  # joins words only between letters and digits
_HALVES = re.compile("[\ud800-\udfff]")
_BLANK = " \\t\\n\\r\\f\\v"
_A_BLANK = re.compile(f"[{_BLANK}]")
_PIECE = 1 << 17  # characters
_SHORT = MAX_WORD // 2  # characters; such a word is short enough whatever its characters
_SHORT_STRETCHES = re.compile(rf"(?s)(?>(?:.{{0,{_SHORT}}}[{_BLANK}])*).{{0,{_SHORT}}}")
_OTHER_STRETCH = re.compile(rf"(?<![^{_BLANK}])[^\x80-\U0010ffff{_BLANK}]*+[^\x00-\x7f][^{_BLANK}]*")


def readable(text: str) -> str:
    """Replace unpaired surrogates, which tokenizers refuse, by U+FFFD; offsets stay the same."""
    return text if text.isascii() else _HALVES.sub("\ufffd", text)


def pieces(text: str) -> Iterator[str]:
    """Cut a long text at blanks to limit the words in memory."""
    start = 0
    while len(text) - start > _PIECE and (blank := _A_BLANK.search(text, start + _PIECE)):
        yield text[start : blank.start()]
        start = blank.start()
    yield text[start:] if start else text


def between_blanks(text: str) -> list[str]:
    """Split a text at its blanks; the words of the parts, in order, are the words of the text."""
    for blank in "\t\n\r\f\v":
        text = text.replace(blank, " ")
    return text.split(" ")


def single_word(text: str) -> str | None:
    """Return the word of a text that is one word of ASCII letters and digits, perhaps between ASCII punctuation marks.

    None: `words` has to read the text.
    """
    word = text.strip(_PUNCTUATION)
    return word if word.isalnum() and word.isascii() and len(word) <= _SHORT else None


def words(text: str) -> list[str]:
    """Return the words of `text` in their spelling."""
    if text.isascii():
        matches = _ASCII_WORD.findall(text)
    else:
        matches = [word for pattern, start, end in _stretches(text) for word in pattern.findall(text, start, end)]
    if has_short_stretches(text) or max(map(len, matches), default=0) <= _SHORT:
        return matches
    return [text[start:end] for start, end in word_spans(text)]


def has_short_stretches(text: str) -> bool:
    """Tell whether a text has a blank so often that no word of it is split."""
    return _SHORT_STRETCHES.fullmatch(text) is not None


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) in code points of each word of `words(text)`."""
    for pattern, start, end in _stretches(text):
        at = start
        while match := pattern.search(text, at, end):
            word, at = match.span()
            if at - word <= _SHORT or len(_utf_16(match[0])) <= 2 * MAX_WORD:
                yield word, at
            else:
                blank = _A_BLANK.search(text, at, end)
                at = blank.start() if blank else end
                yield from _cut(pattern, text, word, at)


def _cut(pattern: Any, text: str, at: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the words between `at`, the start of a word that is too long, and the next blank.

    Lucene's tokenizer sees at most `MAX_WORD` UTF-16 units at a time: it takes the longest word in them, or moves on by
    one character.
    """
    while at < end:
        seen = _utf_16(text[at : min(at + MAX_WORD, end)])[: 2 * MAX_WORD]
        if match := pattern.match(seen.decode("utf-16-le", "surrogatepass")):  # no unpaired surrogate is in a word
            yield at, at + match.end()
            at += match.end()
        else:  # for linear time, skip characters without a word in two windows
            ahead = pattern.search(text[at : min(at + 2 * MAX_WORD, end)])
            at += max(1, min(MAX_WORD, ahead.start())) if ahead else MAX_WORD


def _utf_16(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


def _stretches(text: str) -> Iterator[tuple[Any, int, int]]:
    """Yield (pattern, start, end): the parts of `text` with their patterns."""
    at = 0
    for stretch in () if text.isascii() else _OTHER_STRETCH.finditer(text):
        yield _ASCII_WORD, at, stretch.start()
        yield WORD, stretch.start(), stretch.end()
        at = stretch.end()
    yield _ASCII_WORD, at, len(text)
