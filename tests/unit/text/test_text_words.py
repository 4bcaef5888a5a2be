"""Word boundaries: the fast pattern for ASCII is the full one, and the full one does what UAX #29 says."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import longrank
from growth import assert_linear_time
from longrank.text import words as module
from longrank.text.words import between_blanks, pieces, single_word, word_spans, words

LIKELY = st.text(st.sampled_from("ab3_.':,; \n-\"é日ァกЖא·’👍\u200d\u0301"), max_size=30)


@settings(max_examples=500)
@given(st.text(st.sampled_from("aZ09_.':,;-\" \t#*\x00\x1f"), max_size=30) | st.text(st.characters(max_codepoint=127)))
def test_on_ascii_the_fast_pattern_gives_the_words_of_the_full_one(text: str) -> None:
    assert module._ASCII_WORD.findall(text) == module.WORD.findall(text)


@settings(max_examples=500)
@given(LIKELY | st.text())
def test_reading_in_stretches_gives_the_words_of_reading_as_a_whole(text: str) -> None:
    assert words(text) == module.WORD.findall(text)


@given(LIKELY | st.text())
def test_spans_are_the_words(text: str) -> None:
    assert [text[start:end] for start, end in word_spans(text)] == words(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The U.S.A. paid 3,000.50; a:b, e-mail", ["The", "U.S.A", "paid", "3,000.50", "a:b", "e", "mail"]),
        ("don't 'quoted' don’t rock'n'roll", ["don't", "quoted", "don’t", "rock'n'roll"]),
        (
            "snake_case __init__ 1_000 3a a3 a.3 3.a",
            ["snake_case", "__init__", "1_000", "3a", "a3", "a", "3", "3", "a"],
        ),
        ("naïve Cafe\u0301 Straße Ελλάδα Москва", ["naïve", "Cafe\u0301", "Straße", "Ελλάδα", "Москва"]),
        ("日本語ひらカタカナ", ["日", "本", "語", "ひ", "ら", "カタカナ"]),
        ("한국어 단어", ["한국어", "단어"]),
        ("ภาษาไทย", ["ภาษาไทย"]),
        ('צה"ל', ['צה"ל']),
        ("👩‍👩‍👧👍🏽 🇩🇪🇫🇷 1️⃣", ["👩‍👩‍👧", "👍🏽", "🇩🇪", "🇫🇷", "1️⃣"]),
        ("a\u00a0b\u2028c\u0085d", ["a", "b", "c", "d"]),
        ("", []),
        (" .,-!? ", []),
    ],
)
def test_words_of_many_scripts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_longer_words_are_cut_every_255_characters() -> None:
    assert [len(word) for word in words("x" * 600 + " é" + "y" * 300)] == [255, 255, 90, 255, 46]
    assert list(word_spans("x" * 600)) == [(0, 255), (255, 510), (510, 600)]


def read_in_windows(text: str, size: int) -> Iterator[str]:
    """The words as Lucene's scanner finds them: at each character, the longest in the next `size` UTF-16 units."""
    at = 0
    while at < len(text):
        window = text[at : at + size]
        while len(window.encode("utf-16-le")) > 2 * size:
            window = window[:-1]
        word = module.WORD.match(window)
        if word:
            yield word[0]
        at += word.end() if word else 1


@settings(max_examples=500)
@given(
    st.text(st.sampled_from("ab13_.':,\" é日カกא’‿👍🏽\u200d\u0301\ufe0fℹ𝐚#\u20e3"), max_size=40), st.integers(4, 12)
)
def test_longer_words_are_read_in_windows(text: str, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_WORD", size)
        patch.setattr(module, "_SHORT", size // 2)
        patch.setattr(module, "_SHORT_STRETCHES", re.compile("(?!)"))
        assert words(text) == list(read_in_windows(text, size))


HOSTILE = (
    *("a", "_", "'", ".", "a.", "1,", " ", "é", "_é", "\u0301", "אָ'", 'א"', "カ_", "‿", "_\u200d"),
    *("👍\u200d", "ℹ\u200d", "🏴\U000e0067", "#\u0301"),
)


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("end", ["", "é"])
def test_time_is_linear_in_hostile_text(piece: str, end: str) -> None:
    assert_linear_time(words, lambda n: piece * (n // len(piece)) + end, 50_000)


@given(st.lists(LIKELY), st.integers(1, 20))
def test_cutting_a_text_into_pieces_loses_no_word(parts: list[str], size: int) -> None:
    text = " ".join(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PIECE", size)
        assert "".join(pieces(text)) == text
        assert [word for piece in pieces(text) for word in words(piece)] == words(text)


TEXTS = st.lists(
    st.sampled_from([*"aZ9_.':,;-(\"# \t\n\r\f\v\x1c\x85\xa0\u2028\u202f\u0301\u200dé日א\ud800İ", "ab", "a" * 130]),
    max_size=12,
).map("".join)


@given(TEXTS)
def test_a_text_split_at_its_blanks_has_the_same_words(text: str) -> None:
    assert [word for part in between_blanks(text) for word in words(part)] == words(text)


@given(TEXTS | st.text(string.printable, max_size=8))
def test_a_single_word_is_the_only_word(text: str) -> None:
    word = single_word(text)
    assert word is None or words(text) == [word]


@pytest.mark.parametrize(
    ("text", "word"), [("(fox),", "fox"), ("B2B", "B2B"), ("fox's", None), ("", None), ("é", None)]
)
def test_a_single_word_is_of_ascii_letters_and_digits(text: str, word: str | None) -> None:
    assert single_word(text) == word


def test_no_pattern_has_a_possessive_group() -> None:
    """Python 3.11.2, which Debian 12 has, never ends in such a group; the module `regex` may have them."""
    possessive_group = re.compile(r"\)(?:[*+?]|\{[\d,]+\})\+")
    sources = {path: path.read_text() for path in Path(longrank.__file__).parent.rglob("*.py")}
    patterns = {path: text.replace("()*+,", "") for path, text in sources.items() if "import regex" not in text}
    assert [path for path, text in patterns.items() if possessive_group.search(text)] == []
    assert possessive_group.search(r"(?:a[.']b)*+") and possessive_group.search("(ab){2,3}+")
