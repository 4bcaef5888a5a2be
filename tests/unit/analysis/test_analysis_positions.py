from __future__ import annotations

import numpy as np
import pytest

from evidences import evidence, run
from longrank.analysis.positions import Winner, positions, relevant, top, winners

THREE = [
    evidence("a", [1, 9, 3, 4]),
    evidence("b", [5, 2]),
    evidence("c", [7]),
]


def test_the_first_of_the_best_passages_wins() -> None:
    found = winners([evidence("a", [1, 3, 3])])
    assert found == [Winner("q", "a", index=1, n_passages=3, n_scored=3, by_chance=1 / 3, score=3.0)]


def test_of_a_network_the_passage_that_contributed_most_wins_and_the_score_is_the_documents() -> None:
    (one,) = winners([evidence("a", [9, 1], weights=[0.2, 0.8], document_score=5.0)])
    assert (one.index, one.score) == (1, 5.0)


def test_of_sampled_passages_the_number_in_the_document_counts() -> None:
    sampled = evidence("a", [1, 2])
    object.__setattr__(sampled, "passage_index", np.array([3, 8], np.int32))
    object.__setattr__(sampled, "n_passages", 10)
    (one,) = winners([sampled])
    assert (one.index, one.place, one.n_scored) == (8, 0.85, 2)
    assert one.by_chance == 0  # the first passage was not scored


def test_positions_leave_documents_of_one_passage_out() -> None:
    found = positions(winners(THREE))
    assert (found.documents, found.single) == (3, 1)
    assert found.first == 0.5  # of a and b
    assert found.by_chance == pytest.approx((1 / 4 + 1 / 2) / 2)
    assert found.mean_place == pytest.approx((1.5 / 4 + 0.5 / 2) / 2)
    assert found.index is not None and found.index.mean == 0.5


def test_a_passage_counts_in_each_tenth_by_the_part_of_it_that_is_there() -> None:
    """Passage 1 of 4 fills .25 to .5: half of the third tenth, all of the fourth and fifth, in quarters of itself."""
    assert positions(winners(THREE[:1])).tenths == pytest.approx([0, 0, 0.2, 0.4, 0.4, 0, 0, 0, 0, 0])
    everywhere = [Winner("q", f"{i}", i, 7, 7, 1 / 7, 0.0) for i in range(7)]
    assert positions(everywhere).tenths == pytest.approx([0.1] * 10)


def test_without_positions_there_is_nothing_to_say() -> None:
    found = positions(winners(THREE[2:]))
    assert (found.first, found.index, found.mean_place, found.tenths) == (None, None, None, ())
    assert top([], 3) == []


def test_relevant_and_first_documents_are_picked() -> None:
    found = winners([*THREE, evidence("a", [0.5, 8], query_id="p"), evidence("b", [1], query_id="p")])
    picked = relevant(found, {"q": {"a": 1, "b": 2, "z": 1}, "p": {"a": 0}}, level=2)
    assert [(one.query_id, one.doc_id) for one in picked] == [("q", "b")]
    assert [(one.query_id, one.doc_id) for one in top(found, 1)] == [("q", "a"), ("p", "a")]
    ranked = run({"q": {"z": 9, "c": 8, "a": 7}, "p": {"b": 3, "a": 2}})
    assert [(one.query_id, one.doc_id) for one in top(found, 2, ranked)] == [("q", "c"), ("p", "a"), ("p", "b")]
