"""A disk that fails at any call of the C library: one line, the old state or the new, success at the next attempt."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import faulty_disk
from longrank.index import Index
from longrank.index.folder import SOURCES
from longrank.verbs.sync import sync

DOCUMENTS = [(f"d{n}", f"word{n} shared passage") for n in range(6)]
FAULTS = [("write", errno.ENOSPC), ("short write", 0), ("fsync", errno.EIO), ("rename", errno.EIO)]


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library to preload."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs Linux and a C compiler")
    library = tmp_path_factory.mktemp("shim") / "faulty_disk.so"
    source = Path(faulty_disk.__file__).with_suffix(".c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    return library


class Disk:
    """Runs commands on a failing disk."""

    def __init__(self, folder: Path, shim: Path) -> None:
        self.before, self.folder, self._shim = folder / "before", folder, shim
        self.before.mkdir()

    def outcomes(self, command: str, step: int, check: str = "") -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return the undisturbed run, and what each failure did."""
        plan = {"before": str(self.before), "disk": str(self.folder / "disk"), "command": command.split()}
        plan |= {"check": check.split(), "faults": FAULTS, "step": step}
        (self.folder / "plan.json").write_text(json.dumps(plan))
        script = [sys.executable, faulty_disk.__file__, str(self.folder / "plan.json")]
        environment = os.environ | {"LD_PRELOAD": str(self._shim), "NUMBA_NUM_THREADS": "1"}
        done = subprocess.run(script, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        first, *others = map(json.loads, done.stdout.splitlines())
        assert first["exit"] == 0, first["errors"]
        assert {one["kind"] for one in others} == {kind for kind, _ in FAULTS}
        return first, others


every_call = pytest.mark.parametrize("step", [10, pytest.param(1, marks=pytest.mark.slow)])


@pytest.fixture
def disk(tmp_path: Path, shim: Path) -> Disk:
    return Disk(tmp_path, shim)


def check(outcome: dict[str, Any], first: dict[str, Any]) -> None:
    """Assert that a failed run says so in one line and the next run ends as the undisturbed run."""
    where = f"{outcome['kind']} {outcome['n']}: {outcome['errors']}"
    if outcome["kind"] == "short write":
        assert outcome["exit"] == 0, where
    if outcome["exit"]:
        errors = [line for line in outcome["errors"] if line.startswith("longrank: error: ")]
        assert (outcome["exit"], len(errors)) == (1, 1), where
        assert not any(line.startswith("Traceback") for line in outcome["errors"]), where
    assert outcome["retry"] == 0 or outcome["left"] == first["after"], where
    assert outcome["after"] == first["after"], where


@every_call
def test_a_new_index_is_absent_or_whole(disk: Disk, step: int) -> None:
    lines = [json.dumps({"id": doc_id, "text": text}) for doc_id, text in DOCUMENTS]
    (disk.before / "docs.jsonl").write_text("\n".join(lines) + "\n")
    os.utime(disk.before / "docs.jsonl", (1, 1))  # of a file of the last seconds an index keeps no time
    first, outcomes = disk.outcomes("index docs.jsonl -o i --workers 1", step, check="check i")
    for outcome in outcomes:
        check(outcome, first)
        assert outcome["check"] == (0 if "i/manifest.json" in outcome["left"] else 2)


@every_call
def test_a_changed_index_is_as_before_or_after(disk: Disk, step: int) -> None:
    Index.build(DOCUMENTS, disk.before / "i")
    (disk.before / "more.jsonl").write_text(json.dumps({"id": "new", "text": "a new passage"}) + "\n")
    first, outcomes = disk.outcomes("index --add more.jsonl --replace i", step, check="check i")
    assert all(outcome["check"] == 0 for outcome in outcomes)
    for outcome in outcomes:
        check(outcome | {"after": first["after"]}, first)


@every_call
def test_an_interrupted_rerank_ends_with_the_same_bytes(disk: Disk, step: int) -> None:
    Index.build(DOCUMENTS, disk.before / "i")
    (disk.before / "q.tsv").write_text("".join(f"q{n}\tshared word{n}\n" for n in range(3)))
    run = "".join(f"q{n} Q0 d{m} {m + 1} {8 - m} t\n" for n in range(3) for m in range(4))
    (disk.before / "a.run").write_text(run)
    first, outcomes = disk.outcomes("rerank i q.tsv a.run -o r.run --pipeline lexical", step)
    for outcome in outcomes:
        check(outcome, first)
        assert outcome["left"].get("r.run") in (None, first["after"]["r.run"])


@pytest.mark.parametrize("built", [pytest.param(False, marks=pytest.mark.slow), True])
@every_call
def test_a_sync_after_a_failed_sync_ends_with_the_documents_of_the_files(disk: Disk, step: int, built: bool) -> None:
    folder = disk.before / "files"
    folder.mkdir()
    for n in range(3):
        (folder / f"{n}.txt").write_text(f"word{n} shared passage")
    if built:
        sync([folder], disk.before / "i")
        record = disk.before / "i" / SOURCES
        record.write_text(record.read_text().replace(str(folder), str(disk.folder / "disk" / "files")))
        (folder / "1.txt").unlink()
        (folder / "new.txt").write_text("a new passage")
    first, outcomes = disk.outcomes("sync files -o i --workers 1", step, check="check i")
    for outcome in outcomes:
        for part in ("left", "after"):
            outcome[part].pop(f"i/{SOURCES}", None)  # holds times
        if outcome["exit"] and outcome["retry"] == 2:  # a new index without its record
            assert not built and "index is valid" in outcome["errors"][-1], outcome["errors"]
        check(outcome | {"retry": 0}, {"after": {k: v for k, v in first["after"].items() if k != f"i/{SOURCES}"}})
