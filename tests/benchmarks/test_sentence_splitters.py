from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import pytest

from longrank.types import Span


@pytest.fixture
def program() -> Any:
    return import_module("benchmarks.sentence_splitters")


def by_bar(text: str) -> Iterable[Span]:
    """Split before each bar."""
    starts = [0, *(i for i, character in enumerate(text) if character == "|")]
    return zip(starts, [*starts[1:], len(text)], strict=True)


def test_a_hard_case_is_a_text_and_its_sentences(program: Any) -> None:
    assert program.unmarked("One.\n\n|Two. |Three") == ("One.\n\nTwo. Three", ["One.", "Two.", "Three"])
    assert sum(map(len, program.CASES.values())) == 74


def test_the_default_splitter_is_right_about_66_hard_cases_or_more(program: Any) -> None:
    right = [program.is_right(program.ours, *case) for cases in program.CASES.values() for case in cases]
    assert sum(right) >= 66


def test_f1_counts_the_beginnings_after_the_first(program: Any) -> None:
    gold = [program.Gold("ab|cd|ef", frozenset([2, 4])), program.Gold("a|b", frozenset([1]))]
    assert program.f1(by_bar, gold) == pytest.approx(2 * 2 / (3 + 3))  # found 2, 5 and 1; right are 2 and 1


def test_over_long_sentences_are_measured_in_characters_and_words(program: Any) -> None:
    texts = ["a" * 900 + "|" + "b" * 99, "w " * 500 + "|" + "w " * 600]
    total = 900 + 100 + 999 + 1200
    assert program.over_long(by_bar, texts) == pytest.approx(
        {"characters": (900 + 999 + 1200) / total, "words": 1200 / total}
    )


@pytest.mark.parametrize(("spans", "exact"), [([(0, 2), (3, 5)], True), ([(0, 2)], False), ([(0, 3), (2, 5)], False)])
def test_offsets_are_exact_if_only_blanks_are_left_out(program: Any, spans: list[Span], exact: bool) -> None:
    assert program.is_exact(lambda text: spans, "ab cd") is exact


def test_a_splitter_reads_each_block_of_lines(program: Any) -> None:
    assert list(program.by_block(lambda text: [(0, len(text))])("a heading\nand text")) == [(0, 10), (10, 18)]


def test_versions_are_compared_query_by_query_on_the_same_first_stage() -> None:
    rankings = import_module("benchmarks.sentence_rankings")

    def values(shift: float) -> dict[str, dict[str, dict[str, dict[str, float]]]]:
        own = {label: {"q1": 0.1, "q2": 0.3 + shift, "q3": 0.5 + shift / 2} for label in rankings.SYSTEMS}
        return {"time": {"values": {"first stage of birch": {"q1": 0.4}, **own}}}

    row = rankings.compared(values(0.0), values(0.3))[0]
    assert (row["before"], row["after"]) == (pytest.approx(0.3), pytest.approx(0.45))
    assert row["p"] == pytest.approx(0.2254, abs=1e-4)  # t = .15 / (.15 / 3 ** .5) with two degrees of freedom
    assert row["p_holm"] == 1
    other = values(0.0)
    other["time"]["values"]["first stage of birch"] = {"q1": 0.5}
    with pytest.raises(SystemExit, match="first stages differ"):
        rankings.compared(values(0.0), other)
