"""A kill at any moment of a change leaves the index before or after it."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from longrank.index import Index, verify_index

CHILD = """
import sys
from longrank.index import Index
index = Index(sys.argv[1])
print("ready", flush=True)
with index.writer() as writer:
    writer.add([(f"new{sys.argv[2]}-{n}", f"new word{n}") for n in range(50)])
    writer.delete([f"old{sys.argv[2]}"])
    if int(sys.argv[2]) % 5 == 4:
        writer.merge()
print("done", flush=True)
"""


def start(folder: Path, number: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, str(folder), str(number)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def kill_often(folder: Path, kills: int) -> None:
    rng = random.Random(kills)
    Index.build([(f"old{n}", f"old word{n}") for n in range(kills + 1)], folder)
    expected = {document.doc_id for document in Index(folder)}
    begun = time.monotonic()
    with start(folder, kills) as child:
        child.wait()
    longest, outcomes = time.monotonic() - begun, []
    expected = {document.doc_id for document in Index(folder)}
    for number in range(kills):
        with start(folder, number) as child:
            time.sleep(rng.uniform(0, longest / 4))
            child.send_signal(signal.SIGKILL)
        after = (expected - {f"old{number}"}) | {f"new{number}-{n}" for n in range(50)}
        found = {document.doc_id for document in Index(folder)}
        assert found in (expected, after)
        assert verify_index(folder) > 0
        outcomes.append(found == after)
        expected = found
    with Index(folder).writer():
        pass
    assert {path.name.partition("-")[0] for path in folder.iterdir()} <= {"manifest.json", ".lock", "data", "deleted"}


def test_random_kills_leave_the_state_before_or_after_the_commit(tmp_path: Path) -> None:
    kill_often(tmp_path / "index", 2)


@pytest.mark.slow
def test_two_hundred_random_kills_leave_the_state_before_or_after_the_commit(tmp_path: Path) -> None:
    kill_often(tmp_path / "index", 200)
