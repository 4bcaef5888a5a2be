"""Temporary files of killed processes are removed; those of living processes stay."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from longrank.errors import LongRankError
from longrank.storage import atomic_write, files
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


def test_files_of_other_names_stay(tmp_path: Path) -> None:
    names = [".record.jso.abcdefgh.tmp", "record.json.abcdefgh.tmp", ".record.json.abc.tmp", ".record.json.tmp"]
    for name in names:
        (tmp_path / name).touch()
    with atomic_write(tmp_path / "record.json", "w"):
        pass
    assert {entry.name for entry in tmp_path.iterdir()} == {*names, "record.json"}


def test_a_folder_that_cannot_take_its_place_leaves_the_old_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights").write_text("old")
    rename = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
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
