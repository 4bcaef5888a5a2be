"""Commands on a disk whose calls fail one by one (tests/faulty_disk.py), and what has to hold of each failure."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import faulty_disk
from slow_values import slow

FAULTS = [("write", errno.ENOSPC), ("short write", 0), ("fsync", errno.EIO), ("rename", errno.EIO)]
Outcome: TypeAlias = dict[str, Any]


def every_call(step: int) -> pytest.MarkDecorator:
    """Fail every call in a slow test, and one of `step` calls in a quick one."""
    return pytest.mark.parametrize("step", [step, *slow(1)])


class FailingDisk:
    """Runs commands on a disk that fails; each begins with a copy of the folder `before`."""

    def __init__(self, folder: Path, shim: Path) -> None:
        self.before, self.folder, self._shim = folder / "before", folder, shim
        self.before.mkdir()

    def outcomes(self, command: str | list[str], step: int, check: str = "") -> tuple[Outcome, list[Outcome]]:
        """Return the undisturbed run, and what each failure did."""
        plan = {"before": str(self.before), "disk": str(self.folder / "disk"), "command": _words(command)}
        plan |= {"check": check.split(), "faults": FAULTS, "step": step}
        (self.folder / "plan.json").write_text(json.dumps(plan))
        script = [sys.executable, faulty_disk.__file__, str(self.folder / "plan.json")]
        environment = os.environ | {"LD_PRELOAD": str(self._shim), "OMP_NUM_THREADS": "1"}
        # Each fork would load the compiled loops anew: two thirds of the time. They touch no file.
        environment |= {"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore:overflow encountered:RuntimeWarning"}
        done = subprocess.run(script, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        first, *others = map(json.loads, done.stdout.splitlines())
        assert first["exit"] == 0, first["errors"]
        assert {one["kind"] for one in others} == {kind for kind, _ in FAULTS}
        return first, others


def _words(command: str | list[str]) -> list[str]:
    return command.split() if isinstance(command, str) else command


def check(outcome: Outcome, first: Outcome) -> None:
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
