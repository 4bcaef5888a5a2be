from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank.text import windows
from longrank.text.windows import whitespace_words

SPACES = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]


def spans(text: str) -> list[tuple[int, int]]:
    units = whitespace_words(text)
    return [units.span(i, i + 1) for i in range(len(units))]


@given(st.text(st.one_of(st.sampled_from(SPACES), st.sampled_from("ab\u3001\U0001f600\ud800"), st.characters())))
def test_words_are_what_a_regular_expression_finds(text: str) -> None:
    assert spans(text) == [match.span() for match in re.finditer(r"\S+", text)]


@pytest.mark.parametrize("piece", [1, 2, 3, 7])
def test_words_go_on_from_one_piece_to_the_next(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "_PIECE", piece)
    assert spans("  a fairly long\u3000word ") == [(2, 3), (4, 10), (11, 15), (16, 20)]


def test_every_space_of_unicode_separates() -> None:
    assert spans("a" + "a".join(SPACES) + "a") == [(2 * i, 2 * i + 1) for i in range(len(SPACES) + 1)]
