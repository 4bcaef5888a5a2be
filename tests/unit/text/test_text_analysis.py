"""The analysis chain, step by step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank.text import analysis
from longrank.text.analysis import ANALYZERS, STOP_WORDS

porter, none = ANALYZERS["porter"], ANALYZERS["none"]


def test_the_stop_list_is_lucenes_33_words() -> None:
    assert len(STOP_WORDS) == 33
    assert {"a", "the", "such", "their", "will", "with"} <= STOP_WORDS
    assert not {"i", "we", "from", "have", "he"} & STOP_WORDS


@pytest.mark.parametrize("apostrophe", ["'", "\u2019", "\uff07"])
def test_the_possessive_is_removed_before_stemming(apostrophe: str) -> None:
    assert porter(f"The dog{apostrophe}s boss{apostrophe}S") == ["dog", "boss"]


def test_stop_words_are_dropped_before_stemming_and_after_lower_casing() -> None:
    assert porter("The THE This ares") == ["ar"]


def test_the_possessive_is_removed_before_the_stop_list() -> None:
    assert porter("it's THAT\u2019S O'Brien's dogs'") == ["o'brien", "dog"]


def test_the_stem_of_a_word_may_be_a_stop_word() -> None:
    assert porter("thes bys ised being ons") == ["the", "by", "is", "be", "on"]


def test_underscores_alone_are_no_word() -> None:
    assert porter("__ _ a_b") == ["a_b"]


def test_none_keeps_every_word_as_it_is_in_lower_case() -> None:
    assert none("The dog's Running") == ["the", "dog", "running"]


def test_lower_casing_goes_letter_by_letter() -> None:
    assert none("İstanbul ΣΟΦΟΣ ẞ") == ["istanbul", "σοφοσ", "ß"]


def test_spans_point_at_the_words_in_code_points() -> None:
    text = "😀 The naïve dogs' barking"
    spans = porter.spans(text)
    assert [text[start:end] for _, start, end in spans] == ["😀", "naïve", "dogs", "barking"]
    assert [term for term, _, _ in spans] == ["😀", "naïv", "dog", "bark"]


@given(st.text())
def test_spans_have_the_terms_of_the_call(text: str) -> None:
    assert [term for term, _, _ in porter.spans(text)] == porter(text)


def test_a_full_cache_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(f"word{i}s" for i in range(50))
    expected = porter(text)
    monkeypatch.setattr(analysis, "_CACHED", 3)
    fresh = analysis.Analyzer("porter", "", analysis._english_term)
    assert fresh(text) == expected
    assert len(fresh._terms) <= 3
