"""Document lengths in one byte, and what is computed once per term or length."""

from __future__ import annotations

import math

import numpy as np
import pytest

from longrank.index.similarity import LENGTHS, collection_probabilities, dirichlet_offsets, idf, idfs, length_codes


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


def test_the_idf_of_several_terms_is_that_of_each() -> None:
    assert idfs(np.array([1, 2]), 3).tolist() == [idf(1, 3), idf(2, 3)]


def test_the_parts_of_query_likelihood_by_hand() -> None:
    assert collection_probabilities(np.array([4, 0]), 9).tolist() == [0.5, 0.1]
    assert dirichlet_offsets(np.array([0, 10]), 10.0).tolist() == pytest.approx([0, math.log(0.5)])
