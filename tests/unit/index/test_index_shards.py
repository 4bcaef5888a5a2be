"""An index of several shards finds what an index of one segment finds."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import longrank
from longrank.errors import InputError
from longrank.index import Index, batches, tiers, verify_index
from longrank.index.segments import Segment
from longrank.index.shards import at_least, grouped
from longrank.types import Document


@pytest.fixture(autouse=True)
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def collection(seed: int, n: int = 60) -> list[Document]:
    rng = random.Random(seed)
    words = [f"w{i}" for i in range(40)]
    return [
        Document(
            f"d{i:02d}",
            rng.choice(words),
            " ".join(rng.choices(words, [1 / (i + 1) for i in range(40)], k=rng.randrange(30))),
            metadata={"year": rng.randrange(2000, 2005)} if rng.random() < 0.8 else {},
        )
        for i in rng.sample(range(n), n)
    ]


@pytest.fixture(scope="module")
def built() -> Callable[[int, int], Index]:
    """A function of seed and shards that builds an index of a collection once."""
    return cache(lambda seed, shards: Index.build(collection(seed), shards=shards))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def rows(index: Index, **options: object) -> list[tuple[str, str, float]]:
    queries = ["w0 w3 w7", "w1", "w39 w38 w37 w2", "w5 w5 w6"]
    run = longrank.retrieve(index, queries, **options)
    return [tuple(row) for query_id in run for row in run[query_id]]


@pytest.mark.parametrize("shards", [2, 7])
@pytest.mark.parametrize(
    "options",
    [
        {"k": 5},
        {"preset": "bm25-lucene", "k1": 1.7, "b": 0.1},
        {"preset": "bm25-anserini", "doc_lengths": "exact"},
        {"similarity": "ql"},
        {"feedback": "rm3", "fb_docs": 4},
        {"feedback": "axiomatic"},
        {"feedback": "rocchio"},
        {"filter": {"year": {"$gte": 2002}}, "k": 20},
    ],
    ids=str,
)
def test_every_run_is_that_of_one_shard(
    shards: int, options: dict[str, object], built: Callable[[int, int], Index]
) -> None:
    for seed in range(2):
        one, several = built(seed, 1), built(seed, shards)
        assert len(several.parts) == shards
        assert rows(several, **options) == rows(one, **options)
        assert list(several) == list(one)


def test_a_number_of_shards_gives_the_same_bytes_by_any_number_of_workers(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(batches, "_CHARS", 2000)
    documents = collection(1, 80)
    for workers in (1, 2):
        Index.build(documents, tmp_path / str(workers), shards=3, workers=workers)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    assert verify_index(tmp_path / "1") > 0


def test_a_merge_of_shards_is_the_index_of_one_shard(tmp_path: Path) -> None:
    documents = collection(2)
    Index.build(documents, tmp_path / "one")
    Index.build(documents, tmp_path / "several", shards=5).merge()
    assert contents(tmp_path / "one") == contents(tmp_path / "several")
    Index.build(documents, tmp_path / "again", shards=1)
    assert contents(tmp_path / "one") == contents(tmp_path / "again")


def test_an_id_in_two_shards_is_refused_with_both_places(tmp_path: Path) -> None:
    for name, number in (("a", 1), ("b", 2), ("c", 1)):
        (tmp_path / f"{name}.tsv").write_text(f"d{number}\tDogs bark.\nx{name}\tCats purr.\n")
    files = [tmp_path / f"{name}.tsv" for name in "abc"]
    with pytest.raises(InputError, match=r"c\.tsv:1: doc_id occurs twice, first at \S+a\.tsv:1 .got 'd1'."):
        Index.build(files, tmp_path / "index", shards=3)
    assert not (tmp_path / "index").exists()


def test_numbers_of_shards_out_of_range_are_refused(tmp_path: Path) -> None:
    for shards in (0, 257, True and -1):
        with pytest.raises(InputError, match="shards must be 1 to 256"):
            Index.build(collection(1), tmp_path / "index", shards=shards)
    with pytest.raises(InputError, match=r"more shards than documents .got 9.; --shards 3 or fewer"):
        Index.build(collection(1, 3), tmp_path / "index", shards=9)
    assert not (tmp_path / "index").exists()


def test_changes_keep_the_shards_and_merge_what_comes_after_them(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(tiers, "FANOUT", 3)
    monkeypatch.setattr(tiers, "_FLOOR", 4)
    documents = collection(3, 30)
    index = Index.build(documents, tmp_path / "index", shards=6)
    for number in range(7):
        index = index.add([(f"new{number}", "w1 w2 new")])
    assert [part.is_shard for part in index.parts] == [True] * 6 + [False] * 3
    gone = [document.doc_id for document in index][:4]  # most of the first shard, which is rewritten
    index = index.delete(gone)
    assert [part.is_shard for part in Index(index.path).parts] == [True] * 6 + [False] * 3
    assert not index.parts[0].dead.any()
    assert rows(index) == rows(Index.build(list(index)))
    assert verify_index(index.path) > 0


def test_few_batches_are_cut_into_as_many_as_there_are_shards() -> None:
    batch = batches.Batch(*([str(n) for n in range(5)] for _ in range(8)))
    assert [part.ids for part in at_least(iter([batch]), 2)] == [["0", "1"], ["2", "3", "4"]]
    assert list(at_least(iter([batch, batch]), 2)) == [batch, batch]
    assert list(at_least(iter([batch, batch, batch]), 2)) == [batch, batch, batch]


def test_groups_have_about_the_same_number_of_words() -> None:
    def segment(words: int) -> Segment:
        return Segment(Path(), 1, 1, words, 0, 0)

    def sizes(words: list[int], n: int) -> list[int]:
        return [len(group) for group in grouped([segment(size) for size in words], n)]

    assert sizes([9] * 8, 4) == [2, 2, 2, 2]
    assert sizes([99, 1, 1, 1], 2) == [1, 3]
    assert sizes([1, 1, 1, 99], 3) == [2, 1, 1]
    assert sizes([0, 0, 0], 3) == [1, 1, 1]


CHILD = """
import os, sys
os.fsync = lambda descriptor: None
from longrank.index import Index, batches
batches._CHARS = 500
documents = [(f"d{n}", f"old word{n} " * 20) for n in range(100)]
print("ready", flush=True)
if __name__ == "__main__":
    Index.build(documents, sys.argv[1], shards=4)
"""


def kill_often(folder: Path, kills: int) -> None:
    rng = random.Random(kills)
    for number in range(-1, kills):
        command = [sys.executable, "-c", CHILD, str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            begun = time.monotonic()
            if number < 0:
                child.wait()
                longest, expected = time.monotonic() - begun, contents(folder)
                (folder / "manifest.json").unlink()
                continue
            time.sleep(rng.uniform(0, longest))
            child.send_signal(signal.SIGKILL)
        if (folder / "manifest.json").exists():
            assert verify_index(folder) > 0
            assert len(Index(folder).parts) == 4
            (folder / "manifest.json").unlink()
    subprocess.run([sys.executable, "-c", CHILD, str(folder)], check=True, capture_output=True)
    assert contents(folder) == expected


def test_a_killed_build_leaves_nothing_half_visible(tmp_path: Path) -> None:
    kill_often(tmp_path / "index", 1)


@pytest.mark.slow
def test_thirty_killed_builds_leave_nothing_half_visible(tmp_path: Path) -> None:
    kill_often(tmp_path / "index", 30)


def test_the_command_tells_the_shards_and_keeps_the_record_of_the_sources(tmp_path: Path, capsys) -> None:
    from longrank.cli.main import main

    for name in "ab":
        (tmp_path / f"{name}.tsv").write_text(f"{name}1\tDogs bark.\n{name}2\tCats purr.\n")
    index = str(tmp_path / "index")
    assert main(["index", str(tmp_path / "*.tsv"), "-o", index, "--shards", "3", "--workers", "1"]) == 0
    assert "\nshards\t3\ndocuments\t4\n" in capsys.readouterr().out.replace(index, "", 1).replace("index\t", "\n", 1)
    (tmp_path / "a.tsv").write_text("a1\tDogs bark.\n")
    assert main(["index", "--update", index]) == 0
    assert [document.doc_id for document in Index(index)] == ["a1", "b1", "b2"]
    assert main(["index", "--add", str(tmp_path / "a.tsv"), index, "--shards", "2"]) == 2
    assert "--shards builds a new index (got 2); changes keep the shards of an index" in capsys.readouterr().err
