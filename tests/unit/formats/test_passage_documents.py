from __future__ import annotations

from pathlib import Path

import pytest

from longrank.errors import InputError
from longrank.formats.passage_documents import read_passage_documents
from longrank.types import Notes


def test_only_wanted_passages_are_kept_and_lines_may_repeat(tmp_path: Path) -> None:
    (tmp_path / "m.tsv").write_text("7\tD1\n8\tD1\n9\tD2\n7\tD1\n")
    assert read_passage_documents(tmp_path / "m.tsv", {"7", "9", "11"}, Notes()) == {"7": "D1", "9": "D2"}


@pytest.mark.parametrize(
    ("text", "said"),
    [("7\tD1\n7\tD2\n", r"m.tsv:2: passage 7 has two documents: D1.*\(got 'D2'\)"), ("7\n", "m.tsv:1: ")],
)
def test_a_passage_of_two_documents_or_of_none_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "m.tsv").write_text(text)
    with pytest.raises(InputError, match=said):
        read_passage_documents(tmp_path / "m.tsv", {"7"}, Notes())
