from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank.text.lines import blocks

WRAPPED = """\
The history of the river is long and it begins in the mountains of the
north, where its source was found. It flows through seven lands, and
Lake Victoria is the largest of its lakes. Many people live there"""


def split(text: str) -> list[str]:
    return [text[start:end].rstrip() for start, end in blocks(text) if text[start:end].strip()]


WORDS = st.lists(st.text(alphabet="aéZ.,;'\"", min_size=1, max_size=10), min_size=1, max_size=120)


@given(paragraphs=st.lists(WORDS, min_size=1, max_size=5), width=st.integers(40, 120))
def test_paragraphs_that_were_filled_to_one_width_stay_whole(paragraphs: list[list[str]], width: int) -> None:
    filled = [textwrap.fill(" ".join(words), width, break_long_words=False) for words in paragraphs]
    assert split("\n\n".join(filled)) == filled


@given(text=st.text(alphabet="a b.-1)\n\r\u2028\x85\x0c\ud800\u0301", max_size=300))
def test_blocks_are_the_text(text: str) -> None:
    assert "".join(text[start:end] for start, end in blocks(text)) == text


@pytest.mark.parametrize("mark", ["-", "*", "•", "1.", "12)", "(3)", "(a)", "b)"])
def test_a_list_item_begins_a_block_after_a_full_line_too(mark: str) -> None:
    first, *others = WRAPPED.split("\n")
    text = "\n".join([first, f"{mark} {others[0]}", others[1]])
    assert split(text) == [first, f"{mark} {others[0]}\n{others[1]}"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", "\x0c"])
def test_a_heading_is_a_block_and_the_wrapped_text_below_it_another(end: str) -> None:
    assert split(f"Rivers of Asia{end}{WRAPPED}") == ["Rivers of Asia", WRAPPED]


def test_a_line_that_had_room_for_the_next_word_ends_a_block() -> None:
    assert split(f"{WRAPPED}\nHere.\nAnother one\nand one more") == [f"{WRAPPED}\nHere.", "Another one", "and one more"]


def test_lines_of_more_than_120_code_points_are_paragraphs() -> None:
    lines = ["word " * 24 + "x", "word " * 30 + "x", "word " * 60 + "x"]
    assert [len(line) for line in lines] == [121, 151, 301]
    assert split("\n".join(lines)) == lines


def test_short_lines_and_turns_of_a_transcript_are_blocks() -> None:
    turns = ["Anna: Good morning", "Ben: Morning. How are you", "Anna: Fine", "apples", "pears"]
    assert split("\n".join(turns)) == turns
