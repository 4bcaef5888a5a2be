"""Document lengths in one byte, and the formula of BM25."""

from __future__ import annotations

import math

import numpy as np
import pytest

from longrank.index.similarity import LENGTHS, idf, inverse_norms, length_codes, term_scores


def kept(length: int) -> int:
    return int(LENGTHS[length_codes(np.array([length]))[0]])


@pytest.mark.parametrize(
    ("length", "expected"), [(41, 40), (50, 50), (100, 96), (300, 280), (500, 472), (1000, 984), (5000, 4632)]
)
def test_lengths_are_truncated_as_lucene_does(length: int, expected: int) -> None:
    assert kept(length) == expected


def test_lengths_to_40_are_exact() -> None:
    assert [kept(length) for length in range(41)] == list(range(41))


def test_each_of_the_256_codes_is_the_code_of_its_length() -> None:
    assert len(LENGTHS) == 256
    assert (np.diff(LENGTHS) > 0).all()
    assert (length_codes(LENGTHS) == np.arange(256)).all()
    assert LENGTHS[-1] == 2013265944  # what Lucene decodes 255 to


def test_idf_is_positive_even_for_a_term_in_every_document() -> None:
    assert idf(1, 1) == np.float32(math.log(4 / 3))
    assert idf(2, 3) == np.float32(math.log(1.6))


def test_a_score_is_the_textbook_formula() -> None:
    norms = inverse_norms(np.array([7]), avgdl=5.0, k1=1.2, b=0.75)
    score = term_scores(np.float32(2.0), np.array([3], np.uint32), norms)[0]
    assert score == pytest.approx(2.0 * 3 / (3 + 1.2 * (1 - 0.75 + 0.75 * 7 / 5)), rel=1e-6)


def test_with_k1_zero_only_occurrence_counts() -> None:
    norms = inverse_norms(np.array([1, 900]), avgdl=5.0, k1=0.0, b=0.75)
    assert term_scores(np.float32(2.0), np.array([1, 50], np.uint32), norms).tolist() == [2.0, 2.0]
