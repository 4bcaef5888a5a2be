"""Axiomatic semantic matching against hand computation and against a slow and obvious implementation."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collections_of_words import located
from feedback_collections import COMMON, RARE, counts_of, dfs_of, feedback_texts, hits_of, index_of, with_others
from longrank.errors import InputError
from longrank.index import Index, build_index
from longrank.retrieval import BM25, Hits
from longrank.retrieval.feedback import Axiomatic
from longrank.retrieval.feedback.java import random_ints
from longrank.retrieval.feedback.pool import mutual_information, pool_documents
from longrank.types import Document


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> list[Index]:
    return [index_of(tmp_path_factory.mktemp(f"seed{seed}"), feedback_texts(seed)) for seed in range(3)]


def test_information_of_four_cells_by_hand() -> None:
    # of 8 documents 4 hold the first; the second is in 3 of these, in the other 4, or in 2 of each
    found = mutual_information(4, np.array([3, 4, 4]), np.array([3, 0, 2]), 8)
    inside = 3 / 8 * math.log(2) + 1 / 8 * math.log((1 / 8) / (4 / 8 * 5 / 8)) + 4 / 8 * math.log(8 / 5)
    assert found == pytest.approx([inside, math.log(2), 0], rel=1e-6)


@pytest.mark.parametrize(("x", "ys", "boths"), [(8, [3], [3]), (4, [8], [4]), (8, [8], [8])])
def test_a_term_in_every_document_tells_nothing(x: int, ys: list[int], boths: list[int]) -> None:
    assert mutual_information(x, np.array(ys), np.array(boths), 8).tolist() == [0.0]


def test_the_new_query_by_hand(tmp_path: Path) -> None:
    texts = ["apple pear", "apple pear", "apple pear", "apple pear", "fig aa", "fig bb", "fig cc", "fig dd plum"]
    expanded = Axiomatic(beta=0.5).expand(
        {"apple": 2.0, "dd": 1.0, "kiwi": 1.0}, hits_of((7, 2.0)), index_of(tmp_path, texts)
    )
    # Each term of the query brings 4 of the 8 terms: apple itself, pear and fig, which tell all about it, and aa;
    # dd itself, plum, apple and fig. Of these 6 the best 3 are kept.
    about_dd = 3 / 8 * math.log(6 / 7) + 1 / 2 * math.log(8 / 7) + 1 / 8 * math.log(2)  # what apple tells
    all_about_dd = 1 / 8 * math.log(8) + 7 / 8 * math.log(8 / 7)
    apple, dd = math.log(9 // 4), math.log(9 // 1)
    expected = {"dd": dd / 4, "apple": (2 * apple + 0.5 * dd * about_dd / all_about_dd) / 4, "plum": 0.5 * dd / 4}
    assert expanded == pytest.approx(expected, rel=1e-6)
    assert list(expanded) == list(expected)  # heaviest first


def test_fb_terms_cuts_the_new_query(indexes: list[Index]) -> None:
    hits = hits_of((0, 1.0))
    ten, three = (Axiomatic(fb_terms=n).expand({"apple": 1.0, "plum": 1.0}, hits, indexes[0]) for n in (10, 3))
    assert len(ten) == 10
    assert list(three.items()) == list(ten.items())[:3]


@pytest.mark.parametrize("word", ["b", "42", "cd3", "zürich", "東"])
def test_words_with_digits_or_of_other_alphabets_are_lost(tmp_path: Path, word: str) -> None:
    index = index_of(tmp_path, with_others([f"apple {word}", f"pear {word}"]))
    assert Axiomatic().expand({word: 1.0}, hits_of((0, 2.0)), index) == {}
    assert word not in Axiomatic().expand({word: 1.0, "apple": 1.0}, hits_of((0, 2.0)), index)


def test_a_word_in_more_than_half_of_the_documents_is_lost(tmp_path: Path) -> None:
    index = index_of(tmp_path, ["fig apple", "fig pear", "fig", "plum"])
    assert Axiomatic().expand({"fig": 1.0}, hits_of((0, 2.0)), index) == {}


def test_a_word_that_is_not_in_the_pool_is_lost(tmp_path: Path) -> None:
    index = index_of(tmp_path, ["apple", "pear", "plum", "fig"])
    assert Axiomatic(fb_docs=1, pool_factor=1).expand({"pear": 1.0}, hits_of((0, 2.0)), index) == {}


# --- the pool ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Ten documents with terms, and two empty ones; the last one read comes first by id."""
    empty = (2, 7)
    documents = [Document(f"d{50 - number}", "", "" if number in empty else "word") for number in range(12)]
    return build_index(located(documents), tmp_path_factory.mktemp("ten") / "index")


def test_random_documents_are_those_that_java_draws_by_id(ten: Index) -> None:
    # by id the documents with terms are 11, 10, 9, 8, 6, 5, 4, 3, 1, 0; from seed 42 Java draws 0 3 8 4 0 5 5 8
    assert pool_documents(ten, np.array([5]), 5, 42).tolist() == [5, 11, 8, 1, 6]
    assert pool_documents(ten, np.array([8, 11]), 5, 42).tolist() == [8, 11, 1, 6, 5]


def test_the_pool_may_be_the_first_documents_alone(ten: Index) -> None:
    assert pool_documents(ten, np.array([4, 0, 9]), 3, 42).tolist() == [4, 0, 9]


@pytest.mark.parametrize("size", [10, 11, 600])
def test_a_collection_that_is_no_larger_than_the_pool_is_the_pool(ten: Index, size: int) -> None:
    assert pool_documents(ten, np.array([5]), size, 42).tolist() == [0, 1, 3, 4, 5, 6, 8, 9, 10, 11]


def test_another_seed_draws_other_documents(indexes: list[Index]) -> None:
    one, other = (set(pool_documents(indexes[0], np.array([5]), 20, seed).tolist()) for seed in (42, 43))
    assert len(one) == len(other) == 20
    assert one != other


# --- against an obvious implementation --------------------------------------------------------


def information(xs: set[int], ys: set[int], n: int) -> float:
    """Mutual information from sets of documents, in the precision of Anserini."""
    total = 0.0
    for x, y in ((0, 0), (1, 0), (0, 1), (1, 1)):
        joint = sum((d in xs) == x and (d in ys) == y for d in xs | ys) + (n - len(xs | ys)) * (not x and not y)
        p_x, p_y = (np.float32(len(s) if present else n - len(s)) / np.float32(n) for s, present in ((xs, x), (ys, y)))
        if joint:
            share = np.float32(joint) / np.float32(n)
            total += float(share) * math.log(share / (p_x * p_y))
    return total


def best_of(scores: dict[str, float], n: int) -> dict[str, float]:
    """The n best, at most half of them rounded up."""
    kept = sorted(scores, key=lambda term: (-scores[term], term))[: min(n, (len(scores) + 1) // 2)]
    return {term: scores[term] for term in kept}


def reference(model: Axiomatic, query: dict[str, float], hits: Hits, index: Index) -> dict[str, float]:
    """Go through documents, terms and sets one by one."""
    counts = counts_of(index)
    dfs, full = dfs_of(counts), [number for number, document in enumerate(counts) if document]
    pool, size = set(hits.numbers.tolist()), min(model.fb_docs * model.pool_factor, len(full))
    for place in random_ints(model.seed, len(full)):  # ids sort like numbers
        if len(pool) == size:
            break
        pool.add(full[place])
    holding: dict[str, set[int]] = {}
    for number in pool:
        for term in counts[number]:
            if re.fullmatch("[a-z]{2,}", term):
                holding.setdefault(term, set()).add(number)
    n = len(set().union(*holding.values()))
    sums: dict[str, float] = {}
    for q, tf in query.items():
        if q in holding:
            idf, itself = math.log((len(full) + 1) // dfs[q]), information(holding[q], holding[q], n)
            scores = {t: idf * tf * model.beta * information(holding[q], holding[t], n) / itself for t in holding}
            for term, score in best_of(scores | {q: idf * tf}, 1000).items():
                if score > 1e-8:
                    sums[term] = sums.get(term, 0) + score
    return best_of({term: total / sum(query.values()) for term, total in sums.items()}, model.fb_terms)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2),
    query=st.dictionaries(st.sampled_from([*RARE, *COMMON, "nowhere"]), st.integers(1, 3), min_size=1, max_size=5),
    fb_docs=st.integers(5, 12),
    pool_factor=st.integers(5, 12),  # pools from 25 documents to all, without words in half of them
    fb_terms=st.integers(1, 25),
    beta=st.floats(0.01, 0.9),
    random_seed=st.integers(0, 99),
)
def test_the_new_query_is_that_of_the_obvious_implementation(
    indexes: list[Index],
    seed: int,
    query: dict[str, float],
    fb_docs: int,
    pool_factor: int,
    fb_terms: int,
    beta: float,
    random_seed: int,
) -> None:
    index, model = indexes[seed], Axiomatic(fb_docs, pool_factor, fb_terms, beta, random_seed)
    hits = BM25(index).search(query, model.first_pass)
    if len(hits.numbers):
        assert model.expand(query, hits, index) == pytest.approx(reference(model, query, hits, index), rel=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        *({name: 0} for name in ("fb_docs", "pool_factor", "fb_terms")),
        *({"beta": value} for value in (-0.1, math.nan, math.inf)),
        {"seed": -1},
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        Axiomatic(**options)  # type: ignore[arg-type]
