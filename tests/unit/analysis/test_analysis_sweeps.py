from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evidences import evidence, run
from longrank.aggregation import make_aggregator
from longrank.analysis.sweeps import RULES, Setup, by_depth, by_passages, kept
from longrank.errors import InputError
from longrank.evaluation.measures import evaluate
from longrank.types import Evidence, Missing, Notes

# The relevant document r is best by its third passage; n is best by its first, o by its sum.
EVIDENCE = [
    evidence("r", [1, 0, 9], weights=[0, 5, 1]),
    evidence("n", [5, 1, 1], weights=[2, 0, 0]),
    evidence("o", [4, 4, 4], weights=[1, 1, 1]),
]
FIRST = run({"q": {"x": 9, "n": 8, "o": 7, "r": 6, "y": 5}})


def setup(*names: str, **more: Any) -> Setup:
    return Setup({name: make_aggregator(name) for name in names}, {"q": {"r": 1}}, ["RR"], **more)


def values(points: Any) -> dict[tuple[int | None, str], float]:
    return {(point.n, point.aggregator): point.values["RR"] for point in points}


def test_effectiveness_by_the_number_of_first_passages() -> None:
    found = values(by_passages(EVIDENCE, setup("max", "sum"), [3, 1], notes=Notes()))
    assert found == {
        (1, "max"): pytest.approx(1 / 3),  # r 1, n 5, o 4
        (1, "sum"): pytest.approx(1 / 3),
        (3, "max"): 1,  # r 9, n 5, o 4
        (3, "sum"): 0.5,  # r 10, n 7, o 12
        (None, "max"): 1,
        (None, "sum"): 0.5,
    }


@pytest.mark.parametrize(
    ("rule", "n", "left"), [("first", 2, [0, 1]), ("termf", 1, [1]), ("termf", 2, [1, 2]), ("first+termf", 2, [0, 1])]
)
def test_passages_are_kept_by_the_rules_of_the_selectors(rule: str, n: int, left: list[int]) -> None:
    one = kept(EVIDENCE[0], rule, n)
    assert one.passage_index.tolist() == left
    assert one.passage_score.tolist() == [EVIDENCE[0].passage_score[i] for i in left]
    assert one.passage_end.tolist() == [10 * i + 9 for i in left]
    assert one.n_passages == 3


def test_reranked_documents_come_before_the_others_of_the_first_stage() -> None:
    found = values(by_passages(EVIDENCE, setup("max", first_stage=FIRST), [1], notes=Notes()))
    assert found[1, "max"] == pytest.approx(1 / 3)
    mixed = setup("max", first_stage=FIRST, alpha=1.0)
    assert values(by_passages(EVIDENCE, mixed, [1], notes=Notes()))[1, "max"] == pytest.approx(1 / 3)  # n, o, r


def test_more_passages_than_there_are_is_said() -> None:
    notes = Notes()
    by_passages(EVIDENCE, setup("max"), [2, 8], notes=notes)
    assert notes.lines() == ["no document has more than 3 scored passages; larger numbers keep all"]


def test_first_passages_that_were_not_scored_are_counted() -> None:
    sampled = evidence("s", [1, 2, 3])
    object.__setattr__(sampled, "passage_index", np.array([0, 4, 7], np.int32))
    object.__setattr__(sampled, "n_passages", 8)
    what = "documents with unscored passages among {}; other passages are kept instead"
    for rule, among in (("first", "their first 2 passages"), *((rule, "their passages") for rule in RULES[1:])):
        notes = Notes()
        by_passages([sampled, *EVIDENCE], setup("max"), [1, 2], rule=rule, notes=notes)
        assert notes.lines() == [f"{what.format(among)}: 1 (first: query q, s)"]


def test_effectiveness_by_depth_starts_at_the_first_stage() -> None:
    known = [*EVIDENCE, evidence("x", [0.0]), evidence("y", [0.5])]
    found = values(by_depth(known, FIRST, setup("maxp"), [2, 5, 4], notes=Notes()))
    assert found == {
        (0, "maxp"): 0.25,
        (2, "maxp"): 0.25,  # n, x | o, r, y
        (4, "maxp"): 1,  # r, n, o, x | y
        (5, "maxp"): 1,
    }


def test_each_point_is_what_aggregate_makes_of_as_much_evidence() -> None:
    from longrank.aggregation.run import aggregate_run

    rng = np.random.default_rng(3)
    first = run({q: {f"d{i:02}": 20 - i for i in range(20)} for q in ("1", "2", "3")})
    known: list[Evidence] = [
        evidence(row.doc_id, rng.normal(size=rng.integers(1, 6)).tolist(), query_id=row.query_id, first_stage=row.score)
        for q in first
        for row in first[q][:12]
    ]
    qrels = {q: {f"d{i:02}": int(rng.integers(0, 3)) for i in range(20)} for q in first}
    same = Setup({"sump": make_aggregator("sump")}, qrels, ["nDCG@10"], alpha=0.3, normalize="minmax")
    for point in by_depth(known, first, same, [3, 12], notes=Notes())[1:]:
        top = {(row.query_id, row.doc_id) for q in first for row in first[q][: point.n]}
        inside = [one for one in known if (one.query_id, one.doc_id) in top]
        options: dict[str, Any] = {"alpha": 0.3, "normalize": "minmax", "tail": "keep", "tag": "t"}
        expected = aggregate_run(inside, make_aggregator("sump"), first_stage=first, **options)
        per_query = evaluate(qrels, expected, ["nDCG@10"])["nDCG@10"]
        assert point.values["nDCG@10"] == pytest.approx(sum(per_query.values()) / 3)


def test_a_depth_that_the_evidence_does_not_reach_is_said() -> None:
    notes = Notes()
    two = run({"q": {"n": 8, "o": 7, "r": 6, "x": 5}, "p": {"a": 1}})
    by_depth(EVIDENCE, two, setup("maxp"), [2, 4], notes=notes)
    assert notes.lines() == [
        "queries without evidence, ranked as in the first stage: 1",
        "the evidence reaches the first 3 documents of each query; larger depths change nothing",
    ]


def test_gaps_in_the_evidence_are_counted_where_deeper_documents_have_evidence() -> None:
    first = run({"q": {"n": 8, "gap": 7, "y": 6}})
    by_depth([evidence("n", [5]), evidence("y", [7])], first, setup("maxp"), [1, 3], notes=(notes := Notes()))
    assert notes.lines() == ["documents among the first 3 without evidence, not reranked: 1 (first: q gap)"]


def test_documents_that_the_index_lacked_come_last_as_in_rerank() -> None:
    """x, first of the first stage, is one: it is below r, which was reranked, and no hole in the evidence."""
    first, notes = run({"q": {"x": 9, "n": 8, "r": 7, "y": 5}}), Notes()
    known = [evidence("n", [5]), evidence("y", [7])]
    for last, place in ((frozenset({"x"}), 3), (frozenset[str](), 4)):  # y, n, then r and x or x and r
        same = setup("max", first_stage=first, missing=Missing(last))
        (by_passage,) = {point.values["RR"] for point in by_passages(known, same, [1], notes=Notes())}
        assert by_passage == pytest.approx(1 / place)
    by_rank = by_depth(known[:1], first, setup("max", missing=Missing(frozenset({"x"}))), [2], notes=notes)
    assert by_rank[1].values["RR"] == pytest.approx(1 / 2)  # n, r, y, x
    assert notes.lines() == []


@pytest.mark.parametrize(
    ("evidences", "counts", "rule", "said"),
    [
        (EVIDENCE, [0], "first", "the number of passages must be at least 1"),
        (EVIDENCE, [1], "last", "unknown rule"),
        ([evidence("a", [1], document_score=1.0)], [1], "first", "cannot be recomputed with fewer passages"),
    ],
)
def test_what_cannot_be_kept_is_refused(evidences: list[Evidence], counts: list[int], rule: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        by_passages(evidences, setup("max"), counts, rule=rule, notes=Notes())


def test_depth_0_is_not_asked_for() -> None:
    with pytest.raises(InputError, match="the depth must be at least 1"):
        by_depth(EVIDENCE, FIRST, setup("max"), [0], notes=Notes())


@pytest.mark.parametrize(("aggregator", "n"), [("maxp", 1), ("document", 0)])
def test_own_scores_of_documents_that_no_aggregator_uses_are_counted(aggregator: str, n: int) -> None:
    own, first = [evidence("r", [1.0], document_score=5.0)], run({"q": {"r": 1.0}})
    by_depth(own, first, setup(aggregator), [1], notes=(notes := Notes()))
    assert notes["documents with an own score that only the aggregator 'document' uses"] == n
