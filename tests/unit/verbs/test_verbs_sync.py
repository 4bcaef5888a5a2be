"""An index is kept equal to folders of files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from longrank.errors import InputError
from longrank.index import Index
from longrank.verbs.sync import sync, watched


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("Dogs bark.")
    (folder / "b.txt").write_text("Cats purr.")
    return folder


def test_the_first_sync_builds_and_later_syncs_update(folder: Path, tmp_path: Path) -> None:
    index = tmp_path / "notes.index"
    assert sync([folder], index) == ([str(folder / "a.txt"), str(folder / "b.txt")], [], [], 2, 0)
    (folder / "a.txt").unlink()
    (folder / "b.txt").write_text("Cats meow.")
    (folder / "c.txt").write_text("Cows moo.")
    changes = sync([folder], index)
    assert changes == ([str(folder / "c.txt")], [str(folder / "b.txt")], [str(folder / "a.txt")], 2, 2)
    assert [(document.doc_id, document.text) for document in Index(index)] == [
        ("b.txt", "Cats meow."),
        ("c.txt", "Cows moo."),
    ]
    assert not any(sync([folder], index))


def test_other_sources_are_refused(folder: Path, tmp_path: Path) -> None:
    sync([folder], tmp_path / "index")
    other = tmp_path / "other"
    other.mkdir()
    (other / "d.txt").write_text("Pigs grunt.")
    with pytest.raises(InputError, match="was built from other sources") as caught:
        sync([folder, other], tmp_path / "index")
    assert f"longrank sync {folder} -o" in str(caught.value)
    assert len(Index(tmp_path / "index")) == 2


@pytest.mark.parametrize("inside", ["index", "below/index", "."])
def test_an_index_inside_its_source_is_refused(folder: Path, inside: str) -> None:
    with pytest.raises(InputError, match="lies inside its source"):
        sync([folder], folder / inside)
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt", "b.txt"]


def test_a_missing_source_is_refused_and_deletes_nothing(folder: Path, tmp_path: Path) -> None:
    sync([folder], tmp_path / "index")
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="no such file or folder"):
        sync([folder], tmp_path / "index")
    assert len(Index(tmp_path / "index")) == 2


@pytest.mark.timeout(60)
def test_a_watch_that_fails_ends_with_its_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def watch(*places: Path, **options: object) -> Iterator[set[tuple[object, str]]]:
        yield {(1, "a.txt")}
        raise OSError("OS file watch limit reached")

    monkeypatch.setattr("longrank.verbs.sync.load_watch", lambda: watch)
    moments = watched([folder])
    next(moments)
    with pytest.raises(OSError, match="file watch limit"):
        next(moments)


@pytest.mark.timeout(60)
def test_watching_yields_at_once_and_after_each_change(folder: Path) -> None:
    pytest.importorskip("watchfiles")
    moments = watched([folder])
    next(moments)
    (folder / "c.txt").write_text("Cows moo.")
    next(moments)
    (folder / "c.txt").unlink()
    next(moments)
