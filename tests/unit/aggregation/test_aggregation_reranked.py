"""Whether the run that was reranked is told from another."""

from __future__ import annotations

import pytest

from evidences import evidence, run
from longrank.aggregation.reranked import comparing_first_stage
from longrank.types import Notes


@pytest.mark.parametrize(
    ("then", "here", "others"),
    [
        ({"a": 2.0, "b": 1.0}, {"a": 2.0, "b": 1.0}, 0),
        ({"a": 2.0, "b": 1.0}, {"a": 2.0, "b": 1.5}, 1),
        ({"a": 1 / 3, "b": 1.0}, {"a": 0.333333, "b": 1.0}, 0),  # as a file of six decimals has it
        ({"a": 999999.0, "b": 999998.0}, {"a": 999998.0, "b": 999999.0}, 2),
        ({"a": float("nan"), "b": 1.0}, {"a": 3.0, "b": 1.0}, 0),  # of a run, none is known
        ({"a": 2.0, "b": 1.0}, {"a": 2.0}, 0),  # what is lacking is refused elsewhere
    ],
)
def test_documents_of_other_scores_are_counted_and_passed_on(
    then: dict[str, float], here: dict[str, float], others: int
) -> None:
    notes = Notes()
    made = [evidence(doc_id, [1.0], first_stage=score) for doc_id, score in then.items()]
    assert list(comparing_first_stage(made, run({"q": here}), notes)) == made
    assert notes["documents with another score in this first stage than in the reranked run"] == others
