"""A power cut at any moment leaves the state before or after a change, and keeps all that was reported as done."""

from __future__ import annotations

from pathlib import Path

import pytest

import longrank
from evidences import evidence
from longrank.errors import InputError
from longrank.index import Index, verify_index
from longrank.index.sparse import stored_sparse
from longrank.index.vector_folders import SPARSE_FOLDERS
from longrank.index.vectors import find_vectors
from longrank.storage import Journal, atomic_write, folders, read_journal, seal, verify
from longrank.storage.folders import atomic_folder
from longrank.verbs.check import check
from longrank.verbs.sync import sync
from power_cuts import PowerCuts
from slow_values import slow
from stored import KEY, random_vectors, store, store_sparse
from tunable import QRELS, QUERIES, build

DOCUMENTS = [(f"d{n}", f"word{n} shared passage") for n in range(8)]


def told(folder: Path) -> list[tuple[str, str]] | None:
    """Return what an index holds after all its checks; None: it is refused as no index."""
    try:
        verify_index(folder)
    except InputError:
        return None
    return [(document.doc_id, document.text) for document in Index(folder)]


def index_below(disk: Path) -> list[tuple[str, str]] | None:
    return told(disk / "index")


def test_the_recorder_loses_what_was_not_synced(cuts: PowerCuts) -> None:
    def read(disk: Path) -> frozenset[tuple[str, bytes]]:
        return frozenset((path.name, path.read_bytes()) for path in disk.iterdir())

    with cuts.during():
        (cuts.folder / "careless").write_bytes(b"text")
    assert cuts.surviving(read) == frozenset()
    assert set(cuts.states(read)) >= {
        frozenset(),
        frozenset({("careless", b"")}),
        frozenset({("careless", b"text")}),
    }


def test_an_atomic_file_is_old_or_new_and_stays_new(cuts: PowerCuts) -> None:
    def read(disk: Path) -> bytes:
        return (disk / "file").read_bytes()

    (cuts.folder / "file").write_bytes(b"old")
    with cuts.during(), atomic_write(cuts.folder / "file") as stream:
        stream.write(b"new")
    assert set(cuts.states(read)) == {b"old", b"new"}
    assert cuts.surviving(read) == b"new"


def test_a_new_index_is_absent_or_whole(cuts: PowerCuts) -> None:
    with cuts.during():
        Index.build(DOCUMENTS, cuts.folder / "index")
    states = cuts.states(index_below)
    assert all(state in (None, DOCUMENTS) for state in states)
    assert None in states
    assert cuts.surviving(index_below) == DOCUMENTS


@pytest.mark.parametrize("merged", [True, *slow(False)])
def test_a_changed_index_is_as_before_or_after(cuts: PowerCuts, merged: bool) -> None:
    index = Index.build(DOCUMENTS, cuts.folder / "index")
    with cuts.during(), index.writer() as writer:
        writer.add([("new", "a new document")])
        writer.delete(["d3"])
        if merged:
            writer.merge()
    after = [entry for entry in DOCUMENTS if entry[0] != "d3"] + [("new", "a new document")]
    states = cuts.states(index_below, mixes=0 if merged else 1)
    assert all(state in (DOCUMENTS, after) for state in states)
    assert DOCUMENTS in states
    assert cuts.surviving(index_below) == after


def test_a_journal_keeps_every_committed_record(cuts: PowerCuts) -> None:
    path = cuts.folder / "journal"
    committed: dict[int, int] = {}
    with cuts.during(), Journal(path, {"kind": "test"}) as journal:
        for block in range(4):
            for record in range(3):
                journal.append(b"%d.%d" % (block, record) * 50)
            journal.commit()
            committed[len(cuts.disk.moments)] = 3 * (block + 1)
    for moment, world in cuts.disk.worlds(mixes=4, of_each_moment=True):
        kept = cuts.tell(world, records)
        least = max((n for begun, n in committed.items() if begun <= moment), default=0)
        assert least <= kept <= least + 3
    assert cuts.surviving(records) == 12


def records(disk: Path) -> int:
    path = disk / "journal"
    if not path.exists():
        return 0
    with Journal(path, {"kind": "test"}) as journal:
        kept = journal.n_committed
    assert [*read_journal(path)] == [b"%d.%d" % divmod(n, 3) * 50 for n in range(kept)]
    return kept


@pytest.mark.parametrize("kind", ["float32", "int8", "sparse"])
def test_vectors_of_an_index_are_absent_or_whole(cuts: PowerCuts, kind: str) -> None:
    index = Index.build(DOCUMENTS, cuts.folder / "index")
    with cuts.during():
        if kind == "sparse":
            stored = store_sparse(index, 1).path
        else:
            stored = store(index, random_vectors(index), dtype=kind).path
    whole = contents(stored)

    def read(disk: Path) -> bool:
        assert told(disk / "index") == DOCUMENTS
        copied = Index(disk / "index")
        found = stored_sparse(copied).path if SPARSE_FOLDERS.of(copied) else None
        if dense := find_vectors(copied, KEY)[0]:
            found = dense.path
        assert found is None or contents(found) == whole
        return found is not None

    assert set(cuts.states(read)) == {False, True}
    assert cuts.surviving(read)


@pytest.mark.parametrize("vanishes", [False, True])
def test_the_sync_after_a_power_cut_in_a_sync_ends_with_the_documents_of_the_files(
    cuts: PowerCuts, vanishes: bool
) -> None:
    folder, index = cuts.folder.with_name("files"), cuts.folder / "index"
    folder.mkdir()
    texts = {f"{n}.txt": f"word{n} shared passage" for n in range(4)}
    for name, text in texts.items():
        (folder / name).write_text(text)
    sync([folder], index)
    for name, text in (("1.txt", "another"), ("new.txt", "a new passage")):
        (folder / name).write_text(text)
        texts[name] = text
    del texts["2.txt"]
    (folder / "2.txt").unlink()
    with cuts.during():
        sync([folder], index)
    if vanishes:
        del texts["new.txt"]
        (folder / "new.txt").unlink()

    def synced(disk: Path) -> dict[str, str]:
        told(disk / "index")
        sync([folder], disk / "index")
        return dict(told(disk / "index") or [])

    worlds = {(world["index/.sources.jsonl"], world["index/manifest.json"]): world for _, world in cuts.disk.worlds()}
    assert len(worlds) >= 4  # before the update, with its record begun, committed, with its record
    assert all(cuts.tell(world, synced) == texts for world in worlds.values())


@pytest.mark.parametrize("exchanges", [True, False])
def test_replaced_vectors_are_the_old_or_the_new(
    cuts: PowerCuts, exchanges: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an exchange of names, as on NFS, there may be none; the vectors can be made again."""
    if exchanges and not can_exchange(cuts.folder):
        pytest.skip("the file system cannot exchange names")
    if not exchanges:
        monkeypatch.setattr(folders, "_exchanging", lambda: None)
    index = Index.build(DOCUMENTS, cuts.folder / "index")
    folder = store_sparse(index, 1).path
    before = contents(folder)
    with cuts.during():
        store_sparse(index, 2)
    after = contents(folder)

    def read(disk: Path) -> dict[str, bytes] | None:
        assert told(disk / "index") == DOCUMENTS
        copied = Index(disk / "index")
        return contents(stored_sparse(copied).path) if SPARSE_FOLDERS.of(copied) else None

    states = cuts.states(read)
    assert before != after
    assert all(state in ((before, after) if exchanges else (before, after, None)) for state in states)
    assert (None in states) == (not exchanges)
    assert before in states
    assert cuts.surviving(read) == after


def can_exchange(folder: Path) -> bool:
    """Exchange the names of two new folders."""
    one, other = folder.with_name("one"), folder.with_name("other")
    one.mkdir()
    other.mkdir()
    return folders.exchange(one, other)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_interrupted_rerank_ends_with_the_same_bytes(cuts: PowerCuts) -> None:
    index = Index.build(DOCUMENTS, cuts.folder / "index")
    run = {f"q{n}": {f"d{m}": 8.0 - m for m in range(8)} for n in range(20)}

    def rerank(disk: Path) -> bytes:
        evidence = disk / "run.evidence"
        longrank.rerank(index, dict.fromkeys(run, "shared word3"), run, pipeline="lexical", evidence=evidence)
        return evidence.read_bytes()

    with cuts.during():
        expected = rerank(cuts.folder)
    worlds = [world for _, world in cuts.disk.worlds() if any("evidence" in path for path in world)]
    assert len(worlds) > 5
    assert all(cuts.tell(world, rerank) == expected for world in worlds)
    assert cuts.surviving(lambda disk: (disk / "run.evidence").read_bytes()) == expected


def test_the_last_checkpoint_that_was_saved_survives_a_power_cut(cuts: PowerCuts) -> None:
    torch = pytest.importorskip("torch", reason="needs the extra neural")
    from longrank.training import checkpoints

    def save(step: int) -> None:
        weights = {"a": torch.full((3,), float(step))}
        checkpoints.save(
            cuts.folder / "checkpoints", checkpoints.Checkpoint(checkpoints.Position(step), weights, weights, None, "")
        )

    saved: dict[int, int] = {}
    with cuts.during():
        checkpoints.clean(cuts.folder / "checkpoints", None)
        for step in (1, 2, 3, 4):
            save(step)
            saved[len(cuts.disk.moments)] = step
    for moment, world in cuts.disk.worlds(of_each_moment=True):
        least = max((step for begun, step in saved.items() if begun <= moment), default=0)
        assert least <= cuts.tell(world, newest_step) <= least + 1


def newest_step(disk: Path) -> int:
    from longrank.training import checkpoints
    from longrank.types import Notes

    place = checkpoints.newest(disk / "checkpoints", Notes())
    if place is None:
        return 0
    found = checkpoints.load(place)
    assert found.weights["a"].tolist() == [found.position.step] * 3
    return found.position.step


def test_a_model_folder_is_absent_or_whole(cuts: PowerCuts) -> None:
    def read(disk: Path) -> list[tuple[str, bytes]] | None:
        if not (disk / "model").exists():
            return None
        verify(disk / "model")
        return [(name, (disk / "model" / name).read_bytes()) for name in ("config.json", "below/weights")]

    with cuts.during(), atomic_folder(cuts.folder / "model") as new:
        (new / "below").mkdir()
        (new / "config.json").write_bytes(b"{}")
        (new / "below" / "weights").write_bytes(b"weights" * 99)
        seal(new, "model")
    whole = [("config.json", b"{}"), ("below/weights", b"weights" * 99)]
    assert all(state in (None, whole) for state in cuts.states(read))
    assert cuts.surviving(read) == whole


def test_a_replaced_model_folder_is_the_old_or_the_new(cuts: PowerCuts) -> None:
    if not can_exchange(cuts.folder):
        pytest.skip("the file system cannot exchange names")

    def write(content: bytes) -> None:
        with atomic_folder(cuts.folder / "model") as new:
            (new / "weights").write_bytes(content)
            seal(new, "model")

    def read(disk: Path) -> bytes:
        verify(disk / "model")
        return (disk / "model" / "weights").read_bytes()

    write(b"old")
    with cuts.during():
        write(b"new")
    assert set(cuts.states(read)) == {b"old", b"new"}
    assert cuts.surviving(read) == b"new"


def test_an_index_with_metadata_is_absent_or_whole(cuts: PowerCuts) -> None:
    def read(disk: Path) -> list[object] | None:
        held = told(disk / "index")
        return held and [Index(disk / "index").metadata(doc_id) for doc_id, _ in held]

    with cuts.during():
        Index.build([{"doc_id": f"d{n}", "text": "a", "year": n} for n in range(3)], cuts.folder / "index")
    names = ("index/manifest.json", *{path for _, world in cuts.disk.worlds() for path in world if "metadata" in path})
    assert len(names) > 1
    states = [cuts.tell(world, read) for world in cuts.few(*names)]
    assert all(state in (None, [{"year": n} for n in range(3)]) for state in states)
    assert cuts.surviving(read) == [{"year": n} for n in range(3)]


def test_weights_after_a_power_cut_are_those_of_an_undisturbed_call(cuts: PowerCuts) -> None:
    first = {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d1": 2.0, "d2": 1.0}}
    parts = [evidence("d1", [0.1], query_id="q1"), evidence("d2", [0.9], query_id="q1")]
    parts += [evidence("d1", [0.8], query_id="q2"), evidence("d2", [0.2], query_id="q2")]

    def weigh(disk: Path) -> dict[str, bytes]:
        grid, folder = {"alpha": "0:1:0.5"}, disk / "w"
        longrank.weigh({"q1": {"d2": 1}, "q2": {"d1": 1}}, first, parts, grid, folds=2, folder=folder)
        check(disk / "w")
        return {path.name: path.read_bytes() for path in (disk / "w").iterdir() if path.name != ".lock"}

    with cuts.during():
        expected = weigh(cuts.folder)
    worlds = cuts.few("w/.unfinished", "w/weights.json", "w/manifest.json", "w/run.txt")
    assert len(worlds) > 5
    assert all(cuts.tell(world, weigh) == expected for world in worlds)


@pytest.mark.parametrize("resumed", [False, True])
def test_a_tuning_after_a_power_cut_ends_with_the_same_outcome(cuts: PowerCuts, resumed: bool) -> None:
    (inputs := cuts.folder.with_name("inputs")).mkdir()
    index = build(inputs)

    def tune(disk: Path) -> dict[str, bytes]:
        longrank.tune(index, QUERIES, QRELS, {"b": "0:1:0.2"}, measure="RR", folder=disk / "tuned")
        check(disk / "tuned")
        return {path.name: path.read_bytes() for path in (disk / "tuned").iterdir() if path.name != ".lock"}

    if resumed:
        longrank.tune(index, QUERIES, QRELS, {"b": "0:1:0.2"}, measure="RR", folds=2, folder=cuts.folder / "tuned")
    with cuts.during():
        expected = tune(cuts.folder)
    worlds = cuts.few("tuned/.unfinished", "tuned/tuning.json", "tuned/manifest.json", "tuned/run.txt")
    assert len(worlds) > 5
    assert all(cuts.tell(world, tune) == expected for world in worlds)
