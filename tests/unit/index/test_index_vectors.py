from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fakes import documents, index_of
from longrank.errors import InputError, IntegrityError, LongRankError
from longrank.index import Index, verify_index
from longrank.index import vectors as module
from longrank.index.reused_vectors import ReusedVectors
from longrank.index.vector_folders import VectorsDoNotFit, VectorsKey
from longrank.index.vectors import DocumentVectors, PassageVectors, find_vectors, stored_vectors, write_vectors
from longrank.storage import read_manifest, write_manifest
from longrank.types import Document, Notes, Passage, Segmentation

KEY = VectorsKey("encoder", "windows")
H = 3


def encoded(index: Index, scale: float = 1.0) -> Iterator[DocumentVectors]:
    """Document n has n + 1 passages with every second index, as a cap may leave them, and vectors of their own."""
    for number in range(len(index)):
        count = number + 1
        vectors = scale * (1000 * number + np.arange(count * H, dtype=np.float32).reshape(count, H))
        passages = tuple(passage(index, number, n) for n in range(0, 2 * count, 2))
        yield DocumentVectors(Segmentation(passages, 2 * count), vectors, np.arange(count) % 2 == 1)


def passage(index: Index, number: int, n: int) -> Passage:
    document = index.document(index.doc_id(number))
    return Passage(document.doc_id, n, document.text[n : n + 9], n, n + 9)


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return index_of(documents(4), tmp_path / "index")


def passages(*indices: int) -> list[Passage]:
    return [Passage("d", index, "", 0, 0) for index in indices]


def test_vectors_come_back_bit_for_bit(index: Index) -> None:
    write_vectors(index, "m-windows", KEY, H, encoded(index))
    stored, reason = find_vectors(Index.open(index.path), KEY)
    assert stored is not None
    assert (reason, len(stored), stored.dimension) == ("", 1 + 2 + 3 + 4, H)
    for number, expected in enumerate(encoded(index)):
        found = stored.rows(index.doc_id(number), expected.segmentation.passages)
        assert found is not None
        assert found[0].tobytes() == expected.vectors.tobytes()
        assert found[1].tolist() == expected.truncated.tolist()
        assert found[1].dtype == np.bool_


def test_some_passages_of_a_document_are_found_by_their_index(index: Index) -> None:
    write_vectors(index, "m", KEY, H, encoded(index))
    stored, _ = find_vectors(index, KEY)
    assert stored is not None
    found = stored.rows("d003", passages(2, 6))
    assert found is not None
    assert found[0].tolist() == [[3003, 3004, 3005], [3009, 3010, 3011]]
    assert found[1].tolist() == [True, True]


def test_passages_come_back_without_splitting_the_document_again(index: Index) -> None:
    write_vectors(index, "m", KEY, H, encoded(index))
    stored, _ = find_vectors(index, KEY)
    assert stored is not None
    for document, expected in zip(index, encoded(index), strict=True):
        assert stored.segmentation(document) == expected.segmentation
    assert stored.segmentation(Document("unknown", "", "text")) is None


def test_vectors_of_version_0_1_have_no_places_of_passages_and_are_found(index: Index) -> None:
    folder = write_vectors(index, "m", KEY, H, encoded(index))
    manifest = read_manifest(folder)
    for name in ("starts", "ends", "numbers", "manifest.json"):
        (folder / name).unlink()
    write_manifest(folder, {name: value for name, value in manifest.items() if name != "files"})
    stored, _ = find_vectors(index, KEY)
    assert stored is not None
    assert stored.segmentation(index.document("d001")) is None
    assert stored.rows("d001", passages(0)) is not None


def test_what_is_not_stored_is_not_invented(index: Index) -> None:
    write_vectors(index, "m", KEY, H, encoded(index))
    stored, _ = find_vectors(index, KEY)
    assert stored is not None
    assert stored.rows("unknown", passages(0)) is None
    assert stored.rows("d003", passages(0, 1)) is None
    assert stored.rows("d003", passages(8)) is None


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (KEY._replace(encoder="other"), "m-windows has another encoder"),
        (KEY._replace(segmenter="other"), "m-windows has another segmenter"),
        (KEY._replace(title=True), "m-windows has another title"),
    ],
)
def test_vectors_of_something_else_are_not_used_and_the_reason_is_given(
    index: Index, changed: VectorsKey, reason: str
) -> None:
    write_vectors(index, "m-windows", KEY, H, encoded(index))
    assert find_vectors(index, changed) == (None, reason)


def test_where_none_are_stored_there_is_nothing_to_say(index: Index) -> None:
    assert find_vectors(index, KEY) == (None, "")


def test_vectors_of_several_models_stand_side_by_side_and_a_hub_name_makes_one_folder(index: Index) -> None:
    first = write_vectors(index, "someone/a model-windows", KEY, H, encoded(index))
    write_vectors(index, "other", KEY._replace(encoder="other"), H, encoded(index))
    assert first == index.path / "vectors" / "someone-a-model-windows"
    found, _ = find_vectors(index, KEY)
    assert found is not None
    assert found.path == first


def test_writing_again_replaces_the_vectors(index: Index) -> None:
    write_vectors(index, "m", KEY, H, encoded(index))
    write_vectors(index, "m", KEY, H, encoded(index, 2.0))
    stored, _ = find_vectors(index, KEY)
    assert stored is not None
    found = stored.rows("d001", passages(0))
    assert found is not None
    assert found[0].tolist() == [[2000, 2002, 2004]]


def test_vectors_of_an_earlier_state_of_an_index_replace_none(index: Index) -> None:
    earlier = Index(index.path)
    index.add([("new", "a new page")])
    newest = Index(index.path)
    write_vectors(newest, "m", KEY, H, encoded(newest))
    with pytest.raises(InputError, match="the index has changed since it was opened"):
        write_vectors(earlier, "m", KEY, H, encoded(earlier))
    assert find_vectors(newest, KEY)[0] is not None


def test_vectors_that_are_replaced_while_they_are_opened_are_refused(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module.PassageVectors

    def meanwhile(*given: Any) -> Any:
        opened = real(*given)
        write_vectors(index, "m-windows", KEY, H, encoded(index, 2.0))
        return opened

    write_vectors(index, "m-windows", KEY, H, encoded(index))
    monkeypatch.setattr(module, "PassageVectors", meanwhile)
    for opens in (lambda: find_vectors(index, KEY), lambda: stored_vectors(index)):
        with pytest.raises(VectorsDoNotFit, match="these vectors were replaced while they were opened; try again"):
            opens()
        write_vectors(index, "m-windows", KEY, H, encoded(index))


def test_vectors_are_open_to_those_to_whom_the_index_is_open(index: Index) -> None:
    index.path.chmod(0o750)
    for _ in range(2):  # new, and in place of others
        assert write_vectors(index, "m", KEY, H, encoded(index)).stat().st_mode & 0o777 == 0o750


def test_vectors_that_this_user_may_not_list_are_not_taken_for_none(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = write_vectors(index, "m", KEY, H, encoded(index)).parent
    listing, glob = os.scandir, Path.glob

    def refusing(place: Any) -> Any:
        if Path(place) == room:
            raise PermissionError(errno.EACCES, "Permission denied", str(room))
        return listing(place)

    monkeypatch.setattr(os, "scandir", refusing)
    monkeypatch.setattr(Path, "glob", lambda path, pattern: [] if path == room else glob(path, pattern))  # as of 3.13
    with pytest.raises(InputError, match=r"vectors: cannot be listed, so its files are not checked; .*chmod"):
        verify_index(index.path)
    with pytest.raises(InputError, match=r"vectors: cannot be listed; let"):
        stored_vectors(index)
    assert find_vectors(index, KEY) == (None, "vectors cannot be listed")


def test_a_full_disk_is_one_error_before_the_first_file(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**options: Any) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with pytest.raises(LongRankError, match=r"cannot write .*index: No space left on device"):
        write_vectors(index, "m", KEY, H, encoded(index))


def test_equal_vectors_give_equal_bytes(index: Index) -> None:
    folders = [write_vectors(index, name, KEY, H, encoded(index)) for name in ("a", "b")]
    one, other = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert one == other


def test_a_failure_on_the_way_leaves_the_old_vectors(index: Index) -> None:
    write_vectors(index, "m", KEY, H, encoded(index))

    def failing() -> Iterator[DocumentVectors]:
        yield from list(encoded(index, 2.0))[:2]
        raise KeyboardInterrupt

    before = sorted(path.relative_to(index.path) for path in index.path.rglob("*"))
    with pytest.raises(KeyboardInterrupt):
        write_vectors(index, "m", KEY, H, failing())
    assert sorted(path.relative_to(index.path) for path in index.path.rglob("*")) == before
    stored, _ = find_vectors(index, KEY)
    assert stored is not None
    assert stored.rows("d001", passages(0))[0].tolist() == [[1000, 1001, 1002]]  # type: ignore[index]


_KILLED = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = [{tests!r}, {here!r}]
from longrank.index import Index
from test_index_vectors import KEY, H, encoded, write_vectors

def dying(index):
    for number, document in enumerate(encoded(index)):
        if number == {after}:
            os.kill(os.getpid(), signal.SIGKILL)
        yield document
    os.kill(os.getpid(), signal.SIGKILL)

index = Index.open(Path({index!r}))
write_vectors(index, "m", KEY, H, dying(index))
"""


@pytest.mark.parametrize("after", [0, 2, 4])
def test_a_kill_on_the_way_leaves_a_sound_index_and_the_next_attempt_succeeds(index: Index, after: int) -> None:
    here = Path(__file__).parent
    places = {"tests": str(here.parents[1]), "here": str(here), "index": str(index.path)}
    killed = subprocess.run([sys.executable, "-c", _KILLED.format(after=after, **places)], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(index.path.glob(".building-*"))) == 1
    assert find_vectors(Index.open(index.path), KEY) == (None, "")
    verify_index(index.path)
    write_vectors(index, "m", KEY, H, encoded(index))
    assert find_vectors(index, KEY)[0] is not None
    assert not list(index.path.glob(".building-*"))


def test_killed_while_the_old_vectors_are_removed_the_new_ones_are_there(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_vectors(index, "m", KEY, H, encoded(index))
    really = shutil.rmtree

    def dying(path: Path, **options: object) -> None:
        for file in Path(path).rglob("truncated"):
            file.unlink()
            raise KeyboardInterrupt
        really(path, **options)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(shutil, "rmtree", dying)
        write_vectors(index, "m", KEY._replace(segmenter="other"), H, encoded(index))
    verify_index(index.path)
    assert find_vectors(index, KEY._replace(segmenter="other"))[0] is not None
    write_vectors(index, "m", KEY, H, encoded(index))
    assert find_vectors(index, KEY)[0] is not None
    assert not list(index.path.glob(".building-*"))


def test_damaged_vectors_of_something_else_do_no_harm(index: Index) -> None:
    folder = write_vectors(index, "m", KEY, H, encoded(index))
    (folder / "vectors").unlink()
    assert find_vectors(index, KEY._replace(encoder="other")) == (None, "m has another encoder")


def test_a_damaged_file_is_named_by_check_and_a_missing_one_when_opened(index: Index) -> None:
    folder = write_vectors(index, "m", KEY, H, encoded(index))
    whole = (folder / "vectors").read_bytes()
    (folder / "vectors").write_bytes(whole[:-1] + b"?")
    with pytest.raises(IntegrityError, match=r"m/vectors: checksum differs"):
        verify_index(index.path)
    (folder / "vectors").write_bytes(whole[:-4])
    with pytest.raises(IntegrityError, match=r"m/vectors: \d+ bytes instead of"):
        find_vectors(index, KEY)


def test_an_index_being_written_to_is_refused(index: Index) -> None:
    def nested() -> Iterator[DocumentVectors]:
        write_vectors(index, "other", KEY, H, encoded(index))
        yield from ()

    with pytest.raises(InputError, match="is being written by pid"):
        write_vectors(index, "m", KEY, H, nested())


def test_vectors_of_documents_that_a_change_left_as_they_were_are_found_again(index: Index) -> None:
    write_vectors(index, "m-windows", KEY, H, encoded(index))
    kept, gone = index.document(index.doc_id(2)), index.document(index.doc_id(0))
    changed = index.delete([gone.doc_id]).add([("new", "New text.")])
    assert find_vectors(changed, KEY)[0] is None
    reused = ReusedVectors(changed, KEY)
    found, expected = reused.of(kept), list(encoded(index))[2]
    assert found is not None
    assert found.segmentation.passages == expected.segmentation.passages
    assert found.vectors.tobytes() == expected.vectors.tobytes()
    assert found.truncated.tolist() == expected.truncated.tolist()
    assert reused.of(changed.document("new")) is None
    assert reused.of(replace(kept, text=kept.text + " ")) is None
    assert ReusedVectors(changed, VectorsKey("other", "windows")).of(kept) is None


def test_vectors_are_found_again_if_the_index_has_more_documents_or_fewer(index: Index) -> None:
    write_vectors(index, "m-windows", KEY, H, encoded(index))
    kept = index.document(index.doc_id(2))
    more = index.add([("new", "New text.")])
    assert ReusedVectors(more, KEY).of(kept) is not None
    assert ReusedVectors(more.delete(["new", index.doc_id(0)]), KEY).of(kept) is not None


def test_vectors_of_a_document_whose_headings_changed_are_not_found_again(index: Index) -> None:
    write_vectors(index, "m-windows", KEY, H, encoded(index))
    document, reused = index.document(index.doc_id(2)), ReusedVectors(index, KEY)
    assert reused.of(document) is not None
    assert reused.of(replace(document, headings=((0, 2, 1),))) is None


def test_damaged_vectors_are_not_copied_to_a_changed_index(index: Index) -> None:
    folder = write_vectors(index, "m-windows", KEY, H, encoded(index))
    kept = index.document(index.doc_id(2))
    whole = (folder / "vectors").read_bytes()
    (folder / "vectors").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    notes = Notes()
    assert ReusedVectors(index.add([("new", "New text.")]), KEY, notes).of(kept) is None
    assert "stored vectors are damaged and computed again" in notes.lines()[0]


@pytest.mark.parametrize("changed", [{"dimension": None}, {"dimension": "x"}, {"encoder": None}])
def test_a_manifest_without_a_field_is_damage(index: Index, changed: dict[str, str | None]) -> None:
    folder = write_vectors(index, "m-windows", KEY, H, encoded(index))
    fields = {**read_manifest(folder), **changed}
    write_manifest(folder, {name: value for name, value in fields.items() if value is not None and name != "files"})
    with pytest.raises(IntegrityError, match=r"its manifest is damaged .*; remove the folder and store them again"):
        PassageVectors(folder, index)


def test_a_folder_of_a_user_in_the_place_of_vectors_stays(index: Index) -> None:
    mine = index.path / "vectors" / "tiny-words"
    mine.mkdir(parents=True)
    (mine / "notes.txt").write_text("years of work")
    with pytest.raises(InputError, match="tiny-words: holds no vectors, and would be replaced; move it elsewhere"):
        write_vectors(index, "tiny-words", KEY, H, encoded(index))
    assert [path.name for path in mine.iterdir()] == ["notes.txt"]
