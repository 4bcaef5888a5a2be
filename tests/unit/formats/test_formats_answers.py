"""Answers of JSONL queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from longrank.errors import InputError
from longrank.formats.answers import read_answers
from longrank.types import Notes


def test_queries_without_answers_are_left_out(tmp_path: Path) -> None:
    lines = ['{"query_id": 1, "text": "a", "answers": ["x", "y"]}', '{"_id": "2", "answers": []}', '{"_id": "3"}']
    (tmp_path / "q.jsonl").write_text("\n".join(lines))
    assert read_answers(tmp_path / "q.jsonl", Notes()) == {"1": ("x", "y")}


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ('"x"', ":1: 'answers' is no list of texts (got 'x')"),
        ("[7]", ":1: 'answers' is no list of texts (got [7])"),
        ('["x", " "]', ":1: an answer is empty"),
    ],
)
def test_a_fault_names_its_line(tmp_path: Path, answers: str, message: str) -> None:
    (tmp_path / "q.jsonl").write_text(f'{{"query_id": "1", "answers": {answers}}}\n')
    with pytest.raises(InputError) as raised:
        read_answers(tmp_path / "q.jsonl", Notes())
    assert message in str(raised.value)
