"""An index folder holds the old index or the new one, whatever happens while it is built."""

from __future__ import annotations

import errno
import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from collections_of_words import located, random_documents
from longrank.errors import Changed, InputError, IntegrityError, LongRankError
from longrank.formats.records import CorpusOptions
from longrank.index import Index, arrays, batches, build_index, parts, publishing, verify_index
from longrank.index.folder import SOURCES, sources_record
from longrank.index.locking import building
from longrank.index.parts import Part
from longrank.index.sources import Recording, Sources, read_sources
from longrank.storage import MANIFEST, files, lock, write_manifest
from longrank.types import Document, Notes
from slow_values import slow

OLD, NEW = random_documents(30, seed=1), random_documents(60, seed=2)


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_CHARS", 5000)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("undisturbed") / "index"
    build_index(located(NEW), folder)
    return contents(folder)


# --- replacing ---------------------------------------------------------------------------------


def test_a_new_index_takes_the_place_of_the_old_and_leaves_nothing_of_it(
    tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    build_index(located(OLD), tmp_path / "index")
    build_index(located(NEW), tmp_path / "index")
    assert contents(tmp_path / "index") == undisturbed


def test_building_the_same_again_changes_no_byte(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    for _ in range(2):
        build_index(located(NEW), tmp_path / "index")
        assert contents(tmp_path / "index") == undisturbed


def test_an_open_index_is_read_on_while_it_is_replaced(tmp_path: Path) -> None:
    old = build_index(located(OLD), tmp_path / "index")
    build_index(located(NEW), tmp_path / "index")
    assert list(old) == OLD


@pytest.mark.parametrize("shared", [False, True])
def test_an_index_that_is_replaced_between_two_of_its_files_is_the_old_or_the_new_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    """A segment that goes after its arrays have been opened has no other files, such as metadata, any more."""
    folder, opened = tmp_path / "index", parts.Forward
    index = Index.build([{"doc_id": "a", "text": "bees", "year": 1990}], folder)
    state = pickle.dumps(index)

    def replaced(*given: Any) -> Any:
        made = opened(*given)
        monkeypatch.setattr(parts, "Forward", opened)
        Index.build([{"doc_id": "a", "text": "bees", "year": 2025}], folder)
        return made

    monkeypatch.setattr(parts, "Forward", replaced)
    if shared:
        with pytest.raises(Changed):
            pickle.loads(state)
    else:
        assert Index(folder).metadata("a") == {"year": 2025}


def test_old_data_that_this_user_may_not_remove_stays_and_hinders_no_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that several users may write to: only its owner may move the data folder of another user's commit."""
    index = build_index(located(OLD), tmp_path / "index")
    (data,) = (tmp_path / "index").glob("data-*")
    rename = Path.rename

    def refusing(path: Path, target: Path) -> Path:
        if path == data:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refusing)
    index = index.delete([OLD[0].doc_id]).merge()
    assert list(index) == OLD[1:]
    index = index.add([("new", "a new page")])
    assert len(Index(tmp_path / "index")) == len(OLD)
    assert data.is_dir()
    assert not [path for path in (tmp_path / "index").iterdir() if path.name.startswith(".building")]


def test_vectors_of_other_documents_stay_and_are_noted(tmp_path: Path) -> None:
    def noted() -> list[str]:
        notes = Notes()
        build_index(located(NEW), tmp_path / "index", notes=notes)
        return [line for line in notes.lines() if "vectors" in line]

    build_index(located(OLD), tmp_path / "index")
    vectors = tmp_path / "index" / "vectors" / "m"
    vectors.mkdir(parents=True)
    write_manifest(vectors, {})
    assert noted() == ["stored vectors that do not fit the changed index; store them again: 1 (first: m)"]
    assert vectors.is_dir()
    assert noted() == []  # the same documents


# --- interruptions -----------------------------------------------------------------------------

STEPS = [
    (arrays.ArrayWriter, "append"), (arrays.StringsWriter, "extend"), (Path, "mkdir"), (Path, "rename"),
    (Path, "replace"), (Path, "unlink"), (os, "fsync"), (shutil, "rmtree"), (os, "rmdir"), (Path, "write_bytes"),
]  # fmt: skip


class Killed(BaseException):
    """Not an error that anything handles."""


def kill_at(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """From the given step on nothing on the disk changes any more, as if the process were gone."""
    steps = iter(range(10**9))

    def mortal(work: Callable[..., Any]) -> Callable[..., Any]:
        def until_killed(*args: Any, **options: Any) -> Any:
            if next(steps) >= step:
                raise Killed
            return work(*args, **options)

        return until_killed

    for owner, name in STEPS:
        monkeypatch.setattr(owner, name, mortal(getattr(owner, name)))
    return steps


def killed_builds(folder: Path, **options: Any) -> Iterator[Path]:
    """Build NEW into copies of `folder`, each killed after more steps than the one before; yield the copies."""
    with pytest.MonkeyPatch.context() as patch:
        steps = kill_at(10**9, patch)
        build_index(located(NEW), folder.with_name("counted"), **options)
        n_steps = next(steps)
    for step in [*range(0, n_steps - 16, 20), *range(n_steps - 16, n_steps)]:
        copy = folder.with_name(f"killed-{step}")
        if folder.exists():
            shutil.copytree(folder, copy)
        with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
            kill_at(step, patch)
            build_index(located(NEW), copy, **options)
        yield copy
        shutil.rmtree(copy, ignore_errors=True)


def test_killed_at_any_step_the_old_index_stands_until_the_new_one_does(
    tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    build_index(located(OLD), tmp_path / "index")
    outcomes = []
    for copy in killed_builds(tmp_path / "index"):
        verify_index(copy)
        outcomes.append(Index.open(copy).n_docs)
        if len(outcomes) % 4 == 0:
            build_index(located(NEW), copy)
            assert contents(copy) == undisturbed
    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {len(OLD), len(NEW)}


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("after", [True, False])
def test_killed_at_any_step_the_index_that_stands_has_its_own_record_of_sources_or_none(
    before: bool, after: bool, tmp_path: Path
) -> None:
    def of(name: str, *, has_record: bool) -> Recording:
        return lambda digest, _: Sources((name,), CorpusOptions(), {}, digest) if has_record else None

    def record(folder: Path) -> Sources | None:
        return None if sources_record(folder) is None else read_sources(folder)

    build_index(located(OLD), tmp_path / "index", recording=of("old", has_record=before))
    outcomes = set()
    for copy in killed_builds(tmp_path / "index", recording=of("new", has_record=after)):
        index = Index.open(copy)
        name, has_record = ("old", before) if index.n_docs == len(OLD) else ("new", after)
        assert record(copy) == of(name, has_record=has_record)(index.digest, index.doc_ids)
        outcomes.add((name, (copy / SOURCES).exists(), len(list(copy.glob(".sources-*")))))
        with building(copy):
            assert not list(copy.glob(".sources-*"))
            assert (copy / SOURCES).exists() == has_record
        assert record(copy) == of(name, has_record=has_record)(index.digest, index.doc_ids)
    assert outcomes >= {("old", before, 0), ("old", before, 1), ("new", before, 1)}


@pytest.mark.parametrize("has_record", [True, False])
def test_a_build_of_the_same_documents_that_fails_leaves_the_record(
    has_record: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def recording(name: str) -> Recording:
        return lambda digest, _: Sources((name,), CorpusOptions(), {}, digest) if has_record or name == "a" else None

    def fails(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    folder = tmp_path / "index"
    build_index(located(OLD), folder, recording=recording("a"))
    with monkeypatch.context() as patch, pytest.raises(LongRankError, match="the old index is valid"):
        patch.setattr(publishing, "put_manifest", fails)
        build_index(located(OLD), folder, recording=recording("b"))
    assert read_sources(folder).places == ("a",)
    build_index(located(OLD), folder, recording=recording("b"))
    assert (folder / SOURCES).exists() == has_record
    assert not has_record or read_sources(folder).places == ("b",)


def test_killed_at_any_step_a_first_build_leaves_none_or_all(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    n_whole = n = 0
    for n, copy in enumerate(killed_builds(tmp_path / "absent"), 1):
        try:
            n_whole += Index.open(copy).n_docs == len(NEW)
        except InputError:
            assert not n_whole
        if n % 4 == 0:
            build_index(located(NEW), copy)
            assert contents(copy) == undisturbed
    assert 0 < n_whole < n


CHILD = """
import os, sys
os.fsync = lambda descriptor: None
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from collections_of_words import located, random_documents
from longrank.index import batches, build_index
batches._CHARS = 5000
documents = located(random_documents(60, seed=2))
print("ready", flush=True)
build_index(documents, Path(sys.argv[1]), workers=int(sys.argv[3]))
print("done", flush=True)
"""


def start_build(folder: Path, workers: int) -> subprocess.Popen[str]:
    tests = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", CHILD, str(folder), tests, str(workers)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def kill_and_repeat(folder: Path, workers: int, kills: int, undisturbed: dict[str, bytes]) -> None:
    rng = random.Random(kills)
    start = time.monotonic()
    with start_build(folder.with_name("timed"), workers) as child:
        child.wait()
    longest = time.monotonic() - start - 0.1
    for _ in range(kills):
        with start_build(folder, workers) as child:
            time.sleep(rng.uniform(0, longest / 2))
            child.send_signal(signal.SIGKILL)
        assert Index.open(folder).n_docs in (len(OLD), len(NEW))
        verify_index(folder)
    build_index(located(NEW), folder)
    assert contents(folder) == undisturbed


@pytest.mark.parametrize(("workers", "kills"), [(1, 3), *slow((2, 1))])
def test_random_kills_change_no_byte(tmp_path: Path, undisturbed: dict[str, bytes], workers: int, kills: int) -> None:
    build_index(located(OLD), tmp_path / "index")
    kill_and_repeat(tmp_path / "index", workers, kills, undisturbed)


@pytest.mark.slow
def test_forty_random_kills_change_no_byte(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    build_index(located(OLD), tmp_path / "index")
    kill_and_repeat(tmp_path / "index", 1, 20, undisturbed)
    kill_and_repeat(tmp_path / "index", 2, 20, undisturbed)


def test_a_failing_disk_is_one_error_and_leaves_the_old_index(tmp_path: Path) -> None:
    build_index(located(OLD), tmp_path / "index")
    before = contents(tmp_path / "index")
    writes = arrays.ArrayWriter.append
    for step in range(0, 60, 7):
        left = iter(range(step))

        def failing(*args: Any, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise OSError(errno.ENOSPC, "No space left on device")
            writes(*args)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(arrays.ArrayWriter, "append", failing)
            with pytest.raises(LongRankError, match="No space left on device"):
                build_index(located(NEW), tmp_path / "index")
        assert contents(tmp_path / "index") == before


@pytest.mark.parametrize(
    ("fails", "state", "now"),
    [("sync", "is written, but a power cut may undo it", NEW), ("rename", "cannot write", OLD)],
)
def test_an_error_at_the_last_step_says_which_index_is_valid(
    fails: str, state: str, now: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_index(located(OLD), tmp_path / "index")
    record = tmp_path / "index" / SOURCES
    record.write_text("the files of the old index")

    place, name = {"sync": (files, "sync_folder"), "rename": (Path, "replace")}[fails]
    real = getattr(place, name)

    def refuse(path: Path, *args: Any) -> Any:
        if tmp_path / "index" in (path, path.parent):
            raise OSError(errno.EIO, "Input/output error")
        return real(path, *args)

    monkeypatch.setattr(place, name, refuse)
    valid = "the new index is valid" if now is NEW else "the old index is valid"
    with pytest.raises(LongRankError, match=f"{state}.*Input/output error.*; {valid}"):
        build_index(located(NEW), tmp_path / "index")
    monkeypatch.undo()
    assert len(Index(tmp_path / "index")) == len(now)
    assert record.exists() == (now is OLD)


def test_a_killed_worker_is_an_error_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_CHARS", 1000)

    def documents() -> Iterator[Any]:
        yield from located(NEW)[:40]
        parent = os.getpid()
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        for pid in children:
            if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(int(pid), signal.SIGKILL)
        yield from located(NEW)[40:]

    with pytest.raises(LongRankError, match="a worker process was killed"):
        build_index(documents(), tmp_path / "index", workers=2)
    assert not (tmp_path / "index").exists()


def test_the_second_of_two_writers_is_told_who_is_writing(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    build_index(located(OLD), folder)
    with lock(folder / ".lock"), pytest.raises(InputError, match=f"is being written by pid {os.getpid()} on "):
        build_index(located(NEW), folder)
    assert list(Index.open(folder)) == OLD


def test_an_error_in_the_documents_leaves_what_was_there(tmp_path: Path) -> None:
    def broken() -> Iterator[Any]:
        yield from located(NEW)
        raise InputError("bad line")

    for existing in (None, [], OLD):
        folder = tmp_path / f"index-{existing is None}-{bool(existing)}"
        if existing is not None:
            folder.mkdir()
        if existing:
            build_index(located(existing), folder)
        before = contents(folder)
        with pytest.raises(InputError, match="bad line"):
            build_index(broken(), folder)
        assert folder.exists() == (existing is not None)
        assert contents(folder) == before


# --- what is refused ---------------------------------------------------------------------------


def test_a_folder_that_is_no_index_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="exists and is not an index"):
        build_index(located(OLD), tmp_path)
    assert contents(tmp_path) == {"thesis.tex": b"years of work"}


@pytest.mark.parametrize(
    "name",
    ["data-2024", "data-1732612345678901", "deleted-scenes", "vectors/minilm-tokens", "sparse/models", "vectors/.git"],
)
def test_a_folder_that_is_named_like_a_part_of_an_index_stays(name: str, tmp_path: Path) -> None:
    mine = tmp_path / name
    mine.mkdir(parents=True)
    (mine / "notes.txt").write_text("years of work")
    with pytest.raises(InputError, match="exists and is not an index"):
        build_index(located(OLD), tmp_path)
    assert contents(tmp_path) == {f"{name}/notes.txt": b"years of work"}


def test_an_index_without_its_manifest_is_built_again_beside_its_vectors(tmp_path: Path) -> None:
    index = build_index(located(OLD), tmp_path / "index")
    (index.path / "vectors" / "m").mkdir(parents=True)
    write_manifest(index.path / "vectors" / "m", {})
    (index.path / "vectors" / ".DS_Store").touch()
    (index.path / MANIFEST).unlink()
    build_index(located(OLD), index.path)
    assert (index.path / "vectors" / "m" / MANIFEST).is_file()


def test_hidden_files_of_a_user_stay(tmp_path: Path) -> None:
    for name in (".building-plans/a", ".manifest.json.old", ".sources.jsonl.mine", ".deleted-scenes/b", ".git/config"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("years of work")
    before = contents(tmp_path)
    for docs in (OLD, NEW):
        build_index(located(docs), tmp_path)
        after = contents(tmp_path)
        assert {name: after.get(name) for name in before} == before


def test_a_folder_of_a_user_inside_an_index_stays(tmp_path: Path) -> None:
    index = build_index(located(OLD), tmp_path / "index")
    (index.path / "data-2024").mkdir()
    (index.path / "data-2024" / "notes.txt").write_text("years of work")
    before = contents(index.path)
    with pytest.raises(InputError, match=r"no part of an index \(got 'data-2024'\)"):
        build_index(located(NEW), index.path)
    with pytest.raises(InputError, match=r"no part of an index \(got 'data-2024'\)"):
        index.add([("new", "words")])
    assert contents(index.path) == before


def test_an_index_whose_manifests_are_all_damaged_is_built_again_in_its_place(tmp_path: Path) -> None:
    index = build_index(located(OLD), tmp_path / "index")
    before = contents(index.path)
    for manifest in index.path.rglob(MANIFEST):
        manifest.write_text("{")
    (index.path / ".building-abcd_123").touch()
    build_index(located(OLD), index.path)
    assert contents(index.path) == before


def test_a_broken_manifest_of_something_else_stays(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text("{ // of a browser extension\n}")
    with pytest.raises(InputError, match="exists and is not an index"):
        build_index(located(OLD), tmp_path)
    assert contents(tmp_path) == {MANIFEST: b"{ // of a browser extension\n}"}


def test_a_folder_of_another_format_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text('{"format": "a model"}')
    with pytest.raises(InputError, match="a folder with other content"):
        build_index(located(OLD), tmp_path)


def test_a_manifest_of_another_format_beside_segments_is_damaged(tmp_path: Path) -> None:
    """The folder is an index, and a new build may replace it."""
    folder = tmp_path / "index"
    build_index(located(OLD), folder)
    before = contents(folder)
    for word in (b'"longrank index"', b'"format"'):
        (folder / MANIFEST).write_bytes(before[MANIFEST].replace(word, word.replace(b"o", b"n")))
        for read in (Index.open, verify_index):
            with pytest.raises(IntegrityError, match="names another format than that of the segments beside it"):
                read(folder)
        build_index(located(OLD), folder)
        assert contents(folder) == before


def test_a_file_is_no_place_for_an_index(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file"):
        build_index(located(OLD), tmp_path / "file")
    with pytest.raises(InputError, match="its folder does not exist; mkdir -p"):
        build_index(located(OLD), tmp_path / "no" / "index")


def test_a_read_only_index_is_searched_but_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "index"
    build_index(located(OLD), folder)
    before = contents(folder)
    for path in folder.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    folder.chmod(0o555)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != folder or not mode & os.W_OK)  # root may anyway
    assert list(Index.open(folder)) == OLD
    with pytest.raises(InputError, match="cannot be written to"):
        build_index(located(NEW), folder)
    assert contents(folder) == before
    folder.chmod(0o755)


def test_what_is_no_index_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name, message in (("absent", "no such index"), ("empty", "is not an index")):
        with pytest.raises(InputError, match=message):
            Index.open(tmp_path / name)


def test_an_index_of_another_version_is_not_opened_but_may_be_rebuilt(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    build_index(located(OLD), folder)
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**manifest, "version": 99}))
    with pytest.raises(IntegrityError, match=r"index format 99.*rebuild or upgrade"):
        Index.open(folder)
    assert list(build_index(located(OLD), folder)) == OLD


# --- damage ------------------------------------------------------------------------------------


def _files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file() and p.stat().st_size and p.name != ".lock")


def test_every_missing_shortened_or_emptied_file_is_noticed_when_opening(tmp_path: Path) -> None:
    build_index(located(OLD), tmp_path / "index")
    for file in _files(tmp_path / "index"):
        whole = file.read_bytes()
        for damaged in (None, b"", whole[: len(whole) // 2], whole + b"x"):
            file.unlink(missing_ok=True)
            if damaged is not None:
                file.write_bytes(damaged)
            top = file == tmp_path / "index" / MANIFEST
            if top and damaged is not None and damaged.strip() == whole.strip():
                continue
            error = InputError if top and damaged is None else IntegrityError
            with pytest.raises(error, match=str(file.parent if error is InputError else file)):
                Index.open(tmp_path / "index")
        file.write_bytes(whole)
    assert list(Index.open(tmp_path / "index")) == OLD


@pytest.mark.parametrize("name", ["texts", "titles", "ids"])
def test_texts_that_are_not_utf_8_are_damage(name: str, tmp_path: Path) -> None:
    build_index(located(OLD), tmp_path / "index")
    (path,) = (tmp_path / "index").glob(f"data-*/{name}.bytes")
    path.write_bytes(b"\xff" * path.stat().st_size)
    index = Index.open(tmp_path / "index")
    with pytest.raises(
        IntegrityError, match="a text is not UTF-8, so a file is damaged; longrank check names the file"
    ):
        list(index)


@pytest.mark.parametrize("tf_type", ["<u0", "<f4", ["<u1"], None])
def test_counts_of_an_unknown_type_are_refused(tmp_path: Path, tf_type: object) -> None:
    (part,) = build_index(located(OLD), tmp_path / "index").parts
    with pytest.raises(IntegrityError, match="counts of an unknown type"):
        Part(part.folder, part.meta | {"tf_type": tf_type})
    for name, message in (
        ("tf_type", "counts of an unknown type"),
        ("options", "cannot be read"),
        ("n_nonempty", "no n"),
    ):
        with pytest.raises(IntegrityError, match=message):
            Part(part.folder, {key: value for key, value in part.meta.items() if key != name})
    with pytest.raises(IntegrityError, match="no number of terms"):
        Part(part.folder, part.meta | {"total_terms": 1.5})


@pytest.mark.parametrize(
    "options", [[], {"later": 1}, {"fields": 5}, {"compressed": "x"}, {"analyzer": None}, {"expansions": [{}]}]
)
def test_unknown_options_of_a_segment_are_refused(tmp_path: Path, options: object) -> None:
    (part,) = build_index(located(OLD), tmp_path / "index").parts
    with pytest.raises(
        IntegrityError, match=r"its options cannot be read \(.*\): it is damaged, or of a later version"
    ):
        Part(part.folder, part.meta | {"options": options})


def test_any_flipped_bit_of_a_manifest_is_noticed_when_opening(tmp_path: Path) -> None:
    rng = random.Random(3)
    index = build_index(located(random_documents(3, seed=1)), tmp_path / "index")
    for manifest in sorted(index.path.rglob("manifest.json")):
        whole = manifest.read_bytes()
        for place in range(0, len(whole), 7):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << rng.randrange(8)
            manifest.write_bytes(damaged)
            with pytest.raises((IntegrityError, InputError)):
                Index.open(index.path)
        manifest.write_bytes(whole)


def test_check_names_the_file_in_which_one_bit_has_flipped(tmp_path: Path) -> None:
    build_index(located(OLD), tmp_path / "index")
    rng = random.Random(5)
    for file in _files(tmp_path / "index"):
        whole = file.read_bytes()
        bit = rng.randrange(8 * len(whole))
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        file.write_bytes(flipped)
        with pytest.raises((IntegrityError, InputError), match=str(file.parent)) as caught:
            verify_index(tmp_path / "index")
        if file != tmp_path / "index" / MANIFEST:
            assert str(caught.value).startswith(f"{file}: ")
        file.write_bytes(whole)
    assert verify_index(tmp_path / "index") == len([p for p in (tmp_path / "index").rglob("*") if p.is_file()]) - 2


def test_a_damaged_index_is_mended_by_building_it_again(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    build_index(located(NEW), tmp_path / "index")
    file = next((tmp_path / "index").glob("data-*/texts.bytes"))
    file.write_bytes(file.read_bytes()[::-1])
    build_index(located(NEW), tmp_path / "index")
    assert contents(tmp_path / "index") == undisturbed


def test_the_index_of_a_one_word_collection_survives_the_same(tmp_path: Path) -> None:
    build_index(located([Document("only", "", "word")]), tmp_path / "index")
    assert verify_index(tmp_path / "index") == len(list((tmp_path / "index").glob("data-*/*")))
