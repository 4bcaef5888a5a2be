"""Scores of several scorers are mixed per query, as computed by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidences import evidence
from longrank.aggregation.mixing import Mix, make_mix, mix_header, mix_of, mixed, remixed
from longrank.errors import InputError
from longrank.formats.evidence import evidence_header


def parts(main: Sequence[float], lexical: Sequence[float]) -> dict[str, np.ndarray]:
    return {"main": np.array(main, np.float32), "lexical": np.array(lexical, np.float32)}


def mix(lexical: float, method: str = "minmax") -> Mix:
    return make_mix(["main", "lexical"], {"lexical": lexical}, method)


def values(documents: Sequence[dict[str, np.ndarray]], mix: Mix) -> list[list[float]]:
    return [scores.tolist() for scores in mixed(documents, mix)]


def test_minmax_scales_each_part_over_all_passages_of_the_query() -> None:
    documents = [parts([-1, 1], [0, 6]), parts([3], [3])]
    # main: (s + 1) / 4 = 0, .5, 1; lexical: s / 6 = 0, 1, .5
    assert values(documents, mix(0.25)) == [[0.0, 0.75 * 0.5 + 0.25 * 1], [0.75 * 1 + 0.25 * 0.5]]


def test_equal_scores_all_become_1() -> None:
    assert values([parts([1, 3], [2, 2])], mix(0.25)) == [[0.25, 1.0]]
    assert values([parts([-7], [0])], mix(0.25)) == [[1.0]]


def test_rrf_adds_weighted_reciprocal_ranks_and_equal_scores_have_equal_ranks() -> None:
    documents = [parts([5, 9], [1, 1]), parts([7], [0])]
    # ranks: main 3, 1, 2; lexical 1, 1, 3
    expected = [[0.75 / 63 + 0.25 / 61, 0.75 / 61 + 0.25 / 61], [0.75 / 62 + 0.25 / 63]]
    assert values(documents, mix(0.25, "rrf")) == [pytest.approx(scores, rel=1e-6) for scores in expected]


def test_the_main_scorer_has_the_rest_of_the_weight() -> None:
    names = ["main", "lexical", "bi-encoder"]
    assert make_mix(names, {"lexical": 0.25, "bi-encoder": 0.5}).weights == {
        "main": 0.25,
        "lexical": 0.25,
        "bi-encoder": 0.5,
    }
    assert make_mix(names, {"lexical": 1}).weights == {"main": 0.0, "lexical": 1.0, "bi-encoder": 0.0}
    assert make_mix(names, {"lexical": 0.7, "bi-encoder": 0.3}).weights["main"] == 0.0


@pytest.mark.parametrize(
    ("weights", "method", "message"),
    [
        ({"lexical": -0.1}, "minmax", "between 0 and 1"),
        ({"lexical": float("nan")}, "minmax", "between 0 and 1"),
        ({"lexical": True}, "minmax", "between 0 and 1"),
        ({"lexical": 0.6, "bi-encoder": 0.5}, "minmax", "more than 1"),
        ({"main": 0.5}, "minmax", "has the rest"),
        ({"lexikal": 0.5}, "minmax", "did you mean 'lexical'"),
        ({"lexical": 0.5}, "max", "unknown method"),
    ],
)
def test_wrong_weights_are_refused(weights: dict[str, float], method: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_mix(["main", "lexical", "bi-encoder"], weights, method)


scores = st.floats(-1000, 1000, width=32)
queries = st.lists(st.lists(st.tuples(scores, scores), min_size=1, max_size=5), min_size=1, max_size=5)
methods = st.sampled_from(["minmax", "rrf"])


def documents_of(rows: list[list[tuple[float, float]]]) -> list[dict[str, np.ndarray]]:
    return [parts(*zip(*document, strict=True)) for document in rows]


@given(queries, st.floats(0, 1), methods, st.randoms())
def test_the_order_of_documents_and_passages_changes_nothing(rows, weight, method, random) -> None:  # type: ignore[no-untyped-def]
    places = [(d, p) for d, document in enumerate(rows) for p in range(len(document))]
    before = dict(zip(places, np.concatenate(mixed(documents_of(rows), mix(weight, method))).tolist(), strict=True))
    random.shuffle(places)
    after = mixed(documents_of([[rows[d][p] for d, p in places]]), mix(weight, method))
    assert after[0].tolist() == [before[place] for place in places]


@given(queries, methods)
def test_a_weight_of_0_keeps_the_order_of_the_main_scorer_and_of_1_that_of_the_other(rows, method) -> None:  # type: ignore[no-untyped-def]
    documents = documents_of(rows)
    for weight, name in ((0.0, "main"), (1.0, "lexical")):
        alone = np.concatenate([document[name] for document in documents])
        mixture = np.concatenate(mixed(documents, mix(weight, method)))
        assert (np.diff(mixture[np.argsort(alone, kind="stable")]) >= 0).all()


@given(queries, st.floats(0, 1), methods)
def test_mixed_scores_are_between_0_and_1(rows, weight, method) -> None:  # type: ignore[no-untyped-def]
    mixture = np.concatenate(mixed(documents_of(rows), mix(weight, method)))
    assert mixture.dtype == np.float32
    assert ((mixture >= 0) & (mixture <= 1)).all()


def test_evidence_is_mixed_query_by_query() -> None:
    rows = [
        evidence("d1", [0], query_id="q1", parts={"main": [1], "lexical": [4]}),
        evidence("d2", [0], query_id="q1", parts={"main": [3], "lexical": [2]}),
        evidence("d1", [0, 0], query_id="q2", parts={"main": [0, 8], "lexical": [5, 5]}),
    ]
    assert [one.passage_score.tolist() for one in remixed(rows, mix(0.25))] == [[0.25], [0.75], [0.25, 1.0]]


def test_evidence_that_cannot_be_mixed_is_refused() -> None:
    plain, known = evidence("d1", [0]), {"main": [1.0], "lexical": [2.0]}
    with pytest.raises(InputError, match="no part of a mix"):
        list(remixed([plain], mix(0.5)))
    with pytest.raises(InputError, match="got 'bi-encoder'"):
        list(remixed([evidence("d1", [0], parts=known)], make_mix(["main", "bi-encoder"], {"bi-encoder": 0.5})))
    apart = [evidence("d", [0], query_id=query_id, parts=known) for query_id in ("q1", "q2", "q1")]
    with pytest.raises(InputError, match="'q1' is not together"):
        list(remixed(apart, mix(0.5)))


def test_the_header_of_a_file_keeps_the_mix() -> None:
    written = make_mix(["main", "lexical", "bi-encoder"], {"lexical": 0.3, "bi-encoder": 0.1}, "rrf")
    header = evidence_header(
        unit="mixed", scorer="s", collection="c", queries="q", n_queries=1, candidates="r", options=mix_header(written)
    )
    assert mix_of(header) == written
    assert list(written.weights) == header["parts"]
    assert mix_of({}) is None
