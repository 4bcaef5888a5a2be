from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longrank.errors import InputError
from longrank.protocols import ScoringTask
from longrank.text.analysis import ANALYZERS, STOP_WORDS
from longrank.text.select import make_selector, term_counts
from longrank.types import Passage, Query


def chosen(name: str, n: int | None, query: str, texts: list[str]) -> list[int]:
    passages = [Passage("d", i, text, 0, len(text)) for i, text in enumerate(texts)]
    (selected,) = make_selector(name, n).select([ScoringTask(Query("q", query), "d", tuple(passages), tuple(texts))])
    return selected.positions.tolist()


def test_the_weight_of_a_passage_counts_query_terms_as_written_without_stop_words_and_punctuation() -> None:
    texts = ["The tide, the TIDE and a moon.", "tides of the moons", "and the of a", "moon-tide (moon)"]
    assert term_counts("the Tide and a moon tide?", texts).tolist() == [3, 0, 0, 3]


def test_a_query_of_stop_words_weighs_nothing() -> None:
    assert term_counts("to be or not to be", ["to be or not to be"]).tolist() == [0]


def test_a_capital_i_with_a_dot_is_the_letter_of_the_analyzer() -> None:
    assert term_counts("hotels in istanbul", ["\u0130stanbul has old hotels.", "Istanbul has hotels."]).tolist() == [
        2,
        2,
    ]


def test_a_piece_of_a_word_that_is_too_long_counts() -> None:
    assert term_counts("river", [f"{'b' * 255}river", f"{'b' * 200}river"]).tolist() == [1, 0]  # split as by Lucene


def test_termf_takes_the_passages_with_most_query_terms_and_ties_go_to_the_earlier() -> None:
    texts = ["x", "tide", "tide tide", "tide", "x tide tide tide"]
    assert chosen("termf", 2, "tide", texts) == [2, 4]
    assert chosen("termf", 3, "tide", texts) == [1, 2, 4]


def test_termf_without_any_query_term_is_first() -> None:
    texts = [f"sentence {i}" for i in range(30)]
    assert chosen("termf", None, "tide", texts) == chosen("first", None, "tide", texts) == list(range(10))


def test_first_and_termf_are_ten_first_and_the_ten_best_of_the_others() -> None:
    texts = ["tide " * (i % 13) for i in range(40)]
    best_others = sorted(range(10, 40), key=lambda i: (-(i % 13), i))[:10]
    assert chosen("first+termf", None, "tide", texts) == sorted([*range(10), *best_others])


def test_of_an_odd_number_first_and_termf_take_one_more_from_the_beginning() -> None:
    texts = ["x", "x", "x", "tide", "tide tide"]
    assert chosen("first+termf", 1, "tide", texts) == [0]
    assert chosen("first+termf", 3, "tide", texts) == [0, 1, 4]


def test_a_possessive_counts_as_its_word() -> None:
    assert term_counts("tide's", ["the tide", "the tide\u2019s moon", "tides"]).tolist() == [1, 1, 0]


def test_first_and_termf_never_count_a_passage_twice() -> None:
    texts = ["tide tide tide", "tide tide", "x", "tide", "x", "x"]
    assert chosen("first+termf", 4, "tide", texts) == [0, 1, 2, 3]


def test_all_takes_no_n() -> None:
    with pytest.raises(InputError, match="takes no n"):
        make_selector("all", 3)


@settings(max_examples=1000)
@given(
    st.lists(
        st.sampled_from(["ab", "1", "b", "_", ".", "'s", ":", ",", " ", *"é\u0301\xad\u202f—İ\u212a\u200dא日"]),
        max_size=5,
    ),
    st.sampled_from(["ab 1", "b's", "a.b 1", "é ab"]),
)
def test_terms_are_counted_as_the_analyzer_finds_them(pieces: list[str], query: str) -> None:
    text, surface = "".join(pieces), ANALYZERS["none"]
    terms = set(surface(query)) - STOP_WORDS
    expected = sum(term in terms for term in surface(text))
    assert term_counts(query, [text]).tolist() == [expected]
