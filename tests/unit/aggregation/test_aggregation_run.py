from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidences import evidence, run, scores
from longrank.aggregation import make_aggregator
from longrank.aggregation.interpolate import interpolate
from longrank.aggregation.run import aggregate_run
from longrank.errors import InputError, LongRankError
from longrank.formats.trec import read_run, write_run
from longrank.types import Evidence, Missing, Notes, Run

MAXP = make_aggregator("maxp")


def aggregated(evidence: list[Evidence], **options: object) -> Run:
    defaults = {"first_stage": None, "alpha": None, "normalize": "none", "tail": "keep", "tag": "t"}
    return aggregate_run(evidence, MAXP, **(defaults | options))  # type: ignore[arg-type]


def order(of: Run, query_id: str = "q") -> list[str]:
    return [row.doc_id for row in of[query_id]]


FIRST = run({"q": {"a": 9.0, "b": 7.0, "c": 5.0, "d": 3.0, "e": 1.0}})
TOP_TWO = [evidence("a", [0.1], first_stage=9.0), evidence("b", [0.2, 0.3], first_stage=7.0)]


def test_documents_are_ranked_by_their_aggregated_scores() -> None:
    assert scores(aggregated(TOP_TWO)) == {"b": pytest.approx(0.3), "a": pytest.approx(0.1)}


def test_the_other_documents_follow_strictly_below_in_first_stage_order() -> None:
    result = aggregated(TOP_TWO, first_stage=FIRST)
    assert order(result) == ["b", "a", "c", "d", "e"]
    assert len(set(scores(result).values())) == 5


def test_the_tail_may_be_dropped() -> None:
    assert order(aggregated(TOP_TWO, first_stage=FIRST, tail="drop")) == ["b", "a"]


def test_queries_without_evidence_keep_their_ranking_or_go_with_the_tail() -> None:
    first = run({"other": {"x": 2.0, "y": 1.5}, "q": {"a": 9.0, "b": 7.0}})
    result = aggregated(TOP_TWO, first_stage=first)
    assert list(result) == ["other", "q"]
    assert result["other"] == first["other"]
    assert list(aggregated(TOP_TWO, first_stage=first, tail="drop")) == ["q"]


def test_documents_that_the_index_lacks_come_last() -> None:
    result = aggregated(TOP_TWO, first_stage=FIRST, missing=Missing(frozenset("c")))
    assert order(result) == ["b", "a", "d", "e", "c"]


def test_without_evidence_the_lacking_documents_still_come_last_below_unchanged_scores() -> None:
    result = aggregated([], first_stage=FIRST, missing=Missing(frozenset("ac")))
    assert order(result) == ["b", "d", "e", "a", "c"]
    assert scores(result)["b"] == 7.0
    assert aggregated([], first_stage=FIRST, missing=Missing(frozenset("abcde")))["q"] == FIRST["q"]


def test_a_query_that_was_not_reranked_keeps_the_place_of_lacking_documents() -> None:
    assert aggregated([], first_stage=FIRST, missing=Missing(frozenset("ac"), frozenset("q")))["q"] == FIRST["q"]
    result = aggregated(
        TOP_TWO, first_stage=FIRST, missing=Missing(frozenset("c"), frozenset("q"))
    )  # it was, elsewhere
    assert order(result) == ["b", "a", "d", "e", "c"]


def test_raw_interpolation_weighs_the_first_stage_by_alpha() -> None:
    result = scores(aggregated(TOP_TWO, alpha=0.25))
    assert result == {"a": pytest.approx(0.25 * 9 + 0.75 * 0.1), "b": pytest.approx(0.25 * 7 + 0.75 * 0.3)}


def test_alpha_one_gives_the_first_stage_order_and_alpha_zero_the_passages() -> None:
    assert order(aggregated(TOP_TWO, first_stage=FIRST, alpha=1.0)) == order(FIRST)
    assert order(aggregated(TOP_TWO, first_stage=FIRST, alpha=0.0)) == ["b", "a", "c", "d", "e"]


def test_min_max_looks_at_the_reranked_documents_only() -> None:
    some = [*TOP_TWO, evidence("c", [0.2], first_stage=5.0)]
    result = scores(aggregated(some, first_stage=FIRST, alpha=0.3, normalize="minmax"))
    assert result["a"] == pytest.approx(0.3 * 1.0 + 0.7 * 0.0)
    assert result["b"] == pytest.approx(0.3 * 0.5 + 0.7 * 1.0)
    assert result["c"] == pytest.approx(0.3 * 0.0 + 0.7 * 0.5)


def test_another_first_stage_may_be_mixed_in() -> None:
    other = run({"q": {"a": 1.0, "b": 2.0}})
    assert scores(aggregated(TOP_TWO, first_stage=other, alpha=1.0)) == {"b": 2.0, "a": 1.0}


def test_evidence_of_a_document_that_the_first_stage_lacks_is_refused() -> None:
    with pytest.raises(InputError, match="'b'"):
        aggregated(TOP_TWO, first_stage=run({"q": {"a": 1.0}}))


def test_two_evidences_of_a_document_are_refused() -> None:
    with pytest.raises(LongRankError, match="twice"):
        aggregated([TOP_TWO[0], TOP_TWO[0]])


@pytest.mark.parametrize(
    "options", [{"alpha": 1.1}, {"alpha": -0.1}, {"alpha": math.nan}, {"normalize": "max"}, {"tail": "cut"}]
)
def test_settings_out_of_range_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        aggregated(TOP_TWO, **options)


def test_thirty_of_a_thousand_keeps_all_thousand(tmp_path: Path) -> None:
    rng = random.Random(3)
    first = run({"q": {f"d{i:04d}": 20 - i / 100 for i in range(1000)}})
    top = [evidence(row.doc_id, [rng.gauss(0, 1)], first_stage=row.score) for row in first["q"][:30]]
    result = aggregated(top, first_stage=first)
    assert len(result["q"]) == 1000
    assert set(order(result)[:30]) == set(order(first)[:30])
    assert order(result)[30:] == order(first)[30:]
    write_run(result, tmp_path / "run")
    assert list(read_run(tmp_path / "run", Notes()).rows()) == list(result.rows())


@given(
    lowest=st.floats(-(2.0**122), 2.0**122, width=32),
    others=st.lists(st.floats(0, 10), max_size=5),
    n_tail=st.integers(1, 1500),
)
@settings(max_examples=60, deadline=None)
def test_the_tail_is_strictly_below_for_every_float32(lowest: float, others: list[float], n_tail: int) -> None:
    first = run(
        {"q": {**{f"t{i}": 1e6 - i for i in range(len(others) + 1)}, **{f"z{i:04d}": -i for i in range(n_tail)}}}
    )
    top = [evidence(f"t{i}", [s]) for i, s in enumerate([lowest, *(lowest + abs(lowest) * o for o in others)])]
    result = aggregated(top, first_stage=first)
    tail = np.array([row.score for row in result["q"]], dtype=np.float32)[len(top) - 1 :]
    assert (np.diff(tail) < 0).all()
    assert order(result)[len(top) :] == [f"z{i:04d}" for i in range(n_tail)]


@given(
    first=st.dictionaries(st.sampled_from("abcde"), st.floats(-1e6, 1e6)),
    passages=st.dictionaries(st.sampled_from("abcde"), st.floats(-1e6, 1e6)),
    alpha=st.floats(0, 1),
    normalize=st.sampled_from(["none", "minmax"]),
)
def test_interpolation_scores_every_document_of_either_side(
    first: dict[str, float], passages: dict[str, float], alpha: float, normalize: str
) -> None:
    mixed = interpolate(first, passages, alpha, normalize)
    assert mixed.keys() == first.keys() | passages.keys()
    assert all(map(math.isfinite, mixed.values()))
    if normalize == "minmax":
        assert all(-1e-9 <= score <= 1 + 1e-9 for score in mixed.values())


def test_a_document_without_passages_keeps_alpha_times_its_first_stage_score() -> None:
    assert interpolate({"a": 4.0, "b": 2.0}, {"a": 1.0}, 0.5) == {"a": 2.5, "b": 1.0}


def test_where_all_scores_are_equal_min_max_makes_them_one() -> None:
    assert interpolate({"a": 3.0, "b": 3.0}, {"a": 0.0, "b": 2.0}, 0.5, "minmax") == {"a": 0.5, "b": 1.0}
