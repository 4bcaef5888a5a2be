"""What was spilled is found again, by every key, in its order."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from longrank.index import spill
from longrank.index.spill import Spill, SpillWriter


def spilled(folder: Path, strings: list[tuple[bytes, tuple[str, ...]]]) -> Spill:
    with SpillWriter(folder) as writer:
        for string, keys in strings:
            writer.add(string, keys)
    return Spill(folder, writer.ends)


@pytest.mark.parametrize("run", [1, 7, 1000])
def test_every_key_finds_its_strings_in_the_order_they_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: int
) -> None:
    monkeypatch.setattr(spill, "_RUN", run)
    rng = random.Random(1)
    strings = [(f"string {i}".encode(), tuple(f"k{rng.randrange(20)}" for _ in range(i % 3))) for i in range(100)]
    found = spilled(tmp_path / "spill", strings)
    keys = [f"k{i}" for i in range(25)]
    expected = [[i for i, (_, own) in enumerate(strings) for one in own if one == key] for key in keys]
    assert found.find(keys) == expected
    assert list(found) == [string for string, _ in strings]


def test_nothing_spilled_is_nothing_found(tmp_path: Path) -> None:
    empty = spilled(tmp_path / "spill", [])
    assert empty.find(["a", "b"]) == [[], []]
    assert len(empty) == 0


def test_what_is_removed_leaves_nothing_on_the_disk(tmp_path: Path) -> None:
    spilled(tmp_path / "spill", [(b"x", ("a",))]).remove()
    assert list(tmp_path.iterdir()) == []
