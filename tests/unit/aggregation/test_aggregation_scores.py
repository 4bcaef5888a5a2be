from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidences import evidence
from longrank.aggregation import AGGREGATORS, make_aggregator
from longrank.errors import InputError

FOUR = evidence("d", [0.5, 3.0, -1.0, 2.0], weights=[1, 0, 3, 2])


@pytest.mark.parametrize(
    ("name", "options", "score"),
    [
        ("firstp", {}, 0.5),
        ("maxp", {}, 3.0),
        ("sump", {}, 4.5),
        ("avgp", {}, 1.125),
        ("kmaxp", {"k": 1}, 3.0),
        ("kmaxp", {"k": 2}, 2.5),
        ("kmaxp", {"k": 3}, 5.5 / 3),
        ("kmaxp", {}, 5.5 / 3),
        ("kmaxp", {"k": 9}, 1.125),
        ("birch", {"weights": [1.0]}, 3.0),
        ("birch", {"weights": [1.0, 0.5]}, 4.0),
        ("birch", {"weights": [1.0, 0.5, 0.2]}, 4.1),
        ("birch", {"weights": [1.0, 0.0, 0.0, 1.0, 7.0]}, 2.0),
        ("max", {}, 3.0),
        ("sum", {}, 4.5),
        ("wmean", {}, (0.5 * 1 + 3.0 * 0 - 1.0 * 3 + 2.0 * 2) / 6),
    ],
)
def test_four_passages_by_hand(name: str, options: dict[str, object], score: float) -> None:
    assert make_aggregator(name, **options)(FOUR) == pytest.approx(score, rel=1e-12)  # type: ignore[arg-type]


def test_contributions_to_a_networks_score_are_no_weights_of_sentences() -> None:
    with pytest.raises(InputError, match="a document network has no sentence weights"):
        make_aggregator("wmean")(replace(FOUR, document_score=1.0))


def test_of_a_capped_document_only_the_passages_that_were_scored_count() -> None:
    """Passages 3, 7 and 9 of twelve: FirstP is the first of the three, AvgP divides by three."""
    capped = replace(evidence("d", [1.0, 4.0, -2.0]), passage_index=np.array([3, 7, 9], dtype=np.int32), n_passages=12)
    expected = {"firstp": 1.0, "maxp": 4.0, "sump": 3.0, "avgp": 1.0, "kmaxp": 1.0}
    assert {name: make_aggregator(name)(capped) for name in expected} == expected


def test_birch_sums_what_a_document_with_one_sentence_has() -> None:
    assert make_aggregator("birch", weights=[1.0, 0.5, 0.5])(evidence("d", [2.0])) == 2.0


def test_birch_puts_the_best_first_also_among_negative_scores() -> None:
    assert make_aggregator("birch", weights=[1.0, 0.5])(evidence("d", [-4.0, -1.0, -2.0])) == -2.0


def test_weighted_mean_without_any_shared_term_is_the_plain_mean() -> None:
    assert make_aggregator("wmean")(evidence("d", [1.0, 2.0, 6.0], weights=[0, 0, 0])) == 3.0


def test_sums_are_made_in_float64() -> None:
    scores = [16777216.0, 1.0, 1.0]  # float32 would lose both ones
    assert make_aggregator("sump")(evidence("d", scores)) == 16777218.0
    assert make_aggregator("avgp")(evidence("d", scores)) == 16777218.0 / 3
    assert make_aggregator("birch", weights=[1.0, 1.0, 1.0])(evidence("d", scores)) == 16777218.0


def test_document_is_the_networks_own_score() -> None:
    assert make_aggregator("document")(evidence("d", [1.0, 2.0], document_score=-0.25)) == -0.25


def test_document_without_the_networks_score_is_refused() -> None:
    with pytest.raises(InputError, match="no document scores"):
        make_aggregator("document")(FOUR)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("maxpp", {}, "did you mean 'maxp'"),
        ("kmaxp", {"k": 0}, "k of aggregator 'kmaxp' should be greater than or equal to 1"),
        ("kmaxp", {"k": 2.0}, "should be a valid integer"),
        ("birch", {}, "needs weights"),
        ("birch", {"weights": []}, "at least 1 item"),
        ("birch", {"weights": [1.0, float("nan")]}, "finite number"),
    ],
)
def test_wrong_options_are_refused(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_aggregator(name, **options)  # type: ignore[arg-type]


def test_scores_agree_with_an_independent_formulation() -> None:
    """MaxP, k-max and Birch as dot products with the sorted scores."""
    rng = np.random.default_rng(5)
    for size in (1, 2, 3, 17):
        scores = rng.normal(size=size).astype(np.float32)
        ordered = sorted(map(float, scores), reverse=True)
        one = evidence("d", scores.tolist())
        assert make_aggregator("maxp")(one) == ordered[0]
        assert make_aggregator("kmaxp", k=5)(one) == pytest.approx(sum(ordered[:5]) / min(5, size))
        birch = sum(w * s for w, s in zip([1, 0.4, 0.3], ordered, strict=False))
        assert make_aggregator("birch", weights=[1, 0.4, 0.3])(one) == pytest.approx(birch)


@pytest.mark.parametrize("name", ["maxp", "sump", "avgp", "kmaxp", "birch", "wmean"])
@given(pairs=st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 5)), min_size=1, max_size=20), data=st.data())
def test_the_order_of_passages_does_not_matter(name: str, pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    aggregate = make_aggregator(name, **AGGREGATORS[name].example)
    orders = (pairs, data.draw(st.permutations(pairs)))
    one, other = (aggregate(evidence("d", [s for s, _ in rows], weights=[w for _, w in rows])) for rows in orders)
    assert one == pytest.approx(other, rel=1e-12)
