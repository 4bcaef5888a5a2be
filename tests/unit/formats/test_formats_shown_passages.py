"""JSONL of shown passages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evidences import evidence, write_evidence
from longrank.errors import InputError
from longrank.formats.shown_passages import is_evidence_file, read_shown_passages
from longrank.types import Notes


def line(**values: Any) -> dict[str, Any]:
    return {"query_id": "q", "doc_id": "d", "passages": [{"start": 0, "end": 5}], **values}


def test_the_order_of_the_list_counts(tmp_path: Path) -> None:
    passages = [{"start": 9, "end": 12, "score": 1.0}, {"start": 0, "end": 5, "score": 2, "text": "ignored"}]
    notes = Notes()
    (tmp_path / "s.jsonl").write_text(json.dumps(line(passages=passages)) + "\n")
    (shown,) = read_shown_passages(tmp_path / "s.jsonl", notes)
    assert shown == ("q", None, "d", ((9, 12), (0, 5)), 1)
    assert "not in the order of their scores; the order of the list counts: 1" in notes.lines()[0]


def test_a_query_is_an_id_or_a_text() -> None:
    by_text = {"query": "who?", "doc_id": 7, "passages": []}
    assert list(read_shown_passages([line(query_id=3), by_text], Notes())) == [
        ("3", None, "d", ((0, 5),), 1),
        (None, "who?", "7", (), 2),
    ]


def test_evidence_files_are_told_from_lines(tmp_path: Path) -> None:
    write_evidence(tmp_path / "e", [[evidence("d", [1])]])
    (tmp_path / "s").write_text(json.dumps(line()) + "\n")
    assert (is_evidence_file(tmp_path / "e"), is_evidence_file(tmp_path / "s")) == (True, False)
    with pytest.raises(InputError, match="no such file"):
        is_evidence_file(tmp_path / "x")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([1], "evidence:1: is no JSON object"),
        (line(query_id=None), "has neither 'query_id' nor 'query'"),
        ({"query_id": "q", "passages": []}, "has no 'doc_id'"),
        (line(passages=None), "'passages' is no list"),
        (line(passages=[[0, 5]]), "a passage is no object with 'start' and 'end'"),
        (line(passages=[{"start": 5, "end": 4}]), "a passage has no offsets with 0 <= start <= end"),
        (line(passages=[{"start": 0.0, "end": 4}]), "a passage has no offsets with 0 <= start <= end"),
    ],
)
def test_a_fault_names_its_line(record: Any, message: str) -> None:
    with pytest.raises(InputError) as raised:
        list(read_shown_passages([record], Notes()))
    assert message in str(raised.value)
    assert "best passage first" in str(raised.value)
