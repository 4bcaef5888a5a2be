from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import subprocess
import sys
import zlib
from pathlib import Path
from typing import IO, Any
from unittest.mock import Mock

import pytest

from longrank.errors import InputError, IntegrityError
from longrank.storage import (
    MANIFEST,
    Journal,
    atomic_write,
    check_folder,
    check_writable,
    digest_of,
    lock,
    lock_in_turn,
    open_manifest,
    read_header,
    read_journal,
    verify,
    write_manifest,
)

# --- single files ------------------------------------------------------------------------------


@pytest.mark.parametrize("works", [True, False])
def test_files_are_synced_beyond_the_cache_of_the_disk_where_a_system_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, works: bool
) -> None:
    calls: list[str] = []

    def full(descriptor: int, command: int) -> None:
        calls.append(f"full {command}")
        if not works:
            raise OSError("not supported")

    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", full)
    monkeypatch.setattr(os, "fsync", lambda descriptor: calls.append("fsync"))
    with atomic_write(tmp_path / "file") as stream:
        stream.write(b"text")
    assert calls == (["full 51"] if works else ["full 51", "fsync"]) * 2  # the file and its folder


def test_a_file_appears_whole_and_alone(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "run.txt", "w") as stream:
        stream.write("é\n")
        assert not (tmp_path / "run.txt").exists()
    assert (tmp_path / "run.txt").read_bytes() == "é\n".encode()
    assert [path.name for path in tmp_path.iterdir()] == ["run.txt"]


def test_a_written_file_has_the_rights_of_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "umask")  # to read it is to change it, for files of other threads
    (tmp_path / "plain").touch()
    with atomic_write(tmp_path / "atomic"):
        pass
    assert stat.S_IMODE((tmp_path / "atomic").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_a_file_that_is_written_again_keeps_its_rights(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").touch()
    (tmp_path / "qrels.txt").chmod(0o640)
    with atomic_write(tmp_path / "qrels.txt") as stream:
        stream.write(b"1 0 d 1")
        assert all(not stat.S_IMODE(path.stat().st_mode) & ~0o640 for path in tmp_path.iterdir())
    assert (stat.S_IMODE((tmp_path / "qrels.txt").stat().st_mode), (tmp_path / "qrels.txt").read_bytes()) == (
        0o640,
        b"1 0 d 1",
    )


def test_rights_that_a_new_file_would_not_have_are_kept(tmp_path: Path) -> None:
    (tmp_path / "shared.run").touch()
    (tmp_path / "shared.run").chmod(0o666)
    mask = os.umask(0o022)
    try:
        with atomic_write(tmp_path / "shared.run") as stream:
            stream.write(b"1")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "shared.run").stat().st_mode) == 0o666


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_file_that_is_written_again_keeps_its_owner_and_group(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.touch()
    os.chown(path, 1234, 4321)
    path.chmod(0o660)
    with atomic_write(path) as stream:
        stream.write(b"1 0 d 1")
    status = path.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 4321, 0o660)


@pytest.mark.parametrize("refused", [[1234], [1234, -1]])
def test_an_owner_that_cannot_be_kept_stops_no_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: list[int]
) -> None:
    path, given = tmp_path / "qrels.txt", []
    path.touch()
    real = Path.stat

    def owned(place: Path, **options: Any) -> os.stat_result:
        status = real(place, **options)
        return os.stat_result((*status[:4], 1234, 4321, *status[6:])) if place == path else status

    def chown(place: Path, owner: int, group: int) -> None:
        if owner in refused:
            raise PermissionError(1, "Operation not permitted")
        given.append((owner, group))

    with monkeypatch.context() as another:
        another.setattr(Path, "stat", owned)
        another.setattr(os, "chown", chown)
        with atomic_write(path) as stream:
            stream.write(b"1 0 d 1")
    assert path.read_bytes() == b"1 0 d 1"
    assert given == ([] if -1 in refused else [(-1, 4321)])


def test_a_link_that_leads_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "new").symlink_to("target")
    with pytest.raises(InputError, match=r"loop: is a link that leads to itself"):
        check_writable(tmp_path / "loop")
    check_writable(tmp_path / "new")


def test_a_write_protected_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, access = tmp_path / "run.txt", os.access
    path.write_text("kept")
    path.chmod(0o444)
    # root may write to all files
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) != path and access(place, mode))
    with pytest.raises(InputError, match=r"run\.txt: is write-protected; chmod u\+w"), atomic_write(path):
        pass
    assert path.read_text() == "kept"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, InputError])
def test_an_error_leaves_the_old_file_and_nothing_else(error: type[BaseException], tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text("old")
    before = (tmp_path / "run.txt").stat().st_mtime_ns
    with pytest.raises(error), atomic_write(tmp_path / "run.txt") as stream:
        stream.write(b"new")
        raise error("stop")
    assert (tmp_path / "run.txt").read_text() == "old"
    assert (tmp_path / "run.txt").stat().st_mtime_ns == before
    assert len(list(tmp_path.iterdir())) == 1


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "run.txt")
    with atomic_write(tmp_path / "link", "w") as stream:
        stream.write("new")
    assert (tmp_path / "link").is_symlink()
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["run.txt"]
    assert (tmp_path / "there" / "run.txt").read_text() == "new"


def test_a_pipe_or_a_device_is_never_renamed_away(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with pytest.raises(InputError, match="is a pipe or a device"):
            check_writable(tmp_path / name)


def test_the_sign_for_standard_output_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="'-' is no file"):
        check_writable(Path("-"))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs the descriptors of Linux")
def test_an_open_file_is_not_replaced_by_its_descriptor(tmp_path: Path) -> None:
    with (tmp_path / "all.runs").open("w") as stream:
        stream.write("kept\n")
        stream.flush()
        (tmp_path / "link").symlink_to(f"/dev/fd/{stream.fileno()}")
        for path in (f"/dev/fd/{stream.fileno()}", f"/proc/self/fd/{stream.fileno()}", tmp_path / "link"):
            with (
                pytest.raises(InputError, match="is a file that is open already; a file name"),
                atomic_write(Path(path)),
            ):
                raise AssertionError("the block must not be entered")
    assert (tmp_path / "all.runs").read_text() == "kept\n"


def test_a_place_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; a file name is needed"):
        check_writable(tmp_path)
    with pytest.raises(InputError, match="its folder does not exist"):
        check_writable(tmp_path / "no" / "run.txt")
    with pytest.raises(InputError, match="its folder does not exist"), atomic_write(tmp_path / "no" / "run.txt"):
        raise AssertionError("the block must not be entered")


def test_a_name_as_long_as_names_may_be_is_written_and_a_longer_one_refused(tmp_path: Path) -> None:
    with atomic_write(tmp_path / ("é" * 120 + ".run"), "w") as stream:  # 244 bytes
        stream.write("whole")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["whole"]
    with pytest.raises(InputError, match="File name too long"):
        check_writable(tmp_path / ("x" * 256))


FULL_DISK = """
import resource, sys
from pathlib import Path
from longrank.errors import LongRankError
from longrank.storage import Journal, atomic_write
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
folder = Path(sys.argv[1])
try:
    with atomic_write(folder / "run.txt") as stream:
        stream.write(b"x" * 100_000)
except LongRankError as error:
    print(type(error).__name__, error)
try:
    with Journal(folder / "journal", {}) as journal:
        for number in range(100):
            journal.append(b"y" * 1000)
            journal.commit()
except LongRankError as error:
    print(type(error).__name__, error)
"""


def test_no_space_left_is_one_line_and_keeps_what_was_committed(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL_DISK, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        f"LongRankError cannot write {tmp_path / 'run.txt'}: File too large",
        f"LongRankError cannot write {tmp_path / 'journal'}: File too large",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["journal"]
    with Journal(tmp_path / "journal", {}) as journal:
        assert journal.n_committed == 4
    assert list(read_journal(tmp_path / "journal")) == [b"y" * 1000] * 4


# --- folders with a manifest -------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "made"
    (made / "sub").mkdir(parents=True)
    (made / "a.bin").write_bytes(bytes(range(256)))
    (made / "sub" / "b.txt").write_text("text")
    write_manifest(made, {"version": 1})
    return made


def test_a_manifest_names_every_file_and_equal_content_gives_equal_bytes(folder: Path, tmp_path: Path) -> None:
    manifest = open_manifest(folder)
    assert manifest["version"] == 1
    assert {name: entry["size"] for name, entry in manifest["files"].items()} == {"a.bin": 256, "sub/b.txt": 4}
    assert verify(folder) == 2
    before = (folder / MANIFEST).read_bytes()
    write_manifest(folder, {"version": 1})
    assert (folder / MANIFEST).read_bytes() == before


def test_a_folder_without_a_manifest_is_not_opened(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(InputError, match="holds no manifest"):
            open_manifest(path)


def test_a_missing_or_short_file_is_found_at_opening(folder: Path) -> None:
    (folder / "a.bin").write_bytes(bytes(range(255)))
    with pytest.raises(IntegrityError, match=r"a\.bin: 255 bytes instead of 256"):
        open_manifest(folder)
    (folder / "a.bin").unlink()
    with pytest.raises(IntegrityError, match=r"a\.bin: missing"):
        open_manifest(folder)


def test_a_flipped_bit_is_found_by_verify(folder: Path) -> None:
    content = bytearray((folder / "a.bin").read_bytes())
    content[100] ^= 1
    (folder / "a.bin").write_bytes(content)
    open_manifest(folder)
    with pytest.raises(IntegrityError, match=r"a\.bin: checksum differs"):
        verify(folder)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"files": []}',
        '{"files": {"a.bin": 3}}',
        '{"files": {"a.bin": {"size": 256}}}',
        "[" * 99999,
    ],
)
def test_a_damaged_manifest_is_an_integrity_error(text: str, folder: Path) -> None:
    (folder / MANIFEST).write_text(text)
    with pytest.raises(IntegrityError, match=r"manifest\.json: cannot be read"):
        open_manifest(folder)


def test_digests_do_not_depend_on_the_order_of_keys() -> None:
    assert digest_of({"a": 1, "b": [2]}) == digest_of({"b": [2], "a": 1})
    assert digest_of({"a": 1}) != digest_of({"a": 2})


# --- locks -------------------------------------------------------------------------------------

HOLD = """
import sys
from pathlib import Path
from longrank.storage import lock
with lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_refused_and_a_dead_owner_frees_the_lock(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path / "lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None and owner.stdout.readline() == b"held\n"
        with pytest.raises(InputError, match=f"is being written by pid {owner.pid} on "), lock(tmp_path / "lock"):
            raise AssertionError("two owners")
        owner.kill()
        owner.wait()
        with lock(tmp_path / "lock"):
            assert (tmp_path / "lock").read_text().startswith(f"pid {os.getpid()} on ")


def test_a_lock_empties_no_file_of_a_user(tmp_path: Path) -> None:
    for mine in (b"mine \xff", b"\0\0\0\0mine", b"pid\0mine", b"p\0\0\0mine"):
        (tmp_path / ".lock").write_bytes(mine)
        with pytest.raises(InputError, match=r"\.lock: is no lock file of longrank"), lock(tmp_path / ".lock"):
            raise AssertionError("the file was taken for a lock")
        assert (tmp_path / ".lock").read_bytes() == mine
    for torn in (b"", b"p", b"pid", b"pid 7", b"\0" * 20, b"pi\0\0\0"):
        (tmp_path / ".lock").write_bytes(torn)
        with lock(tmp_path / ".lock"):
            pass


FORKED = """
import os, sys
from pathlib import Path
from longrank.errors import InputError
from longrank.storage.locks import lock

path = Path(sys.argv[1])

def is_taken():
    try:
        with lock(path):
            return False
    except InputError:
        return True

waits, go_on = os.pipe()
with lock(path):
    if (worker := os.fork()) == 0:  # lives on
        os.close(go_on)
        os.read(waits, 1)
        os._exit(0)
    if (leaver := os.fork()) == 0:
        sys.exit(0)  # leaves the block
    os.waitpid(leaver, 0)
    print("held:", is_taken())
print("free:", not is_taken())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_neither_keeps_nor_frees_a_lock(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED, tmp_path / "lock"], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split("\n") == ["held: True", "free: True", ""]


@pytest.mark.parametrize("hold", [lock, lock_in_turn])
def test_a_disk_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hold: Any) -> None:
    def flock(*args: Any) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    monkeypatch.setattr("time.sleep", Mock(side_effect=AssertionError("it waits for ever")))
    with pytest.raises(InputError, match=f"{tmp_path}: cannot be locked: No locks available; choose a folder"):
        hold(tmp_path / "lock").__enter__()


def test_a_lock_that_its_owner_took_away_is_not_taken_for_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, really = tmp_path / "lock", fcntl.flock

    def late(stream: IO[str], operation: int) -> None:
        path.unlink()  # between opening and locking, as an owner that ends does
        path.touch()  # and the next one has come
        really(stream, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with pytest.raises(InputError, match="is being written by another process"), lock(path):
        raise AssertionError("locked a file that nobody else can see")


def test_a_lock_that_cannot_be_created_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be locked for writing"), lock(tmp_path / "no" / "lock"):
        raise AssertionError("not locked")


# --- journals ----------------------------------------------------------------------------------

HEADER = {"version": 1, "model": "minilm"}
BLOCKS = [[b"first", b""], [b"second" * 20], [b"third", b"R" * 9, b"C\x00\x00"]]


def write_blocks(path: Path, blocks: list[list[bytes]]) -> None:
    with Journal(path, HEADER) as journal:
        for block in blocks[journal.n_marks :]:
            for body in block:
                journal.append(body)
            journal.commit()


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    """The bytes of an undisturbed journal."""
    write_blocks(tmp_path / "whole", BLOCKS)
    return (tmp_path / "whole").read_bytes()


def marks(tmp_path: Path) -> list[int]:
    """Where an undisturbed journal is safe: after the header and after each block."""
    sizes = []
    for n in range(len(BLOCKS) + 1):
        path = tmp_path / f"first{n}"
        write_blocks(path, BLOCKS[:n])
        sizes.append(path.stat().st_size)
    return sizes


def test_a_journal_reads_back_what_was_committed(whole: bytes, tmp_path: Path) -> None:
    assert list(read_journal(tmp_path / "whole")) == [body for block in BLOCKS for body in block]
    assert read_header(tmp_path / "whole") == HEADER


def test_a_journal_that_is_replaced_or_removed_while_it_is_read_is_read_on(whole: bytes, tmp_path: Path) -> None:
    bodies = [body for block in BLOCKS for body in block]
    write_blocks(tmp_path / "new", BLOCKS[:1])
    for meanwhile in (Path.unlink, (tmp_path / "new").replace):
        (tmp_path / "read").write_bytes(whole)
        reading = read_journal(tmp_path / "read", HEADER)
        first = next(reading)
        meanwhile(tmp_path / "read")
        assert [first, *reading] == bodies


def test_a_journal_that_is_overwritten_while_it_is_read_has_changed(whole: bytes, tmp_path: Path) -> None:
    write_blocks(tmp_path / "other", [[body[::-1] for body in block] for block in BLOCKS])
    other = (tmp_path / "other").read_bytes()
    assert len(other) == len(whole)  # a mixture would have whole records
    (tmp_path / "read").write_bytes(whole)
    reading = read_journal(tmp_path / "read")
    next(reading)
    (tmp_path / "read").write_bytes(other)
    with pytest.raises(InputError, match="has changed since it was opened"):
        list(reading)


def test_a_journal_that_grows_while_it_is_read_has_changed(whole: bytes, tmp_path: Path) -> None:
    reading = read_journal(tmp_path / "whole")
    next(reading)
    with (tmp_path / "whole").open("ab") as stream:
        stream.write(b"more")
    with pytest.raises(InputError, match="has changed since it was opened"):
        list(reading)
    with pytest.raises(IntegrityError, match="unfinished or damaged after byte"):
        list(read_journal(tmp_path / "whole"))


def test_a_journal_cut_at_any_byte_resumes_to_the_same_bytes(whole: bytes, tmp_path: Path) -> None:
    safe = marks(tmp_path)
    path = tmp_path / "cut"
    for size in range(safe[0], len(whole) + 1):
        path.write_bytes(whole[:size])
        n = sum(mark <= size for mark in safe[1:])
        with Journal(path, HEADER) as journal:
            assert (journal.n_marks, journal.n_committed) == (n, sum(map(len, BLOCKS[:n])))
        assert path.stat().st_size == safe[n]
        write_blocks(path, BLOCKS)
        assert path.read_bytes() == whole


def test_any_flipped_bit_of_the_last_block_is_cut_away_and_redone(whole: bytes, tmp_path: Path) -> None:
    safe = marks(tmp_path)
    path = tmp_path / "flipped"
    for position in range(safe[-2], len(whole)):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[position] ^= 1 << bit
            path.write_bytes(damaged)
            with pytest.raises(IntegrityError, match="unfinished or damaged"):
                list(read_journal(path))
            write_blocks(path, BLOCKS)
            assert path.read_bytes() == whole


def test_a_block_that_reached_the_disk_in_part_is_cut_away_and_redone(whole: bytes, tmp_path: Path) -> None:
    start, path = marks(tmp_path)[-2], tmp_path / "holes"
    for size in range(1, len(whole) - start + 1):
        path.write_bytes(whole[:start] + bytes(size) + whole[start + size :])
        write_blocks(path, BLOCKS)
        assert path.read_bytes() == whole


@pytest.mark.parametrize("torn", [0, 3])
@pytest.mark.parametrize("more", [0, 3])  # records of the last block
def test_a_flipped_bit_before_the_last_block_is_damage_and_the_file_stays(torn: int, more: int, tmp_path: Path) -> None:
    last = [b"C\x04\x00\x00\x00" * 3, *[b"x"] * more]
    blocks, path = [[b"first", b""], [b"second" * 20, b"third"], last], tmp_path / "flipped"
    write_blocks(path, blocks[:2])
    before_last = path.stat().st_size
    write_blocks(path, blocks)
    whole = path.read_bytes()
    start = whole.index(b"\n") + 1
    first = start + sum(9 + len(body) for body in blocks[0]) + 13
    for position in range(start, before_last):
        damaged = bytearray(whole[: len(whole) - torn])
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        safe = start if position < first else first
        message = (
            rf"flipped: damaged after byte {safe}; finished blocks that follow: \d; .*: truncate -s {safe} /.*flipped"
        )
        for read in (lambda: list(read_journal(path)), lambda: Journal(path, HEADER)):
            if torn and position >= before_last - 13:  # no whole mark follows: no power cut, and no other sign of it
                continue
            with pytest.raises(IntegrityError, match=message):
                read()
        assert path.read_bytes() == damaged
    os.truncate(path, first)
    write_blocks(path, blocks)
    assert path.read_bytes() == whole


def test_a_reader_refuses_a_journal_that_is_not_finished(whole: bytes, tmp_path: Path) -> None:
    safe = marks(tmp_path)
    path = tmp_path / "cut"
    for size in range(safe[0], len(whole)):
        path.write_bytes(whole[:size])
        if size in safe:
            list(read_journal(path))
        else:
            with pytest.raises(IntegrityError, match=r"cut: unfinished or damaged after byte \d+; run the command"):
                list(read_journal(path))


def test_a_record_that_was_taken_out_whole_is_noticed(whole: bytes, tmp_path: Path) -> None:
    safe = marks(tmp_path)
    frame = 9 + len(BLOCKS[0][0])
    path = tmp_path / "spliced"
    path.write_bytes(whole[: safe[0]] + whole[safe[0] + frame :])
    with pytest.raises(IntegrityError, match=f"damaged after byte {safe[0]}; finished blocks that follow: 3"):
        list(read_journal(path))


def test_records_without_a_commit_are_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Journal(path, HEADER) as journal:
        journal.append(b"kept")
        journal.commit()
        journal.append(b"lost")
    with Journal(path, HEADER) as journal:
        assert journal.n_committed == 1
        journal.commit()  # an empty block is a block
    assert list(read_journal(path)) == [b"kept"]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"version": 1, "model": "monobert"}, 'was begun with other model: "minilm" then, "monobert" now'),
        ({"version": 1}, 'was begun with other model: "minilm" then, null now'),
        ({**HEADER, "depth": 100}, "was begun with other depth: null then, 100 now"),
    ],
)
def test_another_header_is_refused_and_the_journal_untouched(
    header: dict[str, object], message: str, whole: bytes, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        Journal(tmp_path / "whole", header)
    assert message in str(caught.value)
    assert (tmp_path / "whole").read_bytes() == whole


@pytest.mark.parametrize("content", [b"", b"{}", b"[]\n", b"text\n", b"\xff\xfe\n", b"[" * 99999 + b"\n", b'{"a": 1'])
def test_a_file_that_is_no_journal_is_refused_and_untouched(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(InputError, match="exists and is no journal of longrank; choose another name"):
        Journal(path, HEADER)
    with pytest.raises(InputError, match="does not begin with a JSON header line"):
        read_header(path)
    assert path.read_bytes() == content


def test_a_journal_of_another_format_or_a_later_layout_is_refused_and_untouched(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "whole"
    with pytest.raises(InputError, match="exists and is no evidence file of longrank; choose another name"):
        Journal(path, HEADER | {"format": "other"}, "evidence file")
    assert path.read_bytes() == whole
    start = whole.partition(b'"journal": 2')[0] + b'"journal": 3, '
    path.write_bytes(start + f'"crc32": "{zlib.crc32(start):08x}"}}\n'.encode())
    with pytest.raises(IntegrityError, match="whole: journal of layout 3; this longrank reads 2"):
        read_header(path)


@pytest.mark.parametrize("key", ["journal", "crc32"])
def test_a_header_cannot_take_the_keys_of_the_journal(tmp_path: Path, key: str) -> None:
    with pytest.raises(ValueError, match=key):
        Journal(tmp_path / "journal", {key: 1})
    assert not (tmp_path / "journal").exists()


def test_a_journal_without_settings_has_a_checksum_too(tmp_path: Path) -> None:
    Journal(tmp_path / "journal", {}).close()
    assert read_header(tmp_path / "journal") == {}
    Journal(tmp_path / "journal", {}).close()


def test_a_long_header_is_read_again_and_a_difference_in_it_is_shown_short(tmp_path: Path) -> None:
    header = {"missing": [f"document-{i:020d}" for i in range(100_000)]}
    Journal(tmp_path / "journal", header).close()
    Journal(tmp_path / "journal", header).close()
    with pytest.raises(InputError, match="was begun with other missing") as caught:
        Journal(tmp_path / "journal", {"missing": header["missing"][1:]})
    assert len(str(caught.value)) < 2000
    assert "give the old settings to resume" in str(caught.value)


def test_a_header_survives_the_round_through_json(tmp_path: Path) -> None:
    header = {"text": "é\u2028", "tuple": (1, 2), "none": None}
    Journal(tmp_path / "journal", header).close()
    Journal(tmp_path / "journal", header).close()
    assert read_header(tmp_path / "journal") == json.loads(json.dumps(header))


def test_a_folder_that_cannot_be_one_is_found_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "nothing").symlink_to("nowhere")
    for name, what in (("file", "is a file"), ("nothing", "is a broken link"), ("no/where", "mkdir -p")):
        with pytest.raises(InputError, match=what):
            check_folder(tmp_path / name)
    for name in ("new", "."):
        check_folder(tmp_path / name)
    (tmp_path / "there").symlink_to(tmp_path)
    check_folder(tmp_path / "there")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "nothing", "there"]
