"""Whatever bytes a file holds, a reader returns or raises a declared error, and nothing else."""

from __future__ import annotations

import contextlib
import gzip
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.edits import hostile
from fuzz.seeds import seed
from fuzz.targets import DECLARED, EXTRAS, TARGETS, file_name
from longrank.types import Notes
from slow_values import slow

QUICK = [40, *slow(400)]
"""Examples of each reader; `make fuzz` runs the same readers for as long as you say."""
TEXT = [name for name in TARGETS if name == "queries" or name.startswith("queries: ")]
PACKED = [*TEXT, "qrels", "run", "folds", "expansions"]


def target(name: str) -> str:
    if name in EXTRAS and find_spec(EXTRAS[name]) is None:
        pytest.skip(f"needs {EXTRAS[name]}")
    return name


def valid(name: str, folder: Path) -> bytes:
    return seed("queries: tsv" if name == "queries" else name, folder)


@pytest.mark.parametrize("name", TARGETS)
def test_fuzzing_begins_at_a_file_that_is_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / file_name(target(name))
    path.write_bytes(valid(name, tmp_path))
    assert TARGETS[name](path, Notes())


@pytest.mark.parametrize("examples", QUICK)
@pytest.mark.parametrize("name", TARGETS)
def test_only_a_declared_error_escapes(name: str, examples: int, tmp_path: Path) -> None:
    path = tmp_path / file_name(target(name))

    @settings(max_examples=examples, deadline=None, database=None)
    @given(content=hostile(valid(name, tmp_path)))
    def read(content: bytes) -> None:
        path.write_bytes(content)
        with contextlib.suppress(*DECLARED):
            TARGETS[name](path, Notes())

    read()


@pytest.mark.parametrize("name", PACKED)
def test_only_a_declared_error_escapes_from_damaged_gzip(name: str, tmp_path: Path) -> None:
    path = tmp_path / "fuzzed.gz"
    packed = gzip.compress(valid(name, tmp_path), mtime=0)

    @settings(max_examples=30, deadline=None, database=None)
    @given(content=st.one_of(st.binary(max_size=60).map(lambda end: b"\x1f\x8b\x08\x00" + end), hostile(packed)))
    def read(content: bytes) -> None:
        path.write_bytes(content)
        with contextlib.suppress(*DECLARED):
            TARGETS[name](path, Notes())

    read()
