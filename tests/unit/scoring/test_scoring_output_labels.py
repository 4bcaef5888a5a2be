"""Which labels are believed."""

from __future__ import annotations

import pytest

from longrank.scoring.output_labels import denies

CLEAR = [
    ("not relevant", "relevant"),
    ("Not_Relevant", "RELEVANT"),
    ("non-relevant", "relevant"),
    ("nonrelevant", "highly relevant"),
    ("irrelevant", "relevant"),
    ("unrelated", "related"),
    ("not_entailment", "entailment"),
    ("no answer", "answer"),
    ("NEGATIVE", "POSITIVE"),
    ("False", "True"),
    ("no", "yes"),
    ("0", "1"),
]


@pytest.mark.parametrize(("label", "other"), CLEAR)
def test_a_clear_denial_is_one_in_this_order_only(label: str, other: str) -> None:
    assert denies(label, other)
    assert not denies(other, label)


@pytest.mark.parametrize(
    ("label", "other"),
    [
        ("LABEL_1", "LABEL_0"),
        ("LABEL_0", "LABEL_1"),
        ("1", "0"),
        ("relevant", "relevant"),
        ("not relevant", "not relevant"),
        ("not relevant", "not very relevant"),
        ("notable", "common"),
        ("contradiction", "entailment"),
        ("nothing", "relevant"),
        ("relevant", ""),
        ("", "relevant"),
        ("", ""),
    ],
)
def test_all_else_is_unclear(label: str, other: str) -> None:
    assert not denies(label, other)
