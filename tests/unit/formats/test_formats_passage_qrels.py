"""Judgments of passages by number and by span."""

from __future__ import annotations

from pathlib import Path

import pytest

from longrank.errors import InputError
from longrank.formats.passage_qrels import read_passage_judgments
from longrank.types import Notes


def read(tmp_path: Path, text: str, notes: Notes | None = None) -> list[tuple[object, ...]]:
    (tmp_path / "p").write_text(text)
    return [row[:4] + row[5:] for row in read_passage_judgments(tmp_path / "p", notes or Notes())]


def test_a_passage_is_a_number_after_the_last_sharp(tmp_path: Path) -> None:
    assert read(tmp_path, "q 0 a\u00a0b#3 1\n") == [("q", "a\u00a0b", 3, 1, 1)]
    assert read(tmp_path, "q 0 d#3 1\nq 0 a#b#0 0\n") == [("q", "d", 3, 1, 1), ("q", "a#b", 0, 0, 2)]


def test_five_columns_are_spans(tmp_path: Path) -> None:
    rows = read(tmp_path, "# query doc start end grade\n\nq d 0 12 2\nq d 5 9 -1\n")
    assert rows == [("q", "d", (0, 12), 2, 3), ("q", "d", (5, 9), -1, 4)]


def test_a_repeated_judgment_is_counted(tmp_path: Path) -> None:
    notes = Notes()
    assert len(read(tmp_path, "q d 0 12 2\nq d 0 12 2\n", notes)) == 1
    assert notes["repeated judgments with the same grade"] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q 0 d 1\n", ":1: passage id has no number (got 'd'); a passage id is the document's id, # and"),
        ("q 0 d#x 1\n", ":1: passage id has no number (got 'd#x')"),
        (f"q 0 d#{'9' * 30} 1\n", ":1: passage id has no number"),
        ("q 0 #1 1\n", ":1: passage id has no number (got '#1')"),
        ("q d 0 1.5 1\n", ":1: end is not an integer (got '1.5')"),
        ("q d 0 5 1\nq 0 d#1 1\n", ":2: 4 columns instead of 5"),
        ("q 0 d#1 1\nq 0 d#1 2\n", ":2: passage is judged twice for query q: 1 on line 1, 2 here (got 'd 1')"),
        ("q 0 d#1 300\n", ":1: grade is beyond 127"),
        ("# nothing\n", "holds no judgment"),
    ],
)
def test_a_fault_names_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        read(tmp_path, text)
    assert message in str(raised.value)
