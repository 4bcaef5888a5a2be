from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from longrank.index.int8 import int8_rows

VALUES = st.floats(-1, 1, width=32, allow_subnormal=False)


@settings(max_examples=60, deadline=None)
@given(arrays(np.float32, (5, 7), elements=VALUES))
def test_the_error_is_a_bound_of_what_rounding_took(vectors: np.ndarray) -> None:
    rows = int8_rows(vectors)
    again = rows.values.astype(np.float64) * rows.scales.astype(np.float64)[:, None]
    lost = np.linalg.norm(vectors.astype(np.float64) - again, axis=1)
    assert (lost <= rows.errors).all()
    assert (rows.errors <= 0.51 * rows.scales * np.sqrt(7) + 1e-30).all()  # half a step in each dimension


def test_the_largest_number_is_127_and_a_zero_vector_stays_zero() -> None:
    rows = int8_rows(np.array([[0.5, -1, 0], [0, 0, 0]], np.float32))
    assert rows.values.tolist() == [[64, -127, 0], [0, 0, 0]]
    assert rows.values.dtype == np.int8
    assert rows.scales.tolist() == [np.float32(1 / 127), 0]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_vector_that_is_not_finite_has_no_scale(value: float) -> None:
    rows = int8_rows(np.array([[1, value], [1, 0]], np.float32))
    assert np.isnan(rows.scales).tolist() == [True, False]
    assert rows.values[1].tolist() == [127, 0]


def test_no_vectors_have_no_rows() -> None:
    assert [part.shape for part in int8_rows(np.empty((0, 3), np.float32))] == [(0, 3), (0,), (0,)]
