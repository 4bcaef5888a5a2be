"""Packed postings: what is encoded is decoded, in few bytes, and the best scores of a term stay below its bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from longrank.index.blocks import BLOCK, PAIRS, decode, encode, most_bytes
from longrank.index.score_tables import largest_score
from longrank.index.similarity import LENGTHS, inverse_norms

Packed = tuple[NDArray[np.uint8], NDArray[np.int64]]


def packed(docs: NDArray[np.uint32], tfs: NDArray[np.uint32], dfs: list[int], classes: NDArray[np.uint8]) -> Packed:
    out, ends = np.zeros(most_bytes(len(docs), len(dfs)), np.uint8), np.empty(len(dfs), np.int64)
    n_bytes = encode(docs, tfs, np.array(dfs), classes, out, ends)
    assert n_bytes == ends[-1] <= len(out)
    return out[:n_bytes], np.concatenate(([0], ends[:-1]))


def drawn(rng: np.random.Generator, n_docs: int, dfs: list[int]) -> NDArray[np.uint32]:
    return np.concatenate([np.sort(rng.choice(n_docs, df, replace=False)) for df in dfs]).astype(np.uint32)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    dfs=st.lists(st.one_of(st.integers(1, 3 * BLOCK + 1), st.sampled_from([BLOCK, BLOCK + 1])), min_size=1, max_size=6),
    n_docs=st.sampled_from([400, 70_000, 1_000_000]),
    most_tf=st.sampled_from([1, 4, 300, 2**32 - 1]),
)
def test_postings_are_read_as_they_were_written(seed: int, dfs: list[int], n_docs: int, most_tf: int) -> None:
    rng = np.random.default_rng(seed)
    docs = drawn(rng, n_docs, dfs)
    tfs = rng.integers(1, most_tf, len(docs), endpoint=True).astype(np.uint32)
    codes, begins = packed(docs, tfs, dfs, np.zeros(n_docs, np.uint8))
    assert (begins % 4 == 0).all()
    found_docs, found_tfs = np.empty((2, len(docs)), np.uint32)
    decode(codes, begins, np.array(dfs), found_docs, found_tfs)
    assert np.array_equal(found_docs, docs)
    assert np.array_equal(found_tfs, tfs)


@pytest.mark.parametrize(
    ("gap", "tf", "width"), [(16, 16, 1), (17, 16, 2), (2**14, 4, 2), (2**23, 2, 3), (2**29, 8, 4)]
)
def test_a_code_has_the_fewest_bytes(gap: int, tf: int, width: int) -> None:
    docs, tfs = np.array([gap - 1], np.uint32), np.array([tf], np.uint32)
    codes, _ = packed(docs, tfs, [1], np.zeros(0, np.uint8))
    assert codes[0] == width
    assert len(codes) == (2 + width + 3) // 4 * 4


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), most_tf=st.sampled_from([3, 40, 400]), k1=st.floats(0, 100), b=st.floats(0, 1))
def test_no_score_exceeds_the_bound_of_its_term(seed: int, most_tf: int, k1: float, b: float) -> None:
    rng = np.random.default_rng(seed)
    dfs = [BLOCK + 1, 2000, 3]
    docs = drawn(rng, 5000, dfs)
    tfs = rng.integers(1, most_tf, len(docs), endpoint=True).astype(np.uint32)
    classes = rng.integers(1, 200, 5000).astype(np.uint8)
    codes, begins = packed(docs, tfs, dfs, classes)
    norms, weights = inverse_norms(LENGTHS, 100.0, k1, b), np.array([1.5, 0.1, 3.0], np.float32)
    terms = zip(begins.tolist(), dfs, weights, strict=True)
    bounds = [largest_score(codes, begin, df, weight, norms) for begin, df, weight in terms]
    with np.errstate(over="ignore"):
        lost = np.repeat(weights, dfs) / (np.float32(1) + tfs.astype(np.float32) * norms[classes[docs]])
    scores = np.split(np.repeat(weights, dfs) - lost, np.cumsum(dfs)[:-1])
    assert [float(some.max()) <= bound for some, bound in zip(scores, bounds, strict=True)] == [True] * 3


def test_the_bound_is_reached_if_few_pairs_can_be_best() -> None:
    n = BLOCK + PAIRS
    classes = np.full(n, 90, np.uint8)
    classes[:PAIRS] = np.arange(20, 20 + PAIRS)
    tfs = np.ones(n, np.uint32)
    tfs[:PAIRS] = np.arange(2, 2 + PAIRS)
    codes, begins = packed(np.arange(n, dtype=np.uint32), tfs, [n], classes)
    norms, one = inverse_norms(LENGTHS, 60.0, 0.9, 0.4), np.float32(1)
    assert (
        largest_score(codes, begins[0], n, one, norms)
        == (one - one / (one + tfs.astype(np.float32) * norms[classes])).max()
    )
