"""RM3 against hand computation and against a slow and obvious implementation."""

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
    is_usual,
    with_others,
)
from longrank.errors import InputError
from longrank.index import Index
from longrank.retrieval import BM25, Hits
from longrank.retrieval.feedback import RM3


def test_the_mixture_by_hand(fruit: Index) -> None:
    # p(t|d1) = apple 1/3, pear 2/3; p(t|d2) = apple 1/2, plum 1/2; times 3 and 1: apple 3/2, pear 2, plum 1/2
    expanded = RM3(original_query_weight=0.6).expand({"apple": 3.0, "fig": 1.0}, hits_of((0, 3.0), (1, 1.0)), fruit)
    expected = {"apple": 0.6 * 3 / 4 + 0.4 * 3 / 8, "pear": 0.4 * 4 / 8, "fig": 0.6 * 1 / 4, "plum": 0.4 * 1 / 8}
    assert expanded == pytest.approx(expected, rel=1e-6)
    assert list(expanded) == ["apple", "pear", "fig", "plum"]  # heaviest first


def test_fb_terms_cuts_documents_and_then_the_model(fruit: Index) -> None:
    # d1 is cut to pear, d2 to apple, which comes before plum; the model is cut to pear
    expanded = RM3(fb_terms=1).expand({"apple": 1.0}, hits_of((0, 3.0), (1, 1.0)), fruit)
    assert expanded == {"apple": 0.5, "pear": 0.5}


def test_the_ends_of_the_query_weight_are_the_query_and_the_model(fruit: Index) -> None:
    hits = hits_of((0, 1.0))
    assert RM3(original_query_weight=1).expand({"fig": 2.0, "plum": 2.0}, hits, fruit) == {"fig": 0.5, "plum": 0.5}
    model = RM3(original_query_weight=0).expand({"fig": 1.0}, hits, fruit)
    assert model == pytest.approx({"pear": 2 / 3, "apple": 1 / 3})


@pytest.mark.parametrize("word", ["b", "7", "y" * 21, "zürich", "東京", "common"])
def test_odd_and_common_words_are_not_learned(tmp_path: Path, word: str) -> None:
    texts = [f"{word} {word} plum", "common", "common", "common", "common"]
    index = index_of(tmp_path, with_others(texts, 35))
    assert index.n_docs == 40  # so that common, in 5 of them, is beyond a tenth
    assert RM3().expand({"fig": 1.0}, hits_of((0, 1.0)), index) == {"fig": 0.5, "plum": 0.5}


@pytest.mark.parametrize("word", ["ab", "x" * 20, "42", "c3"])
def test_words_at_the_bounds_are_learned(tmp_path: Path, word: str) -> None:
    texts = [word, word, word, word]
    index = index_of(tmp_path, [*with_others(texts, 36), "", ""])  # in a tenth of the documents that are not empty
    assert RM3().expand({"fig": 1.0}, hits_of((0, 1.0)), index) == {"fig": 0.5, word: 0.5}


def test_where_nothing_can_be_learned_there_is_no_query(tmp_path: Path) -> None:
    index = index_of(tmp_path, with_others(["東京 b", "plum"]))
    assert RM3().expand({"fig": 1.0}, hits_of((0, 2.0)), index) == {}
    assert RM3().expand({"fig": 1.0}, hits_of((1, 0.0)), index) == {}  # as query likelihood may score


def reference(model: RM3, query: dict[str, float], hits: Hits, index: Index) -> dict[str, float]:
    """Go through documents and terms one by one, in single precision."""
    counts = counts_of(index)
    dfs, n_docs = dfs_of(counts), sum(map(bool, counts))
    sums: dict[str, np.float32] = {}
    for number, score in zip(hits.numbers.tolist(), hits.scores, strict=True):
        kept = {t: tf for t, tf in counts[number].items() if is_usual(t) and dfs[t] * 10 <= n_docs}
        kept = dict(sorted(kept.items(), key=lambda item: (-item[1], item[0]))[: model.fb_terms])
        for term, tf in kept.items():
            share = np.float32(tf) / np.float32(sum(kept.values()))
            sums[term] = sums.get(term, np.float32(0)) + share * score
    best = sorted(sums, key=lambda term: (-sums[term], term))[: model.fb_terms]
    mixed = Counter({t: model.original_query_weight * n / sum(query.values()) for t, n in query.items()})
    for term in best:
        mixed[term] += (1 - model.original_query_weight) * float(sums[term]) / sum(float(sums[t]) for t in best)
    return {term: weight for term, weight in mixed.items() if weight > 0} if best else {}


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2),
    query=st.dictionaries(st.sampled_from([*RARE, *COMMON, "nowhere"]), st.integers(1, 3), min_size=1, max_size=5),
    fb_docs=st.integers(1, 15),
    fb_terms=st.integers(1, 20),
    weight=st.floats(0, 1, width=32),  # which is what it is rounded to
)
def test_the_new_query_is_that_of_the_obvious_implementation(
    indexes: list[Index], seed: int, query: dict[str, float], fb_docs: int, fb_terms: int, weight: float
) -> None:
    index, model = indexes[seed], RM3(fb_docs, fb_terms, weight)
    hits = BM25(index).search(query, model.first_pass)
    if len(hits.numbers):
        assert len(hits.numbers) <= fb_docs
        expected = {t: w for t, w in reference(model, query, hits, index).items() if w > 1e-30}
        found = {t: w for t, w in model.expand(query, hits, index).items() if w > 1e-30}
        assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"fb_docs": 0},
        {"fb_terms": 0},
        *({"original_query_weight": weight} for weight in (-0.1, 1.1, math.nan)),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        RM3(**options)  # type: ignore[arg-type]
