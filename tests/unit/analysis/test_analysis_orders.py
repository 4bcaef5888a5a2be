"""Orders of passages, of files and of values in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evidences import evidence, write_evidence
from longrank.analysis.orders import named_sources, read_orders
from longrank.errors import InputError
from longrank.types import Notes, Query

LENGTHS = {"d": 29, "e": 5}
EVIDENCE = evidence("d", [1, 3, 2])
LINE = {"query_id": "q", "doc_id": "d", "passages": [{"start": 3, "end": 4}]}


def queries() -> list[Query]:
    return [Query("1", "who  came?"), Query("2", "who came?"), Query("3", "when?")]


def orders(source: Any, notes: Notes | None = None, **options: Any) -> Any:
    return read_orders(source, queries, LENGTHS, notes or Notes(), **options)


def test_evidence_is_ordered_by_score_and_of_a_network_by_contribution() -> None:
    assert orders([EVIDENCE]) == {("q", "d"): [(10, 19), (20, 29), (0, 9)]}
    network = evidence("d", [1, 3, 3], weights=[0.2, 0.2, 0.6], document_score=1.0)
    assert orders([network]) == {("q", "d"): [(20, 29), (0, 9), (10, 19)]}


def test_lines_find_all_queries_of_their_text() -> None:
    notes = Notes()
    lines = [{"query": "who came?", "doc_id": "d", "passages": []}, {"query": "x", "doc_id": "e", "passages": []}]
    assert orders(lines, notes) == {("1", "d"): (), ("2", "d"): ()}
    assert notes["lines of a query that the collection lacks"] == 1


def test_inputs_are_named_by_their_files() -> None:
    assert list(named_sources("a/x.jsonl")) == ["x.jsonl"]
    assert list(named_sources(["a/x", Path("b/x"), "b/y"])) == ["a/x", "b/x", "y"]
    assert named_sources({"mine": [EVIDENCE]}) == {"mine": [EVIDENCE]}
    assert named_sources([EVIDENCE]) == {"memory": [EVIDENCE]}
    assert named_sources(LINE) == {"memory": [LINE]}


@pytest.mark.parametrize(("sources", "message"), [(7, "from a int"), ([], "no evidence"), ({}, "no evidence")])
def test_no_input_is_refused(sources: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        named_sources(sources)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"doc_id": "x"}, "s.jsonl:1: the collection lacks a document of the evidence (got 'x')"),
        ({"doc_id": "e", "passages": [{"start": 0, "end": 6}]}, "a passage ends at character 6 of a document of 5"),
    ],
)
def test_evidence_of_another_collection_is_refused(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    (tmp_path / "s.jsonl").write_text(json.dumps(LINE | changed) + "\n")
    with pytest.raises(InputError) as raised:
        orders(tmp_path / "s.jsonl")
    assert message in str(raised.value)
    assert "give the collection that was searched" in str(raised.value)


def test_a_document_twice_is_refused() -> None:
    with pytest.raises(InputError, match=r"evidence:2: document occurs twice for query q \(got 'd'\)$"):
        orders([LINE, LINE])


def test_evidence_of_another_index_is_refused(tmp_path: Path) -> None:
    write_evidence(tmp_path / "e", [[EVIDENCE]])  # its collection is "c"
    assert orders(tmp_path / "e", digest="c")
    with pytest.raises(InputError, match="this evidence is of another index"):
        orders(tmp_path / "e", digest="other")
    assert orders([EVIDENCE], digest="other")  # values name no index
    (tmp_path / "s.jsonl").write_text(json.dumps(LINE) + "\n")
    notes = Notes()
    orders(tmp_path / "s.jsonl", notes, digest="other")
    assert notes.lines() == [
        f"inputs that do not name their index, so it is not compared: 1 (first: {tmp_path}/s.jsonl)"
    ]
