"""Where words begin and end: the default word boundaries of Unicode (UAX #29), as Lucene applies them.

A word is what UAX #29 joins and that holds a letter, a digit, an ideograph or an emoji; runs of
punctuation or of underscores alone are no words. Han and Hiragana characters are words of their
own, a run of a South-East Asian script (Thai, Lao, ...) is one word, an emoji sequence is one word.

Nearly all text is ASCII, for which a small pattern gives exactly the same words ten times as fast;
the full one reads only the stretches between blanks that hold anything else, since no word
contains a blank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import regex

MAX_WORD = 255
"""Characters; a longer word is cut into pieces of this length, as Lucene does."""

# In ASCII the classes of UAX #29 are: letters, digits, the joining underscore, and what joins only
# letters (:), only digits (, ;) or either (. ').
_ASCII_WORD = re.compile(
    r"[A-Za-z0-9_]+(?:[.':,;](?:(?<=[A-Za-z][.':])(?=[A-Za-z])|(?<=[0-9][.',;])(?=[0-9]))[A-Za-z0-9_]+)*+"
)

_BLANK = " \\t\\n\\r\\f\\v"
_A_BLANK = re.compile(f"[{_BLANK}]")
_PIECE = 1 << 17  # characters
_OTHER_STRETCH = re.compile(rf"(?<![^{_BLANK}])[^\x80-\U0010ffff{_BLANK}]*+[^\x00-\x7f][^{_BLANK}]*")


def _full_pattern() -> str:
    """Spell out rules WB4 to WB16 of UAX #29 and the emoji sequences of UTS #51."""
    extend = r"[\p{WB=Format}\p{WB=Extend}\p{WB=ZWJ}]*+"  # WB4: these attach to what is before them
    letter, digit = r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}]", r"[\p{WB=Numeric}０-９]"
    hebrew, quote, quotes = r"\p{WB=Hebrew_Letter}", r"\p{WB=Single_Quote}", r"\p{WB=Double_Quote}"
    in_word = r"[\p{WB=MidLetter}\p{WB=MidNumLet}\p{WB=Single_Quote}]"
    in_number = r"[\p{WB=MidNum}\p{WB=MidNumLet}\p{WB=Single_Quote}]"
    join, katakana = rf"(?:\p{{WB=ExtendNumLet}}{extend})++", rf"(?:\p{{WB=Katakana}}{extend})++"
    in_hebrew = rf"{quotes}{extend}(?={hebrew})|{in_word}{extend}(?={letter})|{quote}{extend}"
    unit = (
        rf"{hebrew}{extend}(?:{in_hebrew})?+"
        rf"|{letter}{extend}(?:{in_word}{extend}(?={letter}))?+"
        rf"|{digit}{extend}(?:{in_number}{extend}(?={digit}))?+"
    )
    run = rf"(?:(?:{unit})++|{katakana})"
    begins = r"(?=[\p{WB=ALetter}\p{WB=Hebrew_Letter}\p{WB=Numeric}０-９\p{WB=Katakana}\p{WB=ExtendNumLet}])"
    word = rf"{begins}(?:{run}?+{join})*+{run}?+"
    picture = r"[\p{Extended_Pictographic}--[\p{Emoji_Modifier}#*0-9]]\p{Emoji_Modifier}?+[\uFE0F\p{WB=Extend}]*+"
    emoji = rf"{picture}(?:\u200D{picture})*+|[0-9#*]\uFE0F?\u20E3{extend}|(?:\p{{WB=Regional_Indicator}}{extend}){{2}}"
    single = rf"(?:\p{{LB=SA}}{extend})++|[\p{{Script=Han}}\p{{Script=Hiragana}}]{extend}"
    return rf"{emoji}|{word}|{single}"


_ANY_WORD = regex.compile(_full_pattern(), regex.V1)


def pieces(text: str) -> Iterator[str]:
    """Cut a long text at blanks, so that its words need not all be in memory at once."""
    start = 0
    while len(text) - start > _PIECE and (blank := _A_BLANK.search(text, start + _PIECE)):
        yield text[start : blank.start()]
        start = blank.start()
    yield text[start:] if start else text


def words(text: str) -> list[str]:
    """Return the words of `text`, as they are written."""
    if text.isascii():
        found = _ASCII_WORD.findall(text)
    else:
        found = [word for pattern, start, end in _stretches(text) for word in pattern.findall(text, start, end)]
    if not found or max(map(len, found)) <= MAX_WORD:
        return found
    return [word[at : at + MAX_WORD] for word in found for at in range(0, len(word), MAX_WORD)]


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end), in code points, of each of `words(text)`."""
    for pattern, start, end in _stretches(text):
        for match in pattern.finditer(text, start, end):
            for at in range(match.start(), match.end(), MAX_WORD):
                yield at, min(at + MAX_WORD, match.end())


def _stretches(text: str) -> Iterator[tuple[Any, int, int]]:
    """Yield (pattern, start, end): which pattern reads which part of `text`."""
    at = 0
    for stretch in () if text.isascii() else _OTHER_STRETCH.finditer(text):
        yield _ASCII_WORD, at, stretch.start()
        yield _ANY_WORD, stretch.start(), stretch.end()
        at = stretch.end()
    yield _ASCII_WORD, at, len(text)
