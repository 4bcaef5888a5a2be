"""Temporary files of killed processes are removed; those of living processes stay."""

from __future__ import annotations

import ctypes
import errno
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from longrank.errors import LongRankError
from longrank.storage import atomic_write, files, folders, seal
from longrank.storage.folders import atomic_folder

_HOLD = """
import sys, time
from pathlib import Path
from longrank.storage import atomic_write
from longrank.storage.folders import atomic_folder
with {open}(Path(sys.argv[1])):
    print("ready", flush=True)
    time.sleep(60)
"""


def _holding(path: Path, open: str) -> subprocess.Popen[str]:
    """A process in the midst of writing `path`."""
    code = _HOLD.format(open=open)
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def _end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


@pytest.mark.parametrize("open", ["atomic_write", "atomic_folder"])
def test_remains_of_a_killed_process_go_with_the_next_write(open: str, tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    process = _holding(path, open)
    (left,) = tmp_path.iterdir()
    write = {"atomic_write": atomic_write, "atomic_folder": atomic_folder}[open]
    with write(path):
        assert len(list(tmp_path.iterdir())) == 2  # the other process lives
    assert left.exists()
    _end(process)
    assert left.exists()
    with write(path):
        assert not left.exists()
    assert [entry.name for entry in tmp_path.iterdir()] == ["record.json"]


def test_the_only_copy_of_a_replaced_folder_is_kept(tmp_path: Path) -> None:
    left = tmp_path / ".model.abcdefgh.tmp"
    (left / "old").mkdir(parents=True)
    with pytest.raises(KeyError), atomic_folder(tmp_path / "model"):
        raise KeyError
    assert (left / "old").is_dir()


@pytest.mark.parametrize("name", ["a" * 50, "a" * 249, "文" * 80])
def test_the_only_copy_of_a_folder_outlives_writes_of_names_that_begin_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(folders, "exchange", lambda one, other: False)
    with atomic_folder(tmp_path / f"{name}1"):
        pass
    killed = subprocess.run([sys.executable, "-c", _KILLED, tmp_path / f"{name}1"], timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    for _ in range(2):
        with atomic_folder(tmp_path / f"{name}2"):
            pass
    assert (left / "old").is_dir()


_KILLED = """
import os, signal, sys
from pathlib import Path
from longrank.storage import folders
folders.exchange = lambda one, other: False
renaming = Path.rename
def rename(self, target):
    if self.name == "new":
        os.kill(os.getpid(), signal.SIGKILL)
    return renaming(self, target)
Path.rename = rename
with folders.atomic_folder(Path(sys.argv[1])):
    pass
"""


def test_files_of_other_names_stay(tmp_path: Path) -> None:
    names = [".record.jso.abcdefgh.tmp", "record.json.abcdefgh.tmp", ".record.json.abc.tmp", ".record.json.tmp"]
    for name in names:
        (tmp_path / name).touch()
    with atomic_write(tmp_path / "record.json", "w"):
        pass
    assert {entry.name for entry in tmp_path.iterdir()} == {*names, "record.json"}


@pytest.mark.parametrize("exchanges", [True, False])
def test_a_folder_that_cannot_take_its_place_leaves_the_old_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanges: bool
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights").write_text("old")
    rename = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise OSError(5, "Input/output error")
        return rename(self, target)

    def refuse_exchange(one: Path, other: Path) -> bool:
        if exchanges:
            raise OSError(5, "Input/output error")
        return False

    monkeypatch.setattr(Path, "rename", refuse)
    monkeypatch.setattr(folders, "exchange", refuse_exchange)
    with pytest.raises(LongRankError, match="Input/output error"), atomic_folder(folder) as new:
        (new / "weights").write_text("new")
    assert (folder / "weights").read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_an_error_after_the_rename_says_that_the_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(files, "sync_folder", refuse)
    path = tmp_path / "record.json"
    with pytest.raises(LongRankError, match="is written, but a power cut may undo it"), atomic_write(path) as stream:
        stream.write(b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOSYS, 0])
def test_a_system_without_an_exchange_of_names_replaces_a_folder_by_two_renames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(one: bytes, other: bytes) -> int:
        ctypes.set_errno(number)
        return -1

    monkeypatch.setattr(folders, "_exchanging", lambda: refuse if number else None)
    for content in ("old", "new"):
        with atomic_folder(tmp_path / "model") as new:
            (new / "weights").write_text(content)
        assert (tmp_path / "model" / "weights").read_text() == content
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_an_exchange_of_names_that_fails_says_why(tmp_path: Path) -> None:
    if folders._exchanging() is None:
        pytest.skip("the system has no exchange of names")
    with pytest.raises(FileNotFoundError, match="other"):
        folders.exchange(tmp_path / "one", tmp_path / "other")


def test_a_file_that_cannot_be_synced_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    (tmp_path / "weights").write_text("new")
    monkeypatch.setattr(files, "sync", refuse)
    with pytest.raises(LongRankError, match="weights: Input/output error"):
        seal(tmp_path, "model")
