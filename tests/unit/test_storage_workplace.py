"""The guard of outputs: own, lock, resume."""

import re
from pathlib import Path

import pytest

from longrank.errors import InputError, IntegrityError
from longrank.storage.workplace import (
    check_apart,
    check_own,
    read_json,
    refuse_changed,
    working_in,
    working_on,
    write_json,
)


def test_a_folder_is_owned_if_it_is_new_empty_or_begun(tmp_path: Path) -> None:
    check_own(tmp_path / "new", "tuning", begun=False)
    check_own(tmp_path, "tuning", begun=False)
    (tmp_path / ".lock").touch()  # which a killed process has left
    check_own(tmp_path, "tuning", begun=False)
    with pytest.raises(InputError, match="is not empty; choose a new folder"):
        check_own(tmp_path, "", begun=False)
    (tmp_path / "letter.txt").touch()
    check_own(tmp_path, "tuning", begun=True)
    with pytest.raises(InputError, match="is not empty and holds no tuning; choose a new folder"):
        check_own(tmp_path, "tuning", begun=False)
    with pytest.raises(InputError, match="is a file; a folder is needed"):
        check_own(tmp_path / "letter.txt", "tuning", begun=False)


def test_one_process_works_in_a_folder_and_leaves_no_lock(tmp_path: Path) -> None:
    with working_in(tmp_path / "w"):
        (tmp_path / "w" / "result").touch()
        with pytest.raises(InputError, match="is being written by pid"), working_in(tmp_path / "w"):
            pass
    assert [path.name for path in (tmp_path / "w").iterdir()] == ["result"]


def test_a_folder_created_for_nothing_is_removed_and_others_stay(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), working_in(tmp_path / "w", worthless=["identity.json"]):
        (tmp_path / "w" / "identity.json").touch()
        raise ZeroDivisionError
    assert not (tmp_path / "w").exists()
    (tmp_path / "mine").mkdir()
    with working_in(tmp_path / "mine", worthless=["identity.json"]):
        pass
    assert list((tmp_path / "mine").iterdir()) == []


def test_a_file_is_locked_whichever_link_leads_to_it(tmp_path: Path) -> None:
    (tmp_path / "real").touch()
    (tmp_path / "link").symlink_to("real")
    for one, other in (("real", "link"), ("link", "real")):
        with working_on(tmp_path / one), pytest.raises(InputError, match="is being written by pid"):
            working_on(tmp_path / other).__enter__()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


def test_an_emptied_lock_stays_with_the_file_that_asks_for_it(tmp_path: Path) -> None:
    with working_in(tmp_path / "w", keep_lock_with="manifest.json"):
        (tmp_path / "w" / "manifest.json").touch()
    assert (tmp_path / "w" / ".lock").read_bytes() == b""


def test_one_process_writes_a_file(tmp_path: Path) -> None:
    with working_on(tmp_path / "f"):
        assert (tmp_path / ".f.lock").exists()
        with pytest.raises(InputError, match="is being written by pid"), working_on(tmp_path / "f"):
            pass
    assert list(tmp_path.iterdir()) == []


def test_json_is_read_as_written_and_damage_names_file_and_cure(tmp_path: Path) -> None:
    write_json(tmp_path / "a", {"b": "ö", "a": 1}, sort_keys=True)
    assert (tmp_path / "a").read_text(encoding="utf-8") == '{\n "a": 1,\n "b": "ö"\n}\n'
    assert read_json(tmp_path / "a") == {"b": "ö", "a": 1}
    for damage in (b"", b"[1]", b"\xff\xfe", b"[" * 100_000):
        (tmp_path / "a").write_bytes(damage)
        with pytest.raises(IntegrityError, match=r"/a: cannot be read .*; run it again"):
            read_json(tmp_path / "a", "run it again")


def test_the_first_setting_that_differs_is_named() -> None:
    refuse_changed(Path("f"), {"a": 1, "b": 2}, {"b": 2, "a": 1})
    with pytest.raises(InputError, match="f: was begun with other b: 2 then, 3 now; give the old settings"):
        refuse_changed(Path("f"), {"a": 1, "b": 2}, {"b": 3, "a": 1})
    with pytest.raises(InputError, match="was begun with other c: 1 then, null now"):
        refuse_changed(Path("f"), {"c": 1}, {})


def test_of_two_fingerprints_the_option_that_differs_is_named() -> None:
    fingerprint = "bi-encoder(sha256=1) | windows(unit=sentence,splitter=rules 2.0.0 lines-1,language=en) | all()"
    for option in ("splitter=rules 1.0.32 plain", "language=de"):
        begun = re.sub(f"{option.partition('=')[0]}=[^,)]*", option, fingerprint)
        with pytest.raises(InputError, match=f'was begun with other scorer: "{option}" then, '):
            refuse_changed(Path("f"), {"scorer": begun}, {"scorer": fingerprint})
    with pytest.raises(InputError, match=r'other scorer: "lexical\(k1=2\)" then, "bi-encoder'):
        refuse_changed(Path("f"), {"scorer": "lexical(k1=2)"}, {"scorer": fingerprint})


def test_an_output_that_is_an_input_under_another_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("1 Q0 d 1 1 t\n")
    (tmp_path / "A.RUN").hardlink_to(tmp_path / "a.run")  # as on a disk that ignores case
    with pytest.raises(InputError, match="is also an input"):
        check_apart(tmp_path / "A.RUN", tmp_path / "a.run")
    check_apart(tmp_path / "b.run", tmp_path / "a.run")
