"""BM25PRF against hand computation and against a slow and obvious implementation."""

from __future__ import annotations

import math
import re
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
from longrank.retrieval.feedback import BM25PRF
from longrank.retrieval.feedback.java import hash_of, table_size


def test_the_weights_by_hand(tmp_path: Path) -> None:
    index = index_of(tmp_path, with_others(["apple pear pear plum", "apple pear kiwi", "plum"], 39))
    assert index.n_docs == 42
    expanded = BM25PRF().expand({"apple": 3.0, "plum": 1.0, "fig": 1.0}, hits_of((0, 2.0), (1, 1.0)), index)
    expected = {
        "apple": math.log(2.5 * (42 - 2 - 2 + 2 + 0.5) / (0.5 * 0.5)),  # however often it is in the query
        "plum": math.log(1.5 * (42 - 2 - 2 + 1 + 0.5) / (1.5 * 1.5)),  # in one feedback document, and in another
        "pear": 0.2 * math.log(2.5 * (42 - 2 - 2 + 2 + 0.5) / (0.5 * 0.5)),  # new; kiwi is in one document only
    }
    assert expanded == pytest.approx(expected, rel=1e-6)
    assert list(expanded) == ["apple", "plum", "pear"]


def test_terms_of_the_query_may_be_missing_from_the_feedback_documents(tmp_path: Path) -> None:
    index = index_of(tmp_path, with_others(["apple", "plum"], 8))
    expanded = BM25PRF().expand({"apple": 1.0, "plum": 1.0}, hits_of((0, 2.0)), index)
    assert expanded["plum"] == pytest.approx(math.log(0.5 * (10 - 1 - 1 + 0 + 0.5) / (1.5 * 1.5)), rel=1e-6)


def test_words_that_feedback_documents_have_no_more_than_others_weigh_next_to_nothing(tmp_path: Path) -> None:
    index = index_of(tmp_path, ["usual apple", "usual apple", *["usual"] * 8])
    # usual: ln(2.5 * 0.5 / (8.5 * 0.5)) is below 0
    expanded = BM25PRF().expand({"apple": 1.0}, hits_of((0, 2.0), (1, 2.0)), index)
    assert expanded["usual"] == pytest.approx(1e-6)
    assert BM25PRF().expand({"usual": 1.0}, hits_of((0, 2.0), (1, 2.0)), index)["usual"] == pytest.approx(1e-6)


@pytest.mark.parametrize("word", ["b", "42", "y" * 21, "zürich", "東"])
def test_odd_words_are_not_offered(tmp_path: Path, word: str) -> None:
    index = index_of(tmp_path, with_others([f"apple {word}", f"apple {word}"]))
    assert set(BM25PRF().expand({"apple": 1.0}, hits_of((0, 2.0), (1, 2.0)), index)) == {"apple"}


@pytest.mark.parametrize("word", ["ab", "c3", "x" * 20])
def test_words_at_the_bounds_are_offered(tmp_path: Path, word: str) -> None:
    index = index_of(tmp_path, with_others([f"apple {word}", f"apple {word}"]))
    assert set(BM25PRF().expand({"apple": 1.0}, hits_of((0, 2.0), (1, 2.0)), index)) == {"apple", word}


def test_of_equal_offers_those_that_java_meets_first_are_taken(tmp_path: Path) -> None:
    words = [f"word{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    index = index_of(tmp_path, with_others([f"apple {' '.join(words)}"] * 2))
    expanded = BM25PRF(fb_terms=3).expand({"apple": 1.0}, hits_of((0, 2.0), (1, 2.0)), index)
    assert set(expanded) == {"apple", "worda", "wordc", "wordb"}  # Java 17 prints a HashSet of them in that order


def test_the_second_pass_has_no_idf_and_its_own_parameters(indexes: list[Index]) -> None:
    first = BM25(indexes[0], k1=3.44, b=0.87, doc_lengths="exact", ties="lucene")
    second = BM25PRF(second_k1=1.1, second_b=0.3).second_pass(first)
    assert isinstance(second, BM25)
    assert (second.k1, second.b, second.idf, second.doc_lengths, second.ties) == (1.1, 0.3, False, "exact", "lucene")


def in_buckets(words: list[str]) -> list[str]:
    """In the order in which Java reads a map of these words, in one bucket alphabetically."""
    return sorted(words, key=lambda word: (hash_of(word) % table_size(len(words)), word))


def reference(model: BM25PRF, query: dict[str, float], hits: Hits, index: Index) -> dict[str, float]:
    """Go through terms and documents one by one."""
    counts = counts_of(index)
    dfs, n_docs = dfs_of(counts), sum(map(bool, counts))
    feedback = [counts[number] for number in hits.numbers.tolist()]

    def weight(term: str, factor: float) -> float:
        n, r = dfs[term], sum(term in document for document in feedback)
        inside, outside = (r + 0.5) / (len(feedback) - r + 0.5), (n_docs - n - len(feedback) + r + 0.5) / (n - r + 0.5)
        return max(math.log(inside * outside) * float(np.float32(factor)), 1e-6)

    def offer(term: str) -> np.float32:
        r = sum(term in document for document in feedback)
        return np.float32(weight(term, model.new_term_weight) * math.log(r))

    vocabulary = {term for document in feedback for term in document}
    offered = [
        term
        for term in vocabulary - set(query)
        if is_usual(term) and not re.fullmatch("[0-9]+", term) and sum(term in d for d in feedback) > 1
    ]
    best = sorted(in_buckets(offered), key=lambda term: -offer(term))[: model.fb_terms]
    return {t: weight(t, 1) for t in query if dfs[t]} | {t: weight(t, model.new_term_weight) for t in best}


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2),
    query=st.dictionaries(st.sampled_from([*RARE, *COMMON, "nowhere"]), st.integers(1, 3), min_size=1, max_size=5),
    fb_docs=st.integers(1, 15),
    fb_terms=st.integers(1, 25),
    weight=st.floats(0, 2),
)
def test_the_new_query_is_that_of_the_obvious_implementation(
    indexes: list[Index], seed: int, query: dict[str, float], fb_docs: int, fb_terms: int, weight: float
) -> None:
    index, model = indexes[seed], BM25PRF(fb_docs, fb_terms, weight)
    hits = BM25(index).search(query, model.first_pass)
    if len(hits.numbers):
        assert model.expand(query, hits, index) == pytest.approx(reference(model, query, hits, index), rel=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"fb_docs": 0},
        {"fb_terms": 0},
        *({name: value} for name in ("new_term_weight", "second_k1", "second_b") for value in (-0.1, math.nan)),
        {"second_b": 1.1},
        {"second_k1": math.inf},
        {"new_term_weight": math.inf},
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        BM25PRF(**options)  # type: ignore[arg-type]
