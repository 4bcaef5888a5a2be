"""A disk that fails at any call of the C library: one line, the old state or the new, success at the next attempt."""

from __future__ import annotations

import json
import os

import pytest

from failing_disks import FailingDisk, check, every_call
from longrank.index import Index
from longrank.index.folder import SOURCES
from longrank.verbs.sync import sync

DOCUMENTS = [(f"d{n}", f"word{n} shared passage") for n in range(6)]


@every_call(10)
def test_a_new_index_is_absent_or_whole(disk: FailingDisk, step: int) -> None:
    lines = [json.dumps({"id": doc_id, "text": text}) for doc_id, text in DOCUMENTS]
    (disk.before / "docs.jsonl").write_text("\n".join(lines) + "\n")
    os.utime(disk.before / "docs.jsonl", (1, 1))  # of a file of the last seconds an index keeps no time
    first, outcomes = disk.outcomes("index docs.jsonl -o i --workers 1", step, check="check i")
    for outcome in outcomes:
        check(outcome, first)
        assert outcome["check"] == (0 if "i/manifest.json" in outcome["left"] else 2)


@every_call(10)
@pytest.mark.slow
def test_a_changed_index_is_as_before_or_after(disk: FailingDisk, step: int) -> None:
    Index.build(DOCUMENTS, disk.before / "i")
    (disk.before / "more.jsonl").write_text(json.dumps({"id": "new", "text": "a new passage"}) + "\n")
    first, outcomes = disk.outcomes("index --add more.jsonl --replace i", step, check="check i")
    assert all(outcome["check"] == 0 for outcome in outcomes)
    for outcome in outcomes:
        check(outcome | {"after": first["after"]}, first)


@every_call(10)
def test_an_interrupted_rerank_ends_with_the_same_bytes(disk: FailingDisk, step: int) -> None:
    Index.build(DOCUMENTS, disk.before / "i")
    (disk.before / "q.tsv").write_text("".join(f"q{n}\tshared word{n}\n" for n in range(3)))
    run = "".join(f"q{n} Q0 d{m} {m + 1} {8 - m} t\n" for n in range(3) for m in range(4))
    (disk.before / "a.run").write_text(run)
    first, outcomes = disk.outcomes("rerank i q.tsv a.run -o r.run --pipeline lexical", step)
    for outcome in outcomes:
        check(outcome, first)
        assert outcome["left"].get("r.run") in (None, first["after"]["r.run"])
        assert outcome["exit"] == 0 or "r.run" in outcome["errors"][-1], outcome["errors"]
        assert not any(path.endswith(".lock") for path in outcome["left"])


@pytest.mark.parametrize("built", [False, True])
@every_call(10)
@pytest.mark.slow
def test_a_sync_after_a_failed_sync_ends_with_the_documents_of_the_files(
    disk: FailingDisk, step: int, built: bool
) -> None:
    folder = disk.before / "files"
    folder.mkdir()
    for n in range(3):
        (folder / f"{n}.txt").write_text(f"word{n} shared passage")
    if built:
        sync([folder], disk.before / "i")
        record = disk.before / "i" / SOURCES
        header, *states = record.read_text().replace(str(folder), str(disk.folder / "disk" / "files")).splitlines()
        forged = {name: value for name, value in json.loads(header).items() if name != "checksum"}
        record.write_text("".join(f"{line}\n" for line in (json.dumps(forged), *states)))
        (folder / "1.txt").unlink()
        (folder / "new.txt").write_text("a new passage")
    first, outcomes = disk.outcomes("sync files -o i --workers 1", step, check="check i")
    for outcome in outcomes:
        for part in ("left", "after"):
            outcome[part].pop(f"i/{SOURCES}", None)  # holds times
        if outcome["exit"] and outcome["retry"] == 2:  # a new index without its record
            assert not built and "index is valid" in outcome["errors"][-1], outcome["errors"]
        check(outcome | {"retry": 0}, {"after": {k: v for k, v in first["after"].items() if k != f"i/{SOURCES}"}})
