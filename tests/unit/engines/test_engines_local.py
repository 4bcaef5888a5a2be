from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from longrank.engines import Local, in_order
from longrank.errors import LongRankError


@pytest.mark.parametrize("workers", [1, 2])
def test_every_task_is_done_once_whoever_does_it(workers: int) -> None:
    assert list(in_order(Local(workers).each(math.sqrt, (n * n for n in range(20))))) == list(range(20))


def test_no_process_is_started_for_one_task() -> None:
    assert list(Local(8).each(lambda task: os.getpid(), [None])) == [(0, os.getpid())]  # a lambda has no pickle
    assert list(Local(8).each(math.sqrt, [])) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_a_task_is_raised_here(workers: int) -> None:
    with pytest.raises(ValueError, match=r"domain|nonnegative"):
        list(Local(workers).each(math.sqrt, [4.0, -1.0, 9.0]))


def pids_of_workers(n: int) -> set[int]:
    return {pid for _, pid in Local(2).each(own_pid, range(n))}


def own_pid(task: int) -> int:
    return os.getpid()


def test_a_worker_does_tasks_of_its_own_itself() -> None:
    found = [pids for _, pids in Local(2).each(pids_of_workers, [3, 3])]
    assert [len(pids) for pids in found] == [1, 1]


def has_no_handler(task: int) -> bool:
    """Say whether SIGTERM ends this process at once; leave a handler, as a command line does."""
    ends = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return ends


def test_a_handler_that_a_task_leaves_does_not_stay() -> None:
    assert all(ends for _, ends in Local(2).each(has_no_handler, range(6)))


def test_a_killed_process_is_an_error_not_an_endless_wait() -> None:
    with pytest.raises(
        LongRankError, match=r"a worker process was killed at block [01], perhaps for lack of memory; use fewer"
    ):
        list(Local(2).each(signal.raise_signal, [signal.SIGKILL] * 3))


def test_a_script_that_every_worker_would_run_again_is_told_how_to_guard_its_calls(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import math\nfrom longrank.engines import Local\nlist(Local(2).each(math.sqrt, [4.0, 9.0]))\n")
    ended = subprocess.run([sys.executable, str(script)], check=False, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 1
    assert re.search(
        r"a worker process ended with an error at block [01], which stands above; a script that", ended.stderr
    )


def test_a_worker_that_ends_by_an_error_was_not_killed() -> None:
    with pytest.raises(LongRankError, match=r"ended with an error at block [01], which stands above"):
        list(Local(2).each(os._exit, [1] * 3))


def test_what_comes_early_waits_for_its_turn() -> None:
    assert list(in_order([(2, "c"), (0, "a"), (3, "d"), (1, "b")])) == ["a", "b", "c", "d"]
    arrived = iter([(1, "b"), (0, "a"), (2, "c")])
    assert next(in_order(arrived)) == "a"
    assert next(arrived) == (2, "c")  # nothing is read ahead
