"""Files that are read whole are refused by their size, before they are read."""

from __future__ import annotations

import gzip
import random
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from longrank.config import read_toml
from longrank.errors import InputError, LongRankError
from longrank.formats.folds import read_folds
from longrank.formats.lines import read_lines
from longrank.formats.queries import read_queries
from longrank.networks.model_files import find_model
from longrank.ranking.calibration import read_calibration
from longrank.small_files import check_path, read_small, size_text
from longrank.storage import MANIFEST, read_header, read_manifest
from longrank.storage.workplace import read_json
from longrank.types import Notes

_GIB = 1 << 30


def _sparse(path: Path, size: int = 2 * _GIB) -> Path:
    """A file of `size` bytes that takes no space: all are zero."""
    with path.open("wb") as stream:
        stream.truncate(size)
    return path


@pytest.fixture
def memory() -> Iterator[Callable[[], int]]:
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


_READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "settings": ("pipeline.toml", read_toml),
    "folds": ("folds.json", lambda path: read_folds(path, Notes())),
    "topics": ("topics.jsonl", lambda path: read_queries(path, Notes())),
    "topics as XML": ("topics.xml", lambda path: read_queries(path, Notes())),
    "calibration": ("c.json", read_calibration),
    "record": ("record.json", read_json),
    "manifest": (MANIFEST, lambda path: read_manifest(path.parent)),
    "model": ("config.json", lambda path: find_model(str(path.parent))),
    "tokenizer": ("tokenizer.json", lambda path: find_model(str(path.parent))),
}


@pytest.mark.parametrize("kind", _READERS)
def test_a_file_of_two_gigabytes_is_refused_unread(kind: str, tmp_path: Path, memory: Callable[[], int]) -> None:
    name, read = _READERS[kind]
    path = _sparse(tmp_path / name)
    with pytest.raises(LongRankError, match=r"is larger than \d+ MiB, the limit of ") as error:
        read(path)
    assert str(path) in str(error.value)
    assert memory() < 4 << 20


def test_an_evidence_header_is_read_up_to_its_limit(tmp_path: Path, memory: Callable[[], int]) -> None:
    with pytest.raises(InputError, match="does not begin with a JSON header line"):
        read_header(_sparse(tmp_path / "run.evidence"))
    assert memory() < 64 << 20


def test_a_file_may_be_as_long_as_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345678")
    assert read_small(path, 8) == b"12345678"
    with pytest.raises(InputError, match="is larger than 0 MiB, the limit of this kind of file"):
        read_small(path, 7)


def test_a_pipe_is_read_up_to_the_limit_too(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="larger than 1 MiB"):
        read_small(Path("/dev/zero"), 1 << 20)


def test_packed_topics_count_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "folds.json.gz"
    path.write_bytes(gzip.compress(random.Random(0).randbytes(1 << 20).hex().encode(), 1) * 33)  # 66 MiB unpacked
    with pytest.raises(InputError, match="larger than 64 MiB"):
        read_folds(path, Notes())


def test_lines_of_nothing_are_refused_after_16_mib(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl.gz"
    path.write_bytes(gzip.compress((b" " * 127 + b"\n") * (20 << 13), 9))  # 20 MiB; as many empty lines take seconds
    with pytest.raises(InputError, match="unpacks to more than 200 times its size") as error:
        for _ in read_lines(path, Notes()):
            pass
    assert "--max-ratio" in str(error.value)


def test_a_path_that_cannot_be_looked_up_is_refused_and_an_absent_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "round").symlink_to("round")
    for name in (".", "file", "no", "no/no", "file/no", "round", "a\x00b"):
        check_path(tmp_path / name)
    with pytest.raises(OSError, match="File name too long"):
        check_path(tmp_path / ("x" * 300))


@pytest.mark.parametrize(
    ("n_bytes", "text"), [(0, "0 KiB"), (3000, "2 KiB"), ((10 << 20) - 1, "10239 KiB"), (10 << 20, "10 MiB")]
)
def test_small_sizes_are_not_rounded_to_nothing(n_bytes: int, text: str) -> None:
    assert size_text(n_bytes) == text
