"""Rocchio's feedback against hand computation and against a slow and obvious implementation."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedback_collections import (
    COMMON,
    RARE,
    counts_of,
    dfs_of,
    hits_of,
    index_of,
    n_characters,
    with_others,
)
from longrank.errors import InputError
from longrank.index import Index
from longrank.retrieval import BM25, Hits, make_retriever
from longrank.retrieval.feedback import Rocchio
from longrank.types import Notes


def test_the_sum_by_hand(fruit: Index) -> None:
    apple, pear, plum = (1 / math.sqrt(5) + 1 / math.sqrt(2)) / 2, 2 / math.sqrt(5) / 2, 1 / math.sqrt(2) / 2
    length = math.sqrt(apple**2 + pear**2 + plum**2)
    expanded = Rocchio(alpha=2, beta=0.5).expand({"apple": 3.0, "fig": 4.0}, hits_of((0, 9.0), (1, 1.0)), fruit)
    expected = {
        "fig": 2 * 0.8,
        "apple": 2 * 0.6 + 0.5 * apple / length,
        "pear": 0.5 * pear / length,
        "plum": 0.5 * plum / length,
    }
    assert expanded == pytest.approx(expected, rel=1e-6)
    assert sorted(expanded, key=lambda term: -expected[term]) == list(expanded)


def test_fb_terms_cuts_the_mean(fruit: Index) -> None:
    expanded = Rocchio(fb_terms=1).expand({"fig": 2.0}, hits_of((0, 9.0), (1, 1.0)), fruit)
    assert expanded == {"fig": 1.0, "apple": 0.75}


def test_settings_of_non_relevant_documents_without_weight_are_noted(fruit: Index) -> None:
    for gamma, said in ((0.0, ["negative_docs has no effect while gamma is 0"]), (0.1, [])):
        notes = Notes()
        make_retriever(fruit, notes=notes, feedback="rocchio", negative_docs=3, gamma=gamma)
        assert notes.lines() == said


def test_non_relevant_documents_take_weight_away(fruit: Index) -> None:
    model = Rocchio(fb_docs=1, gamma=0.5, negative_docs=1)
    expanded = model.expand({"fig": 1.0}, hits_of((0, 9.0), (5, 2.0), (1, 1.0)), fruit)
    apple = 0.75 / math.sqrt(5) - 0.5 / math.sqrt(2)  # below zero, as plum is
    assert apple < 0
    assert expanded == pytest.approx({"fig": 1.0, "pear": 0.75 * 2 / math.sqrt(5)}, rel=1e-6)


def test_only_with_gamma_the_first_pass_is_long() -> None:
    assert Rocchio(fb_docs=7).first_pass == 7
    assert Rocchio(fb_docs=7, gamma=0.15).first_pass == 50
    assert Rocchio(fb_docs=7, gamma=0.15, negative_docs=60).first_pass == 60


@pytest.mark.parametrize("word", ["b", "7", "東", "y" * 21, "common"])
def test_short_long_and_common_words_are_not_learned(tmp_path: Path, word: str) -> None:
    index = index_of(tmp_path, with_others([f"{word} {word} plum", "common", "common", "common", "common"], 35))
    assert Rocchio().expand({"fig": 1.0}, hits_of((0, 1.0)), index) == {"fig": 1.0, "plum": 0.75}


@pytest.mark.parametrize("word", ["ab", "42", "x" * 20, "zürich", "ñ" * 20])
def test_words_in_any_alphabet_are_learned(tmp_path: Path, word: str) -> None:
    index = index_of(tmp_path, with_others([word]))
    assert Rocchio().expand({"fig": 1.0}, hits_of((0, 1.0)), index) == {"fig": 1.0, word: 0.75}


def test_where_nothing_can_be_learned_there_is_no_query(tmp_path: Path) -> None:
    index = index_of(tmp_path, with_others(["b 東"]))
    assert Rocchio().expand({"fig": 1.0}, hits_of((0, 2.0)), index) == {}


def mean(numbers: list[int], n_terms: int, index: Index) -> dict[str, float]:
    """Go through documents and terms one by one, in single precision."""
    counts = counts_of(index)
    dfs, n_docs = dfs_of(counts), sum(map(bool, counts))
    sums: dict[str, np.float32] = {}
    for number in numbers:
        kept = {t: tf for t, tf in counts[number].items() if 2 <= n_characters(t) <= 20 and dfs[t] * 10 <= n_docs}
        length = np.float32(math.sqrt(sum(tf**2 for tf in kept.values())))
        for term, tf in kept.items():
            sums[term] = sums.get(term, np.float32(0)) + np.float32(tf) / length
    best = sorted(sums, key=lambda term: (-sums[term], term))[:n_terms]
    length = math.sqrt(sum(float(sums[t]) ** 2 for t in best))
    return {term: float(sums[term]) / length for term in best}


def reference(model: Rocchio, query: dict[str, float], hits: Hits, index: Index) -> dict[str, float]:
    numbers = hits.numbers.tolist()
    relevant = mean(numbers[: model.fb_docs], model.fb_terms, index)
    length = math.sqrt(sum(count**2 for count in query.values()))
    total = Counter({term: model.alpha * count / length for term, count in query.items()})
    for term, weight in relevant.items():
        total[term] += model.beta * weight
    if model.gamma:
        for term, weight in mean(numbers[::-1][: model.negative_docs], model.negative_terms, index).items():
            total[term] -= model.gamma * weight
    return dict(total) if relevant else {}


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2),
    query=st.dictionaries(st.sampled_from([*RARE, *COMMON, "nowhere"]), st.integers(1, 3), min_size=1, max_size=5),
    counts=st.tuples(*[st.integers(1, 15)] * 4),
    weights=st.tuples(st.floats(0, 2), st.floats(0, 2), st.just(0.0) | st.floats(0.01, 2)),
)
def test_the_new_query_is_that_of_the_obvious_implementation(
    indexes: list[Index],
    seed: int,
    query: dict[str, float],
    counts: tuple[int, int, int, int],
    weights: tuple[float, float, float],
) -> None:
    index, model = indexes[seed], Rocchio(counts[0], counts[1], *weights, counts[2], counts[3])
    hits = BM25(index).search(query, model.first_pass)
    if len(hits.numbers):
        expected = {t: w for t, w in reference(model, query, hits, index).items() if w > 1e-5}
        found = {t: w for t, w in model.expand(query, hits, index).items() if w > 1e-5}
        assert found == pytest.approx(expected, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        *({name: 0} for name in ("fb_docs", "fb_terms", "negative_docs", "negative_terms")),
        *({name: value} for name in ("alpha", "beta", "gamma") for value in (-0.1, math.nan, math.inf)),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        Rocchio(**options)  # type: ignore[arg-type]
