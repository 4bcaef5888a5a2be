"""longrank.analyze on values in memory; the figures are those of the commands' tests."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evidences import evidence, run, write_evidence
from longrank.errors import InputError
from longrank.formats.evidence import COMPARED, STOPPED, EvidenceWriter, evidence_header
from longrank.ranking.cascade import Budget, CheapSelector
from longrank.types import Document, Notes
from longrank.verbs.analyze import analyze

QRELS = {"1": {"d1": 2, "d3": 0, "d9": 1}}
FIRST, SECOND = run({"1": {"d2": 3, "d1": 2, "d3": 1}}, tag="first"), run({"1": {"d1": 3, "d2": 2}}, tag="second")
EVIDENCE = [
    evidence("d2", [3, 1], query_id="1", first_stage=3.0),
    evidence("d1", [2, 8, 1], query_id="1", first_stage=2.0),
]
DOCUMENTS = [Document("d1", "", "the river and the boat"), Document("d2", "", "money"), Document("d3", "", "war")]


def test_positions_refuse_evidence_of_early_stopping_and_count_documents_of_a_run_without_evidence(
    tmp_path: Path,
) -> None:
    header = evidence_header(
        unit="u", scorer="s", collection="c", queries="q", n_queries=1, candidates="d", options={STOPPED: "maxp"}
    )
    with EvidenceWriter(tmp_path / "stopped", header) as writer:
        writer.write_query("1", EVIDENCE)
        writer.commit()
    with pytest.raises(InputError, match="early stopping left this evidence incomplete"):
        analyze.positions(tmp_path / "stopped")
    found = analyze.positions(EVIDENCE, top=[1, 3], run=run({"1": {"d1": 3, "d2": 2, "d3": 1}, "2": {"d1": 1}}))
    assert [found.values[f"first {k}"].documents for k in (1, 3)] == [1, 2]
    assert found.notes.lines() == ["documents of the run's first 3 without evidence, left out: 1"]


def test_positions_count_queries_that_a_run_or_the_judgments_lack() -> None:
    records = [*EVIDENCE, replace(EVIDENCE[0], query_id="2")]
    found = analyze.positions(records, qrels=QRELS, top=1, run=run({"1": {"d1": 3, "d2": 2}}))
    assert found.values["first 1"].documents == 1
    assert found.notes.lines() == [
        "queries without judgments, left out of the relevant: 1 (first: 2)",
        "queries that the run lacks, left out of its first documents: 1 (first: 2)",
    ]


def test_scores_of_a_comparison_are_said_to_be_those_of_all_compared_documents(tmp_path: Path) -> None:
    compared = [[replace(document, document_score=score) for document, score in zip(EVIDENCE, (1, 2), strict=True)]]
    for options in ({}, {COMPARED: True}):
        path = tmp_path / f"e{len(options)}"
        write_evidence(path, compared, **options)
        for aggregator in ("maxp", "document"):
            notes = Notes()
            analyze.depth(path, FIRST, QRELS, [1, 2], aggregators=aggregator, notes=notes)
            said = ["scores of a comparison stay those of all compared documents: for other numbers, compare again"]
            unused = ["documents with an own score that only the aggregator 'document' uses: 2 (first: d2)"]
            assert notes.lines() == ((said if options else []) if aggregator == "document" else unused)


@pytest.mark.parametrize(
    ("budget", "shared"), [(Budget(2), False), (Budget(2, pooled=True), True), (Budget(per_query=9), True)]
)
def test_evidence_of_a_budget_per_query_is_said_to_be_of_its_depth(
    tmp_path: Path, budget: Budget, shared: bool
) -> None:
    scorer: Any = SimpleNamespace(fingerprint="lexical k1=0.9")
    selector = CheapSelector("bm25", [scorer], budget)
    write_evidence(tmp_path / "e", [EVIDENCE], scorer=f"cross-encoder | tokens(length=9) | {selector.fingerprint}")
    notes = analyze.depth(tmp_path / "e", FIRST, QRELS, [1]).notes
    said = ["the documents of a query shared their passages: with fewer documents, rerank scores other passages"]
    assert notes.lines() == (said if shared else [])


def test_queries_without_a_tau_are_counted() -> None:
    found = analyze.agreement(
        {"x": {"1": {"a": 2.0, "b": 1.0}, "2": {"a": 1.0}}, "y": {"1": {"a": 1.0, "b": 0.5}, "2": {"c": 1.0}}}
    )
    said = "1 of 2 queries of x and y have fewer than two documents in common, and no tau: its mean is of the others"
    assert said in found.notes.lines()


def test_each_analysis_takes_values_and_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert analyze.deltas(QRELS, SECOND, FIRST, "RR").values.wins == 1
    assert analyze.judged(QRELS, [FIRST, SECOND], [1]).values == {"first": {1: 0.0}, "second": {1: 1.0}}
    assert analyze.judged(QRELS, [FIRST, SECOND], cutoffs=1).values["second"] == {1: 1.0}
    assert analyze.positions(EVIDENCE, top=np.int64(1)).values.keys() == {"all reranked", "first 1"}
    (pair,) = analyze.agreement({"x": FIRST, "y": SECOND}, k=1).values
    assert (pair.one, pair.other, pair.means["tau"], pair.means["overlap"]) == ("x", "y", -1, 0)
    assert analyze.positions(EVIDENCE, qrels=QRELS).values["relevant"].first == 0
    points = analyze.sentences(EVIDENCE, QRELS, [1, 2], first_stage=FIRST, measures="RR", aggregators=["max"]).values
    assert [(point.n, point.values["RR"]) for point in points] == [(1, 0.5), (2, 1.0), (None, 1.0)]
    points = analyze.depth(EVIDENCE, FIRST, QRELS, 1, weights=np.array([1.0]), aggregators="birch").values
    assert [point.n for point in points] == [0, 1]
    points = analyze.depth(EVIDENCE, FIRST, QRELS, [1, 2], measures=["RR"]).values
    assert [point.values["RR"] for point in points] == [0.5, 0.5, 1.0]
    counted = analyze.collection(DOCUMENTS, {"1": "river boat"}, QRELS, show_text=True)
    assert (counted.values["documents"].n, counted.values["judgments"].missing) == (3, ("d9",))
    assert "document d1: the river and the boat" in repr(counted)
    passages = analyze.relevant_passages({"1": {"7": 1, "8": 1}}, mapping={"7": "d1", "8": "d1"})
    with pytest.raises(InputError, match="`separator` has no effect beside `mapping`"):
        analyze.relevant_passages({"1": {"7": 1}}, mapping={"7": "d1"}, separator="_")
    assert passages.values.counts == {2: 1}
    assert capsys.readouterr() == ("", "")


def test_an_analysis_is_written_as_json(tmp_path: Path) -> None:
    found = analyze.deltas(QRELS, SECOND, FIRST, "RR")
    found.write(tmp_path / "d.json")
    written = json.loads((tmp_path / "d.json").read_text())
    assert (written["run"], written["measure"], written["wins"]) == ("memory", "RR", 1)
    assert repr(found).startswith("RR: 1 wins, 0 ties, 0 losses")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: analyze.collection(7), "no documents can be read from a int"),
        (lambda: analyze.agreement([FIRST]), "agreement needs two runs or more"),
        (lambda: analyze.positions(7), "no evidence can be read from a int"),
        (lambda: analyze.depth(EVIDENCE, 7, QRELS), "no run can be read from a int"),
        (lambda: analyze.judged(QRELS, FIRST, 0), "a cutoff must be 1 or more"),
        (lambda: analyze.depth(EVIDENCE, FIRST, QRELS, "5"), "a depth must be an integer, 0 or more"),
        (lambda: analyze.deltas(7, FIRST, SECOND), "no judgments can be read from a int"),
    ],
)
def test_a_wrong_type_is_one_sentence(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
