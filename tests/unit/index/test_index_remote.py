"""An index in an object store is the index in a folder: the same runs, vectors and files, also after changes."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import longrank
import object_stores
import stored
from longrank.errors import InputError, IntegrityError
from longrank.formats.trec import write_run
from longrank.index import Index
from longrank.index.shared import SharedIndex
from longrank.index.stamps import stamp_of
from longrank.index.vectors import stored_vectors
from longrank.storage import read_manifest
from longrank.storage.cache import cache_folder, use_cache_folder
from longrank.storage.remote import changing
from longrank.storage.remote.store import Store
from longrank.types import Notes
from longrank.verbs.check import check
from longrank.verbs.index import upload_index
from longrank.verbs.sync import sync

ADDRESS = f"s3://{object_stores.BUCKET}/my.index"
WORDS = [f"w{n}" for n in range(40)]
pytestmark = pytest.mark.usefixtures("bucket")


def documents(seed: int, n: int = 60, first: int = 0) -> list[tuple[str, str]]:
    draw = random.Random(seed)
    return [(f"d{k}", " ".join(draw.choices(WORDS, k=draw.randint(1, 30)))) for k in range(first, first + n)]


def elsewhere() -> None:
    """Forget what this machine has fetched."""
    shutil.rmtree(cache_folder())


def run_bytes(index: Index | str | Path, path: Path, **options: Any) -> bytes:
    write_run(longrank.retrieve(index, [" ".join(WORDS[n : n + 3]) for n in range(20)], k=30, **options), path)
    return path.read_bytes()


def files(index: Index) -> dict[str, str]:
    paths = [path for path in index.path.rglob("*") if path.is_file()]
    names = {path.relative_to(index.path).as_posix(): path for path in paths}
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in names.items() if name[0] != "."}


@pytest.mark.parametrize(("seed", "shards"), [(1, 1), (2, 3)])
def test_runs_of_an_index_in_s3_are_those_of_a_folder(seed: int, shards: int, tmp_path: Path) -> None:
    local = Index.build(documents(seed), tmp_path / "local", shards=shards)
    built = Index.build(documents(seed), ADDRESS, shards=shards)
    assert (built.place, built.digest, files(built)) == (ADDRESS, local.digest, files(local))
    elsewhere()
    assert files(Index.open(ADDRESS)) == files(local)
    for options in ({}, {"similarity": "ql", "workers": 1}, {"feedback": "rm3"}):
        expected = run_bytes(local, tmp_path / "a.run", **options)
        for place in (ADDRESS, Path(ADDRESS)):
            assert run_bytes(place, tmp_path / "b.run", **options) == expected
    assert check(ADDRESS) == check(local)


def test_changes_of_an_index_in_s3_are_those_of_a_folder(tmp_path: Path) -> None:
    local, remote = Index.build(documents(3), tmp_path / "local"), Index.build(documents(3), ADDRESS)
    for change in (
        lambda index: index.add(documents(4, 20, 60)),
        lambda index: index.delete(["d3", "d61"]),
        lambda index: index.merge(),
    ):
        local, remote = change(local), change(remote)
        elsewhere()
        assert files(Index(ADDRESS)) == files(local) == files(remote)
    assert run_bytes(ADDRESS, tmp_path / "b.run") == run_bytes(local, tmp_path / "a.run")


class Killed(BaseException):
    """A process that ends here."""


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("when", ["before the manifest", "after the manifest"])
def test_an_update_that_is_killed_beside_its_manifest_leaves_no_document_of_files_that_then_vanish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, other: bool
) -> None:
    def write(name: str, *doc_ids: str) -> None:
        rows = [json.dumps({"id": doc_id, "text": f"words of {doc_id}"}) for doc_id in doc_ids]
        (tmp_path / "docs" / name).write_text("\n".join(rows) + "\n")

    def killed(store: Store, *given: Any) -> None:
        if when == "after the manifest":
            replace(store, *given)
        raise Killed

    (tmp_path / "docs").mkdir()
    write("a.jsonl", "a1", "a2")
    write("b.jsonl", "b1")
    sync([tmp_path / "docs"], ADDRESS)
    write("a.jsonl", "a1", "a3")
    write("new.jsonl", "n1")
    (tmp_path / "docs" / "b.jsonl").unlink()
    replace = Store.replace
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Store, "replace", killed)
        sync([tmp_path / "docs"], ADDRESS)
    here = cache_folder()
    use_cache_folder(tmp_path / "cache of another machine")
    assert ("n1" in Index(ADDRESS)) == (when == "after the manifest")
    if other:  # a command of that machine
        Index.open(ADDRESS).add([("mine", "added by hand")])
    use_cache_folder(here)
    write("a.jsonl", "a1")
    (tmp_path / "docs" / "new.jsonl").unlink()
    notes = Notes()
    sync([tmp_path / "docs"], ADDRESS, notes=notes)
    assert {document.doc_id for document in Index(ADDRESS)} == {"a1", *(["mine"] if other else [])}
    assert any(line.startswith("another command has changed the index") for line in notes.lines()) == other
    assert not any(sync([tmp_path / "docs"], ADDRESS))


def test_a_change_that_fails_takes_no_copy_from_an_open_index(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise Killed

    opened = Index.build(documents(7), ADDRESS)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Store, "replace", refused)
        opened.delete(["d1"])
    Index.open(ADDRESS).delete(["d2"])
    assert len(Index.open(ADDRESS)) == 59
    assert opened.path.is_dir()
    assert opened.document("d1").text


def test_vectors_go_with_the_index(tmp_path: Path) -> None:
    vectors = stored.random_vectors(Index.build(documents(5), tmp_path / "local"))
    local = Index(tmp_path / "local")
    stored.store(local, vectors)
    Index.build(documents(5), ADDRESS)
    with changing(ADDRESS) as folder:
        stored.store(Index(folder), vectors)
    elsewhere()
    assert files(Index(ADDRESS)) == files(local)
    opened = stored_vectors(Index(ADDRESS), "tiny-words")
    assert np.array_equal(opened.matrix, stored_vectors(local, "tiny-words").matrix)


def test_a_folder_is_uploaded_as_it_is(tmp_path: Path) -> None:
    local = Index.build(documents(6), tmp_path / "local")
    upload_index(local, ADDRESS)
    assert files(Index(ADDRESS)) == files(local)
    notes = Notes()
    upload_index(tmp_path / "local", ADDRESS, notes=notes)
    kept = len(set(files(local).values()))
    assert notes.lines() == [f"files that {ADDRESS} had already, which are not sent again: {kept}"]
    upload_index(ADDRESS, f"{ADDRESS}.copy")
    assert files(Index(f"{ADDRESS}.copy")) == files(local)


def test_a_damaged_folder_is_not_uploaded(tmp_path: Path) -> None:
    upload_index(Index.build(documents(20), tmp_path / "local"), ADDRESS)
    (texts,) = (tmp_path / "local").glob("*/texts.bytes")
    content = texts.read_bytes()
    texts.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    with pytest.raises(IntegrityError, match=r"texts\.bytes: checksum differs"):
        upload_index(tmp_path / "local", ADDRESS)
    assert check(ADDRESS)


def test_a_new_version_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longrank.index.stamps._SECONDS", 0.0)
    index = Index.build(documents(7), ADDRESS)
    before = stamp_of(ADDRESS)
    assert stamp_of(ADDRESS) == before
    index.delete(["d1"])
    assert stamp_of(ADDRESS) != before
    assert len(Index(ADDRESS)) == 59
    assert len(index) == 60


def test_other_processes_open_the_copy_or_fetch_their_own() -> None:
    shared = SharedIndex.of(Index.build(documents(7), ADDRESS))
    assert shared.open().place == shared.path
    elsewhere()
    assert (shared.open().place, len(shared.open())) == (ADDRESS, 60)


def test_a_copy_is_changed_by_its_address_only() -> None:
    index = Index(Index.build(documents(8), ADDRESS).path)
    with pytest.raises(InputError, match="is the local copy of an index elsewhere; change the index by its address"):
        index.delete(["d1"])


@pytest.mark.parametrize("place", ["http://host/index", "s4:/bucket/index"])
def test_another_kind_of_address_is_refused(place: str) -> None:
    for use in (Index.open, lambda place: Index.build(documents(1), place)):
        with pytest.raises(InputError, match=r"an index has no such kind of address .*; s3, gs, az, or the path"):
            use(place)


@pytest.mark.parametrize("data", ["../other/data-0", "/data-0", "data-0/../../x", "vectors"])
def test_a_manifest_that_names_a_segment_elsewhere_is_refused(data: str, tmp_path: Path) -> None:
    manifest = json.loads((Index.build(documents(9), tmp_path / "i").path / "manifest.json").read_text())
    for changed in ({"data": data}, {"segments": [{"data": manifest["data"], "deleted": data}], "version": 5}):
        (tmp_path / "i" / "manifest.json").write_text(json.dumps({**manifest, **changed}))
        with pytest.raises(IntegrityError, match="names no data; the file is damaged"):
            Index(tmp_path / "i")


def test_a_manifest_that_names_files_elsewhere_is_refused(tmp_path: Path) -> None:
    index = Index.build(documents(9), tmp_path / "i")
    path = next(index.path.glob("data-*/manifest.json"))
    manifest = json.loads(path.read_text())
    manifest["files"]["../../x"] = manifest["files"].pop("lengths")
    path.write_text(json.dumps(manifest))
    with pytest.raises(IntegrityError, match=r"cannot be read \(names a file outside the folder\)"):
        read_manifest(path.parent)
