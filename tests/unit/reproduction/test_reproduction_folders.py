"""What tells that the documents of a reproduction have changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from longrank.reproduction import folders
from longrank.reproduction.folders import state_of

MEGABYTE = 1 << 20


@pytest.mark.parametrize("place", [0, MEGABYTE + 5, 2 * MEGABYTE, 3 * MEGABYTE - 1])
def test_a_byte_that_changes_anywhere_is_noticed(tmp_path: Path, place: int) -> None:
    path, content = tmp_path / "docs.jsonl", bytearray(3 * MEGABYTE)
    path.write_bytes(content)
    before = state_of([path])
    content[place] = 1
    path.write_bytes(content)
    assert state_of([path]) != before


def test_of_a_large_file_the_time_of_a_change_counts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "_WHOLE", 2 * MEGABYTE)
    path, packed = tmp_path / "docs.jsonl", tmp_path / "docs.jsonl.gz"  # a .gz file ends in a checksum of all
    for each in (path, packed):
        each.write_bytes(bytes(3 * MEGABYTE))
        os.utime(each, ns=(0, 10))
    before = [state_of([each]) for each in (path, packed)]
    for each in (path, packed):
        os.utime(each, ns=(0, 20))
    assert [state_of([each]) == then for each, then in zip((path, packed), before, strict=True)] == [False, True]
