"""Many rankings measured at once are measured as `evaluate` measures each, which asks trec_eval."""

from __future__ import annotations

import random

import numpy as np
import pytest

from longrank.evaluation.measures import evaluate
from longrank.evaluation.names import parse_measure
from longrank.evaluation.tuning.rankings import measured, orders
from longrank.types import Run, ScoredDoc

BY_RANKS = [
    "AP",
    "AP(rel=2)@5",
    "nDCG",
    "nDCG@3",
    "P@5",
    "P(rel=2)@3",
    "R@4",
    "R(rel=2)@1000",
    "RR",
    "RR@2",
    "RR(rel=2)",
]
OTHERS = ["Rprec", "Bpref", "nDCG(dcg='exp-log2')@5", "ERR@5", "Judged@3", "NumRet", "IPrec@0.2"]


def test_the_order_is_that_of_a_run_ties_and_negative_zero_included() -> None:
    scores = np.array([[1.0, 2.0, 1.0 + 1e-12, -3.0], [0.0, -0.0, -1e-30, 1e-46]])
    for row, order in zip(scores, orders(scores), strict=True):
        expected = [doc.doc_id for doc in Run("r", (ScoredDoc("q", f"d{n}", s) for n, s in enumerate(row)))["q"]]
        assert [f"d{n}" for n in order] == expected


@pytest.mark.parametrize("name", BY_RANKS + OTHERS)
def test_values_are_exactly_those_of_evaluate(name: str) -> None:
    """Random judgments, unjudged and negative grades among them; coarse scores, so that there are ties."""
    rng, measure = random.Random(name), parse_measure(name)
    for _ in range(60):
        doc_ids = sorted(f"d{n}" for n in range(rng.randint(0, 12)))
        below = [f"e{n}" for n in range(rng.randint(0 if doc_ids else 1, 5))]
        judged = {doc_id: rng.choice([-1, 0, 1, 2, 3]) for doc_id in [*doc_ids, *below, "x"] if rng.random() < 0.7}
        judged.setdefault("y", 0)
        scores = np.array([[rng.choice([0.0, -0.0, 1.0, 2.5, 1e-3]) for _ in doc_ids] for _ in range(4)])
        found = measured(measure, judged, doc_ids, below)(scores.reshape(4, -1))
        for row, value in zip(scores, found, strict=True):
            above = [ScoredDoc("q", doc_id, score) for doc_id, score in zip(doc_ids, row, strict=True)]
            run = Run("r", above + [ScoredDoc("q", doc_id, -1.0 - n) for n, doc_id in enumerate(below)])
            assert value == evaluate({"q": judged}, run, [measure])[str(measure)]["q"]
