from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from longrank.collections.documents import places_of, read_documents
from longrank.collections.patterns import matching
from longrank.errors import InputError


def test_a_pattern_stands_for_its_files_in_the_order_of_their_names(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b.tsv", "a.tsv", "c.txt"):
        Path(name).write_text(f"{name[0]}\tDogs bark.\n")
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "deep/er/d.tsv").write_text("d\tCats purr.\n")
    assert matching("*.tsv") == ("a.tsv", "b.tsv")
    assert matching("**/*.tsv") == ("a.tsv", "b.tsv", "deep/er/d.tsv")
    assert places_of(["[ab].tsv", "c.txt"]) == ("a.tsv", "b.tsv", "c.txt")
    assert [document.doc_id for document in read_documents("?.tsv")] == ["a", "b"]


def test_a_file_may_have_the_name_of_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "a[1].tsv").touch()
    (tmp_path / "a1.tsv").touch()
    assert matching(str(tmp_path / "a[1].tsv")) == (str(tmp_path / "a[1].tsv"),)


@pytest.mark.parametrize("pattern", ["docs/*/*.txt", "docs/**/*.txt", "**/*.txt", "docs/*/deep/c.txt"])
def test_a_folder_that_cannot_be_read_does_not_count_as_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    """An update would delete its documents. Tests may run as root, who may read all folders."""
    monkeypatch.chdir(tmp_path)
    for name in ("a/a.txt", "b/b.txt", "b/deep/c.txt"):
        Path("docs", name).parent.mkdir(parents=True, exist_ok=True)
        Path("docs", name).touch()
    before = matching(pattern)

    def refusing(call: Any) -> Any:
        def refused(path: Any, **options: Any) -> Any:
            if os.fspath(path).startswith("docs/b/") or os.fspath(path) == "docs/b":
                raise PermissionError(13, "Permission denied", path)
            return call(path, **options)

        return refused

    with monkeypatch.context() as locked:
        locked.setattr(os, "scandir", refusing(os.scandir))
        locked.setattr(os, "lstat", refusing(os.lstat))
        with pytest.raises(InputError, match=r"docs/b/: cannot be read: Permission denied; make the folder readable"):
            matching(pattern)
        assert matching("docs/a*/*.txt") == ("docs/a/a.txt",)
        assert matching("docs/*") == ("docs/a", "docs/b")
    assert matching(pattern) == before


def test_a_pattern_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file or folder matches .got '\S+/\*\.tsv'."):
        matching(str(tmp_path / "*.tsv"))
