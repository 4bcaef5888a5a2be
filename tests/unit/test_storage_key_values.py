from __future__ import annotations

import hashlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from longrank.errors import InputError, IntegrityError, LongRankError
from longrank.storage import key_values
from longrank.storage.key_values import KeyValues


def test_what_was_added_is_found_by_another_process_opening_the_file(tmp_path: Path) -> None:
    KeyValues(tmp_path / "f", "cache").add({b"a": b"1", b"b": b"\x00\xff"})
    assert KeyValues(tmp_path / "f", "cache").get([b"b", b"c", b"a"]) == {b"a": b"1", b"b": b"\x00\xff"}


def test_what_came_first_stays_and_is_returned(tmp_path: Path) -> None:
    file = KeyValues(tmp_path / "f", "cache")
    assert file.add({b"a": b"1"}) == {b"a": b"1"}
    assert file.add({b"a": b"2", b"b": b"3"}) == {b"a": b"1", b"b": b"3"}
    assert file.add({}) == {}


def test_a_relative_path_names_the_same_file_in_another_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = KeyValues(Path("f"), "cache")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    KeyValues(Path("f"), "cache").add({b"a": b"of another file"})
    assert file.add({b"a": b"1"}) == file.get([b"a"]) == {b"a": b"1"}


def test_names_with_signs_of_an_address_are_names(tmp_path: Path) -> None:
    KeyValues(tmp_path / "a ?mode=memory#%41", "cache").add({b"a": b"1"})
    assert [path.name for path in tmp_path.iterdir()] == ["a ?mode=memory#%41"]


WRITER = """
import hashlib, pathlib, sys
from longrank.storage.key_values import KeyValues
file, mine = KeyValues(pathlib.Path(sys.argv[1]), "cache"), sys.argv[2].encode()
digest = hashlib.sha256()
for start in range(0, 2000, 50):
    keys = [n.to_bytes(32, "big") for n in range(start, start + 100)]  # half of them again in the next
    found = file.add(dict.fromkeys(keys, mine))
    digest.update(repr(sorted(found.items())).encode())
print(digest.hexdigest())
"""


def test_two_processes_that_write_at_once_lose_nothing_and_agree(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path / "f")]
    writers = [subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in ("one", "other")]
    said = [writer.communicate()[0].strip() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    file, digest = KeyValues(tmp_path / "f", "cache"), hashlib.sha256()
    for start in range(0, 2000, 50):
        found = file.get([n.to_bytes(32, "big") for n in range(start, start + 100)])
        assert len(found) == 100
        digest.update(repr(sorted(found.items())).encode())
    assert said == [digest.hexdigest()] * 2


KILLED = """
import os, pathlib, signal, sys
from longrank.storage.key_values import KeyValues
file = KeyValues(pathlib.Path(sys.argv[1]), "cache")
file.add({b"before": b"1"})
KeyValues._stored = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # between insert and commit
file.add({n.to_bytes(32, "big"): bytes(3000) for n in range(5000)})  # more than SQLite holds in memory
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_transaction_whose_process_is_killed_is_undone(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "f")], check=False)
    assert done.returncode == -signal.SIGKILL
    file = KeyValues(tmp_path / "f", "cache")
    assert file.get([b"before", *(n.to_bytes(32, "big") for n in range(5000))]) == {b"before": b"1"}
    file.add({b"after": b"2"})


def test_files_of_something_else_are_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("1 Q0 d 1 2.0 tag\n" * 1000)
    sqlite3.connect(tmp_path / "other").execute("CREATE TABLE entries (key, value)").connection.close()
    KeyValues(tmp_path / "later", "cache")
    sqlite3.connect(tmp_path / "later").execute("PRAGMA user_version = 2").connection.close()
    for name in ("run", "other", "later"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(InputError, match="exists and is no cache"):
            KeyValues(tmp_path / name, "cache")
        assert (tmp_path / name).read_bytes() == before


def test_places_where_no_file_can_be_are_refused(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "absent" / "f"):
        with pytest.raises(InputError):
            KeyValues(place, "cache")
    if os.geteuid():
        KeyValues(tmp_path / "f", "cache")
        (tmp_path / "f").chmod(0o400)
        with pytest.raises(InputError, match="cannot be opened for writing"):
            KeyValues(tmp_path / "f", "cache")


def test_a_damaged_file_is_an_integrity_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "f"
    source = random.Random(1)
    KeyValues(path, "cache").add({source.randbytes(32): source.randbytes(9) for _ in range(5000)})
    content = bytearray(path.read_bytes())
    content[4096:] = source.randbytes(len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(IntegrityError, match=r"f: damaged .*; name another file"):
        KeyValues(path, "cache").get([source.randbytes(32) for _ in range(100)])


def test_a_file_that_another_process_keeps_locked_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_values, "_WAIT", 0.01)
    file = KeyValues(tmp_path / "f", "cache")
    other = sqlite3.connect(tmp_path / "f", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LongRankError, match="f: database is locked"):
        file.add({b"a": b"1"})
    other.close()


def test_a_file_deleted_meanwhile_is_not_made_anew_in_silence(tmp_path: Path) -> None:
    file = KeyValues(tmp_path / "f", "cache")
    (tmp_path / "f").unlink()
    with pytest.raises(InputError, match="cannot be opened"):
        file.get([b"a"])
