from __future__ import annotations

import math

import numpy as np
import pytest

from longrank.errors import InputError
from longrank.scoring.relevance import SCORES, check_score, score_of


def test_scores_of_logits_by_hand() -> None:
    """Logits (z0, z1) = (2, 3), (-1, 2.5), (100, -100): the second is more probable, the first has the larger z1."""
    logits = np.array([[2.0, 3.0], [-1.0, 2.5], [100.0, -100.0]], dtype=np.float32)
    expected = {
        "logit": [3.0, 2.5, -100.0],
        "logit_diff": [1.0, 3.5, -200.0],
        "logprob": [-math.log1p(math.exp(-1)), -math.log1p(math.exp(-3.5)), -200.0],
        "prob": [1 / (1 + math.exp(-1)), 1 / (1 + math.exp(-3.5)), 0.0],
    }
    for unit in SCORES:
        assert score_of(logits, unit, 1).tolist() == pytest.approx(expected[unit], rel=1e-6)
        assert score_of(logits[:, ::-1], unit, 0).tolist() == pytest.approx(expected[unit], rel=1e-6)
    single = {
        "logit": [3.0, -100.0],
        "logprob": [-math.log1p(math.exp(-3)), -100.0],
        "prob": [1 / (1 + math.exp(-3)), math.exp(-100)],
    }
    for unit, values in single.items():
        found = score_of(np.array([[3.0], [-100.0]], dtype=np.float32), unit, 0)
        assert found.dtype == np.float32
        assert found.tolist() == pytest.approx(values, rel=1e-5, abs=1e-40)


def test_an_unknown_score_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown score \(got 'logprobs'\); did you mean 'logprob'"):
        check_score("logprobs")
