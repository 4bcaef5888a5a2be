"""Folders that are whole or absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from longrank.errors import InputError, LongRankError
from longrank.storage import folders
from longrank.storage.folders import atomic_folder


def write(folder: Path, **files: str) -> None:
    with atomic_folder(folder) as new:
        for name, text in files.items():
            (new / name).write_text(text)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_folder_appears_when_the_block_ends(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "new") as work:
        (work / "a").write_text("1")
        assert not (tmp_path / "new").exists()
    assert contents(tmp_path / "new") == {"a": "1"}
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_a_block_that_fails_leaves_the_old_folder_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "f", a="old")
    with pytest.raises(RuntimeError), atomic_folder(tmp_path / "f") as work:
        (work / "a").write_text("new")
        raise RuntimeError
    assert contents(tmp_path / "f") == {"a": "old"}
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_what_the_system_refuses_a_library_in_rust_is_said_in_its_words(tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy")
    with (
        pytest.raises(LongRankError, match=r"cannot write .*f: Is a directory$"),
        atomic_folder(tmp_path / "f") as work,
    ):
        (work / "weights").mkdir()
        numpy.save_file({}, work / "weights")


def test_an_error_about_a_file_that_is_read_stays_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^cannot be read: .os error 2.$"), atomic_folder(tmp_path / "f"):
        raise InputError("cannot be read: (os error 2)")


def test_a_folder_with_the_same_files_is_replaced(tmp_path: Path) -> None:
    write(tmp_path / "f", a="old")
    write(tmp_path / "f", a="new", b="more")
    assert contents(tmp_path / "f") == {"a": "new", "b": "more"}


def test_a_folder_with_other_files_is_kept(tmp_path: Path) -> None:
    write(tmp_path / "f", a="old", mine="precious")
    with pytest.raises(InputError, match=r"holds other files, which would be deleted \(got 'mine'\)"):
        write(tmp_path / "f", a="new")
    assert contents(tmp_path / "f") == {"a": "old", "mine": "precious"}


@pytest.mark.parametrize("before", [False, True])
def test_files_that_come_while_a_new_folder_is_written_are_kept(tmp_path: Path, before: bool) -> None:
    if before:
        (tmp_path / "f").mkdir()
    with (
        pytest.raises(InputError, match=r"holds other files, which would be deleted \(got 'a'\)"),
        atomic_folder(tmp_path / "f", replace=False) as work,
    ):
        (work / "a").write_text("new")
        write(tmp_path / "f", a="mine")
    assert contents(tmp_path / "f") == {"a": "mine"}
    (tmp_path / "f" / "a").unlink()
    with atomic_folder(tmp_path / "f", replace=False) as work:
        (work / "a").write_text("new")
    assert contents(tmp_path / "f") == {"a": "new"}


def test_files_that_come_after_the_names_were_checked_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = folders._take_free_place

    def late(new: Path, folder: Path) -> None:
        write(folder, a="mine")
        real(new, folder)

    monkeypatch.setattr(folders, "_take_free_place", late)
    with (
        pytest.raises(InputError, match=r"holds other files, which would be deleted \(got 'a'\)"),
        atomic_folder(tmp_path / "f", replace=False) as work,
    ):
        (work / "a").write_text("new")
    assert contents(tmp_path / "f") == {"a": "mine"}


def test_a_folder_with_other_files_in_a_folder_of_the_same_name_is_kept(tmp_path: Path) -> None:
    mine = tmp_path / "f" / "pooling" / "notes.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("years of work")
    message = r"holds other files, which would be deleted \(got 'pooling/notes.txt'\)"
    with pytest.raises(InputError, match=message), atomic_folder(tmp_path / "f") as new:
        (new / "pooling").mkdir()
        (new / "pooling" / "config.json").write_text("{}")
    assert mine.read_text() == "years of work"


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    write(tmp_path / "real", a="old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write(tmp_path / "link", a="new")
    assert (tmp_path / "link").is_symlink()
    assert contents(tmp_path / "real") == {"a": "new"}


def test_places_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its folder does not exist"):
        write(tmp_path / "no" / "f", a="1")
    (tmp_path / "file").write_text("1")
    with pytest.raises(InputError, match="is a file; a folder is needed"):
        write(tmp_path / "file", a="1")


def test_a_write_that_fails_is_a_run_time_error(tmp_path: Path) -> None:
    with pytest.raises(LongRankError, match="cannot write"), atomic_folder(tmp_path / "f"):
        raise OSError(28, "No space left on device")
    assert not list(tmp_path.iterdir())
