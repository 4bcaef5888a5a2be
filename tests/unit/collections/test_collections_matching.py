from __future__ import annotations

from pathlib import Path

import pytest

from longrank.collections.documents import places_of, read_documents
from longrank.collections.patterns import absolute_path, absolute_pattern, folders_above, matching
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


def test_the_folders_through_which_a_pattern_finds_a_file_begin_at_its_first_wildcard() -> None:
    assert folders_above("/d/a/sub/x.txt", "/d/*/sub/*.txt") == ["/d", "/d/a", "/d/a/sub"]
    assert folders_above("/d/a/b/x.txt", "/d/**/*.txt") == ["/d", "/d/a", "/d/a/b"]
    assert folders_above("/x.txt", "/*.txt") == ["/"]
    assert folders_above("/e/x.txt", "/d/*.txt") == []


def test_a_pattern_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file or folder matches .got '\S+/\*\.tsv'."):
        matching(str(tmp_path / "*.tsv"))


def test_paths_and_patterns_become_absolute_without_leaving_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("here/docs", "there/place", "there/docs"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.txt").write_text(folder)
    (tmp_path / "here/link").symlink_to("../there/place")
    (tmp_path / "here/docs/own.txt").symlink_to("a.txt")
    monkeypatch.chdir(tmp_path / "here")
    here, there = tmp_path / "here", tmp_path / "there"
    for path, expected in [
        ("docs", here / "docs"), ("./docs/own.txt", here / "docs/own.txt"), ("docs/../docs/", here / "docs"),
        ("link", here / "link"), ("link/a.txt", here / "link/a.txt"), ("../here/link/", here / "link"),
        ("link/../docs", there / "docs"), ("link/../docs/a.txt", there / "docs/a.txt"), ("link/..", there),
    ]:  # fmt: skip
        assert absolute_path(path) == str(expected)
        assert Path(absolute_path(path)).samefile(path)
    for pattern, fixed in [
        ("*.md", f"{here}/*.md"), ("docs//*.txt", f"{here}/docs/*.txt"), ("../*/d/*.txt", f"{tmp_path}/*/d/*.txt"),
        ("link/../docs/*.txt", f"{there}/docs/*.txt"), ("l*k/../docs/*.txt", f"{here}/l*k/../docs/*.txt"),
        (f"{here}/docs/./*.txt", f"{here}/docs/*.txt"), ("/*.md", "/*.md"),
    ]:  # fmt: skip
        assert absolute_pattern(pattern) == fixed
