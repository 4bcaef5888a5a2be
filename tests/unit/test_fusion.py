from __future__ import annotations

import math

import pytest

from evidences import run, scores
from longrank.errors import InputError
from longrank.fusion import add, linear, mapfuse, minmax, rrf

BM25 = run({"q": {"a": 10.0, "b": 8.0, "c": 2.0}})
NEURAL = run({"q": {"c": 0.9, "d": 0.5, "a": 0.1}})


def approximately(values: dict[str, float]) -> dict[str, object]:
    return {doc_id: pytest.approx(value, rel=1e-6) for doc_id, value in values.items()}


def test_rrf_sums_reciprocal_ranks_with_k_60() -> None:
    wanted = {"a": 1 / 61 + 1 / 63, "c": 1 / 63 + 1 / 61, "b": 1 / 62, "d": 1 / 62}
    fused = rrf([BM25, NEURAL], tag="t")
    assert scores(fused) == approximately(wanted)
    assert [row.doc_id for row in fused["q"]] == ["c", "a", "d", "b"]  # ties by doc_id descending


def test_rrf_takes_another_k() -> None:
    assert scores(rrf([BM25, NEURAL], tag="t", k=0)) == approximately(
        {"a": 1 + 1 / 3, "c": 1 / 3 + 1, "b": 0.5, "d": 0.5}
    )


def test_mapfuse_sums_map_over_rank() -> None:
    fused = scores(mapfuse([BM25, NEURAL], tag="t", maps=[0.3, 0.5]))
    assert fused == approximately({"a": 0.3 + 0.5 / 3, "b": 0.3 / 2, "c": 0.3 / 3 + 0.5, "d": 0.5 / 2})


def test_mapfuse_without_any_map_is_refused() -> None:
    with pytest.raises(InputError, match="all MAPs are 0"):
        mapfuse([BM25, NEURAL], tag="t", maps=[0.0, 0.0])


def test_linear_adds_raw_scores() -> None:
    fused = scores(linear([BM25, NEURAL], tag="t", weights=[0.1, 2.0]))
    assert fused == approximately({"a": 1.2, "b": 0.8, "c": 2.0, "d": 1.0})
    assert scores(linear([BM25, NEURAL], tag="t")) == approximately({"a": 10.1, "b": 8.0, "c": 2.9, "d": 0.5})


def test_linear_after_min_max_gives_a_lacking_document_the_minimum() -> None:
    fused = scores(linear([BM25, NEURAL], tag="t", weights=[0.5, 0.5], normalize="minmax"))
    assert fused == approximately({"a": 0.5, "b": 0.375, "c": 0.5, "d": 0.25})


def test_a_document_that_a_run_of_scores_below_0_lacks_has_its_lowest() -> None:
    """0 would place what it never returned above what it did."""
    logits = run({"q": {"b": -1.0, "a": -2.0, "d": -3.0}})
    assert scores(linear([BM25, logits], tag="t")) == approximately({"a": 8.0, "b": 7.0, "c": -1.0, "d": -3.0})
    weighed = scores(linear([BM25, logits], tag="t", weights=[1.0, 0.5]))
    assert weighed == approximately({"a": 9.0, "b": 7.5, "c": 0.5, "d": -1.5})


def test_a_query_that_a_run_lacks_gets_nothing_from_it() -> None:
    other = run({"r": {"x": 5.0}})
    fused = mapfuse([BM25, other], tag="t", maps=[0.4, 0.2])
    assert list(fused) == ["q", "r"]
    assert scores(fused, "r") == approximately({"x": 0.2})


def test_equal_runs_may_have_different_weights() -> None:
    assert scores(linear([BM25, BM25], tag="t", weights=[1.0, 2.0]))["a"] == 30.0


def test_min_max_where_all_are_equal_is_one() -> None:
    assert minmax({"a": 3.0, "b": 3.0}) == {"a": 1.0, "b": 1.0}
    assert minmax({"a": -7.0}) == {"a": 1.0}
    assert minmax({}) == {}


def test_sums_do_not_depend_on_the_order_of_parts() -> None:
    parts = [{"a": 1e16}, {"a": 1.0}, {"a": -1e16}]
    assert add(parts) == add(parts[::-1]) == {"a": 1.0}


@pytest.mark.parametrize(
    "call",
    [
        lambda: rrf([BM25, NEURAL], tag="t", k=-1),
        lambda: rrf([BM25, NEURAL], tag="t", k=math.nan),
        lambda: linear([BM25, NEURAL], tag="t", weights=[1.0]),
        lambda: linear([BM25, NEURAL], tag="t", weights=[1.0, math.inf]),
        lambda: linear([BM25, NEURAL], tag="t", weights=[1.0, math.nan]),
        lambda: linear([BM25, NEURAL], tag="t", weights=[1e308, 1e308]),
        lambda: linear([BM25, NEURAL], tag="t", weights=[3e38, 3e38]),
        lambda: linear([BM25, NEURAL], tag="t", normalize="max"),
        lambda: mapfuse([BM25, NEURAL], tag="t", maps=[0.1]),
        lambda: mapfuse([BM25, NEURAL], tag="t", maps=[0.1, 1.5]),
    ],
)
def test_wrong_settings_are_refused(call: object) -> None:
    with pytest.raises(InputError):
        call()  # type: ignore[operator]
