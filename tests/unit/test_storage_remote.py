"""Folders in object stores: readers see one version whole, transfers resume, and nothing that is fetched is trusted."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

import pytest

import object_stores
from longrank.errors import BeingWritten, InputError, IntegrityError, LongRankError, MissingExtra
from longrank.storage.cache import entries, remove, use_cache_folder
from longrank.storage.remote import address_of, changing, check_no_copy, check_objects, local, newest
from longrank.storage.remote.addresses import SCHEMES, Scheme
from longrank.storage.remote.store import Seen, Store
from longrank.storage.transfers import use_progress
from longrank.types import Notes

PLACE = f"s3://{object_stores.BUCKET}/name"


class Stores(NamedTuple):
    """A client of an empty S3 server, and the proxy before it that s3fs uses."""

    client: Any
    proxy: object_stores.Proxy

    def keys(self) -> list[str]:
        listed = self.client.list_objects_v2(Bucket=object_stores.BUCKET).get("Contents", [])
        return [entry["Key"].removeprefix("name/") for entry in listed]

    def put(self, name: str, content: bytes) -> None:
        self.client.put_object(Bucket=object_stores.BUCKET, Key=f"name/{name}", Body=content)


@pytest.fixture(autouse=True)
def cache(own_cache: Path) -> Path:
    return own_cache


@pytest.fixture
def s3(s3_port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stores]:
    proxy = object_stores.Proxy(s3_port)
    object_stores.use(monkeypatch, proxy.port)
    yield Stores(object_stores.client(s3_port), proxy)
    proxy.close()


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a store in memory, which has no conditional writes but the first."""
    fsspec = pytest.importorskip("fsspec", reason="needs the extra remote")
    monkeypatch.setitem(SCHEMES, "memory", Scheme("fsspec"))
    fsspec.filesystem("memory").store.clear()
    return "memory://bucket/name"


def write(place: str, notes: Notes | None = None, *, anew: bool = True, **files: str) -> None:
    """Write a folder at a place; a name ``a__b`` is the file b in the folder a."""
    with changing(place, notes, anew=anew) as folder:
        for name, text in files.items():
            path = folder / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)  # files are replaced, never changed
            path.write_text(text)


def contents(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def put_manifest(address: str, manifest: object) -> None:
    content = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    Store(address).replace("manifest.json", content, Seen(None, None))


def other_machine(cache: Path) -> None:
    shutil.rmtree(cache)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_an_address_has_one_form() -> None:
    for place in ("s3://b/x/y", "s3://b/x/y/", "s3:/b/x/y", Path("s3://b/x/y")):
        assert address_of(place) == "s3://b/x/y"
    for place in ("b/x", "/s3/b", "postgres:library.toml", "s4://b/x", "C:/x", "s3", None, 3):
        assert address_of(place) == ""


@pytest.mark.parametrize("place", ["s3://b", "s3://b/", "s3://b/../x", "s3://b//x", "s3://b/x?y", "s3://k:secret@b/x"])
def test_an_address_without_a_name_or_with_a_key_is_refused_without_showing_it(place: str) -> None:
    with pytest.raises(InputError, match="names no folder of an object store; write s3://BUCKET/NAME") as error:
        address_of(place)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("kind", ["s3", "memory"])
def test_what_is_written_is_read_elsewhere(kind: str, request: pytest.FixtureRequest, cache: Path) -> None:
    request.getfixturevalue(kind)
    place = PLACE if kind == "s3" else "memory://bucket/name"
    write(place, a="1", b__c="22", b__empty="", b__same="22")
    other_machine(cache)
    assert contents(local(place)) == {"a": "1", "b/c": "22", "b/empty": "", "b/same": "22"}
    assert local(place) == local(Path(place))
    assert newest(place) == local(place).name
    check_objects(place)


def test_a_path_is_its_own_folder(tmp_path: Path) -> None:
    assert local(tmp_path) == tmp_path
    with changing(tmp_path) as folder:
        assert folder == tmp_path


def test_hidden_files_stay_on_the_machine_that_wrote_them(s3: Stores, cache: Path) -> None:
    write(PLACE, a="1", **{".record": "paths of this machine"})
    assert contents(local(PLACE))[".record"] == "paths of this machine"
    write(PLACE, anew=False, **{".record": "newer"})  # no other file has changed
    assert contents(local(PLACE))[".record"] == "newer"
    other_machine(cache)
    assert contents(local(PLACE)) == {"a": "1"}


def test_hidden_files_stay_when_another_machine_changes_the_folder_and_go_when_it_replaces_it(
    s3: Stores, cache: Path, tmp_path: Path
) -> None:
    segment = {"part__manifest.json": "checksums", "part__counts": "1 1 1"}
    write(PLACE, **segment, **{".record": "paths of this machine", ".lock": ""})
    for elsewhere, expected in (
        (
            {"anew": False, "b": "2"},
            {"part/manifest.json", "part/counts", "b", ".record"},
        ),
        (  # of other documents with equal counts
            {"part__counts": "1 1 1", "part__manifest.json": "other checksums"},
            {"part/manifest.json", "part/counts"},
        ),
    ):
        cache.rename(tmp_path / "this machine")
        write(PLACE, **elsewhere)  # type: ignore[arg-type]
        shutil.rmtree(cache)
        (tmp_path / "this machine").rename(cache)
        assert set(contents(local(PLACE))) == expected


def test_only_changed_files_are_sent_and_fetched_and_old_ones_are_removed(s3: Stores, cache: Path) -> None:
    large = "x" * 300_000
    write(PLACE, a=large, b="1", c="2")
    other_machine(cache)
    local(PLACE)
    notes, before = Notes(), s3.proxy.fetched
    write(PLACE, notes, a=large, b="changed", d="2")
    assert notes.lines() == [f"files that {PLACE} had already, which are not sent again: 2"]
    names = s3.keys()
    assert sorted(name.partition("-")[0] for name in names) == sorted(
        ["manifest.json", *(f"files/{sha256(text)}" for text in (large, "changed", "2"))]
    )
    assert contents(local(PLACE)) == {"a": large, "b": "changed", "d": "2"}
    assert s3.proxy.fetched - before < 100_000


def test_other_peoples_objects_and_folders_below_stay(s3: Stores, cache: Path) -> None:
    s3.put("files/report.pdf", b"mine")
    s3.put("files/2024/deep.pdf", b"mine")
    write(f"{PLACE}/files", a="1", b="2")
    write(f"{PLACE}/files/sub", a="1")
    write(PLACE, a="1", c="3")
    write(PLACE, a="1", c="4")
    assert {"files/report.pdf", "files/2024/deep.pdf"} <= set(s3.keys())
    check_objects(PLACE)
    other_machine(cache)
    assert [contents(local(f"{PLACE}{end}")) for end in ("", "/files", "/files/sub")] == [
        {"a": "1", "c": "4"},
        {"a": "1", "b": "2"},
        {"a": "1"},
    ]


def test_a_connection_that_is_cut_leaves_the_old_version_and_the_upload_goes_on(s3: Stores, cache: Path) -> None:
    write(PLACE, a="old")
    time.sleep(1.1)  # what comes in the second of the manifest may be what its writer found, and removes
    files = {f"f{n}": str(n) * 100_000 for n in range(6)}
    s3.proxy.sent = 350_000
    with pytest.raises(InputError, match=f"{PLACE}: the request to the object store failed: .*run the same command"):
        write(PLACE, **files)
    s3.proxy.sent = None
    other_machine(cache)
    assert contents(local(PLACE)) == {"a": "old"}
    notes = Notes()
    write(PLACE, notes, **files)
    assert 0 < notes[f"files that {PLACE} had already, which are not sent again"] < 6
    other_machine(cache)
    assert contents(local(PLACE)) == files


@pytest.mark.parametrize("between", [[], ["third"]])
@pytest.mark.parametrize("kept", ["old", "half"])  # of the version before; of an upload that was interrupted before it
def test_a_slow_removal_takes_nothing_from_a_later_version(
    kept: str, between: list[str], s3: Stores, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(PLACE, a="old")
    s3.put(f"files/{sha256('half')}", b"half")
    removing, resume = Event(), Event()
    remove = Store.remove

    def slow(self: Store, names: Sequence[str]) -> None:
        monkeypatch.setattr(Store, "remove", remove)
        removing.set()
        assert resume.wait(60)
        remove(self, names)

    monkeypatch.setattr(Store, "remove", slow)
    first = Thread(target=write, args=(PLACE,), kwargs={"a": "new"})
    first.start()
    assert removing.wait(60)
    for text in [*between, kept]:  # after the manifest of the first writer, before its removals
        write(PLACE, a=text)
    resume.set()
    first.join()
    other_machine(cache)
    assert contents(local(PLACE)) == {"a": kept}
    check_objects(PLACE)
    write(PLACE, anew=False, b="2")
    assert len(s3.keys()) == 3  # the manifest and two files: nothing is left behind


def test_files_of_one_content_are_one_object_whatever_its_name(s3: Stores, cache: Path) -> None:
    s3.put(f"files/{sha256('same')}", b"other size")
    s3.put("files/uploading.txt", b"x")  # by a first upload that was killed
    write(PLACE, a="same", b="same", c="3")
    other_machine(cache)
    assert contents(local(PLACE)) == {"a": "same", "b": "same", "c": "3"}
    assert len(s3.keys()) == 3
    notes = Notes()
    write(PLACE, notes, a="same", b="same", c="3")
    assert notes[f"files that {PLACE} had already, which are not sent again"] == 2


def test_a_first_upload_removes_nothing_that_no_upload_has_left(s3: Stores) -> None:
    foreign = f"files/{sha256('of a user')}"
    s3.put(foreign, b"of a user")
    with pytest.raises(InputError, match=r"name/files: holds 1 objects whose names are checksums, and no index that n"):
        write(PLACE, a="1")
    assert s3.keys() == [foreign]


def test_a_first_upload_that_stops_is_known_by_its_mark_until_it_has_ended(s3: Stores) -> None:
    s3.proxy.sent = 1 << 20
    with pytest.raises(LongRankError):
        write(PLACE, a="1", b="x" * (4 << 20))
    s3.proxy.sent = None
    assert "files/uploading.txt" in list(s3.keys())
    s3.put(f"files/{sha256('1')}", b"1")  # which may have been sent before the upload of the other file stopped
    write(PLACE, c="3")
    assert sorted(s3.keys()) == [f"files/{sha256('3')}", "manifest.json"]


def test_an_account_that_may_not_remove_uploads_and_a_later_change_removes_the_mark(
    s3: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(self: Store, names: Sequence[str]) -> None:
        if names:
            raise InputError("the object store refuses access")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "remove", denied)
        write(PLACE, a="1")
    assert "files/uploading.txt" in set(s3.keys())
    write(PLACE, anew=False, b="2")
    assert len(s3.keys()) == 3 and "files/uploading.txt" not in set(s3.keys())


@pytest.fixture
def half_fetched(s3: Stores, cache: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The text of b in a folder {a: "1", b: text} whose fetch was cut in the middle of b."""
    monkeypatch.setattr("longrank.storage.remote.downloads._PIECE", 50_000)
    text = "".join(map(str, range(200_000)))
    write(PLACE, a="1", b=text)
    other_machine(cache)
    s3.proxy.left = len(text) // 2
    with pytest.raises(InputError, match="the request to the object store failed") as fault:
        local(PLACE)
    assert list(cache.rglob("b.partial")), f"the fetch ended before the cut: {fault.value!r}, {fault.value.__cause__!r}"
    return text


def test_what_was_damaged_in_an_unfinished_fetch_is_fetched_again(s3: Stores, cache: Path, half_fetched: str) -> None:
    s3.proxy.left = None
    next(cache.rglob("b.partial")).write_bytes(b"x" * 1000)
    assert contents(local(PLACE)) == {"a": "1", "b": half_fetched}


def test_a_finished_file_of_an_unfinished_fetch_is_compared_with_its_checksum(
    s3: Stores, cache: Path, half_fetched: str
) -> None:
    """After a power cut, a file may have its name and length, and zeros as its content."""
    s3.proxy.left = None
    next(path for path in cache.rglob("a") if path.is_file()).write_text("\0")
    assert contents(local(PLACE)) == {"a": "1", "b": half_fetched}


def test_a_fetch_that_is_cut_goes_on_where_it_stopped(
    s3: Stores, cache: Path, half_fetched: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = half_fetched
    partial = next(cache.rglob("b.partial")).stat().st_size
    assert 100_000 < partial < len(text)
    s3.proxy.left = None
    reading, starts = Store.read, []

    def read(self: Store, name: str, start: int, end: int) -> bytes:
        starts.append(start)
        return reading(self, name, start, end)

    monkeypatch.setattr(Store, "read", read)
    assert contents(local(PLACE)) == {"a": "1", "b": text}
    assert sorted(starts) == [0, *range(partial, len(text), 50_000)]  # 0: the manifest


def test_a_change_whose_base_another_process_replaces_meanwhile_is_to_be_run_again(
    s3: Stores, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(PLACE, a="old")
    from longrank.storage.remote import changes

    def fetched(store: Any, contents: Any) -> Path:
        monkeypatch.undo()
        write(PLACE, a="new")
        raise FileNotFoundError("The specified key does not exist.")

    monkeypatch.setattr(changes, "fetched", fetched)
    with pytest.raises(BeingWritten, match="has changed the index meanwhile"), changing(PLACE):
        pass
    assert contents(local(PLACE)) == {"a": "new"}


def test_a_file_that_is_damaged_in_the_store_is_refused(s3: Stores, cache: Path) -> None:
    write(PLACE, a="good")
    other_machine(cache)
    s3.put(f"files/{sha256('good')}", b"evil")
    with pytest.raises(IntegrityError, match=f"{PLACE}/files/{sha256('good')}: checksum differs"):
        local(PLACE)
    s3.put(f"files/{sha256('good')}", b"bad")
    with pytest.raises(IntegrityError, match="is shorter than its manifest says"):
        local(PLACE)
    with pytest.raises(IntegrityError, match=f"{PLACE}: a is missing or of another size"):
        check_objects(PLACE)
    s3.client.delete_object(Bucket=object_stores.BUCKET, Key=f"name/files/{sha256('good')}")
    with pytest.raises(IntegrityError, match=f"{PLACE}: a file is missing .*; upload the index again"):
        local(PLACE)
    write(PLACE, a="good")
    assert contents(local(PLACE)) == {"a": "good"}


def test_a_copy_that_was_damaged_here_is_not_used_for_the_next_version(s3: Stores, cache: Path) -> None:
    write(PLACE, a="1", b="2")
    (local(PLACE) / "b").write_text("x")
    other = cache.with_name("other")
    cache.rename(other)
    write(PLACE, a="changed", b="2")
    other_machine(cache)
    other.rename(cache)
    assert contents(local(PLACE)) == {"a": "changed", "b": "2"}


@pytest.mark.parametrize("damaged", ["kept", "replaced", "deleted"])
@pytest.mark.parametrize("fault", ["checksum differs", "file is missing"])
def test_a_copy_that_was_damaged_here_is_not_sent(s3: Stores, cache: Path, damaged: str, fault: str) -> None:
    write(PLACE, kept="1", replaced="2", deleted="3")
    copy = local(PLACE)
    if fault == "file is missing":
        (copy / damaged).unlink()
    else:
        (copy / damaged).write_text("x")
    with (
        pytest.raises(
            IntegrityError, match=rf"{damaged}: {fault}; .* nothing was sent \(longrank cache remove remote/"
        ),
        changing(PLACE) as folder,
    ):
        (folder / "deleted").unlink(missing_ok=True)
        (folder / "replaced").unlink(missing_ok=True)
        (folder / "replaced").write_text("new")
    remove(copy.parent.relative_to(cache).as_posix())
    assert contents(local(PLACE)) == {"kept": "1", "replaced": "2", "deleted": "3"}


@pytest.mark.parametrize(
    "name",
    ["../x", "/etc/x", "a/../../x", ".hidden", "a/.b", "a//b", "a\\b", "a/", "", "x" * 300, "a\nb", "a" + "/a" * 9],
)
def test_a_manifest_that_leads_out_of_the_copy_is_refused(name: str, memory: str, cache: Path) -> None:
    file = {"size": 1, "sha256": sha256("1")}
    put_manifest(memory, {"format": "longrank remote folder", "version": 1, "files": {"a": file, name: file}})
    with pytest.raises(IntegrityError, match=f"{memory}/manifest.json: names a file that no index has; do not use"):
        local(memory)
    assert not cache.exists()


@pytest.mark.parametrize(
    "entry",
    [
        {},
        None,
        {"size": -1, "sha256": "0" * 64},
        {"size": True, "sha256": "0" * 64},
        {"size": 1, "sha256": "0" * 64, "object": "1" * 64},
        {"size": 1, "sha256": "0" * 64, "object": "../x"},
        {"size": 1, "sha256": "0" * 64, "object": 5},
    ],
)
def test_a_file_without_size_checksum_or_its_object_is_refused(entry: object, memory: str) -> None:
    put_manifest(memory, {"format": "longrank remote folder", "version": 1, "files": {"a": entry}})
    with pytest.raises(IntegrityError, match="names a file that no index has"):
        local(memory)


@pytest.mark.parametrize(
    ("manifest", "error", "said"),
    [
        (b"{", IntegrityError, "cannot be read"),
        (b'{"format": "longrank index"}', InputError, "holds something else than an index"),
        (b'{"format": "longrank remote folder", "version": 9}', IntegrityError, "another version of longrank"),
        (b'{"format": "longrank remote folder", "version": 1, "files": []}', IntegrityError, "no index has"),
        (b"[" * 9999, IntegrityError, "cannot be read"),
    ],
)
def test_a_manifest_of_something_else_is_refused_and_kept(
    manifest: bytes, error: type[Exception], said: str, memory: str
) -> None:
    put_manifest(memory, manifest)
    for use in (local, write):
        with pytest.raises(error, match=said):
            use(memory)
    assert Store(memory).seen("manifest.json", 10_000).content == manifest


def test_a_file_inside_a_file_is_refused(memory: str) -> None:
    files = {name: {"size": 1, "sha256": sha256("1")} for name in ("a", "a/b")}
    put_manifest(memory, {"format": "longrank remote folder", "version": 1, "files": files})
    with pytest.raises(IntegrityError, match="names a file inside a file"):
        local(memory)


@pytest.mark.parametrize("kind", ["s3", "memory"])
def test_the_second_of_two_writers_is_refused(kind: str, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(kind)
    place = PLACE if kind == "s3" else "memory://bucket/name"
    with pytest.raises(BeingWritten, match="has changed the index meanwhile"), changing(place, anew=True) as folder:
        folder.mkdir()
        (folder / "a").write_text("second")
        write(place, a="first")
    assert contents(local(place)) == {"a": "first"}
    with pytest.raises(BeingWritten, match="has changed the index meanwhile"), changing(place) as folder:
        (folder / "b").write_text("second")
        write(place, a="third")
    assert contents(local(place)) == {"a": "third"}


def test_a_manifest_whose_answer_was_lost_is_written(s3: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs

    written = s3fs.S3FileSystem.pipe_file

    def losing(self: Any, path: str, value: bytes, **options: Any) -> None:
        written(self, path, value, **options)
        raise ConnectionResetError("connection reset by peer")

    monkeypatch.setattr(s3fs.S3FileSystem, "pipe_file", losing)
    write(PLACE, a="1")
    assert contents(local(PLACE)) == {"a": "1"}


def test_an_error_in_a_change_sends_nothing(s3: Stores, cache: Path) -> None:
    with pytest.raises(RuntimeError), changing(PLACE, anew=True) as folder:
        folder.mkdir()
        raise RuntimeError
    assert s3.keys() == []
    assert [path.name for path in (cache / "remote").rglob("*") if path.is_dir()] == [
        path.name for path in (cache / "remote").iterdir()
    ]


def test_files_that_vanish_because_the_index_was_replaced_are_those_of_the_new_index(
    s3: Stores, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(PLACE, a="old")
    other_machine(cache)
    reading, calls = Store.read, []

    def read(self: Store, name: str, start: int, end: int) -> bytes:
        calls.append(name)
        if len(calls) == 2:  # between the manifest and the first file
            old = (cache, cache.with_name("writer"))
            use_cache_folder(old[1])
            write(PLACE, a="new")
            use_cache_folder(old[0])
        return reading(self, name, start, end)

    monkeypatch.setattr(Store, "read", read)
    assert contents(local(PLACE)) == {"a": "new"}


def test_copies_in_use_stay_and_others_are_removed(s3: Stores, cache: Path) -> None:
    folders = []
    for n in range(4):
        write(PLACE, a=str(n))
        folders.append(local(PLACE))
    assert [folder.exists() for folder in folders] == [False, False, True, True]
    assert list(entries()) == [f"remote/{folders[0].parent.name}"]


def test_a_copy_is_not_changed_by_its_path(s3: Stores) -> None:
    write(PLACE, a="1")
    with pytest.raises(InputError, match="is the local copy of an index elsewhere; change the index by its address"):
        check_no_copy(local(PLACE))


def test_a_full_disk_is_one_line(s3: Stores, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(PLACE, a="1" * 5_000_000)
    other_machine(cache)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: shutil._ntuple_diskusage(10, 9, 1 << 20))  # type: ignore[attr-defined]
    with pytest.raises(
        InputError, match=f"fetching {PLACE} takes 4882 KiB and 1024 KiB are free; free disk space, or set XDG"
    ):
        local(PLACE)
    monkeypatch.undo()


def test_a_write_that_fails_is_one_line(s3: Stores, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(PLACE, a="1")
    other_machine(cache)

    def full(piece: Any, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("longrank.storage.remote.downloads._append", full)
    with pytest.raises(LongRankError, match=r"cannot write .*: No space left on device"):
        local(PLACE)


def test_what_is_absent_is_named(s3: Stores) -> None:
    with pytest.raises(InputError, match=f"{PLACE}: no such index; build it: longrank index SOURCE -o {PLACE}"):
        local(PLACE)
    with pytest.raises(InputError, match="no such index"), changing(PLACE):
        pass
    for use in (local, write):
        with pytest.raises(InputError, match="s3://nobody/x: there is no such bucket; make it, or correct the address"):
            use("s3://nobody/x")


def test_credentials_are_asked_for_and_never_shown(s3: Stores, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import s3fs

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(InputError, match=f"{PLACE}: the object store needs credentials; .*aws configure"):
        local(PLACE)


def test_a_server_that_refuses_is_one_line(s3: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*arguments: Any, **options: Any) -> bytes:
        raise PermissionError("Access Denied")

    import s3fs

    monkeypatch.setattr(s3fs.S3FileSystem, "cat_file", refusing)
    with pytest.raises(InputError, match="the object store refuses access: Access Denied; check the rights"):
        local(PLACE)


@pytest.mark.parametrize(
    ("place", "module", "error", "said"),
    [
        ("s3://b/x", "s3fs", MissingExtra, "an index in S3 needs the extra 'remote'"),
        ("gs://b/x", "gcsfs", InputError, "gs:// needs the package gcsfs; pip install gcsfs"),
    ],
)
def test_a_package_that_is_missing_is_named(
    place: str, module: str, error: type[InputError], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fsspec", reason="needs the extra remote")
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(import_module("fsspec.registry")._registry, place.partition(":")[0], raising=False)
    with pytest.raises(error, match=said):
        local(place)


def test_progress_counts_bytes(s3: Stores, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from contextlib import contextmanager

    shown: list[tuple[str, int, list[int]]] = []

    @contextmanager
    def progress(what: str, total: int, unit: str) -> Iterator[Any]:
        assert unit == "bytes"
        shown.append((what, total, []))
        yield shown[-1][2].append

    monkeypatch.setattr("longrank.storage.transfers._shown", {})
    use_progress(progress)
    write(PLACE, a="1" * 1000, b="2")
    other_machine(cache)
    local(PLACE)
    assert [(what, total, sum(done)) for what, total, done in shown] == [
        (f"sending to {PLACE}", 1001, 1001),
        (f"fetching {PLACE}", 1001, 1001),
    ]
