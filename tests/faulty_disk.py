"""Run a command once for each call of the C library that writes, with that call failing; a child of tests.

It is started with the library of ``faulty_disk.c`` preloaded, reads a JSON plan from its first argument and prints one
JSON line for each failure. Each run is a fork on a fresh copy of the folder, and is followed by a run without faults.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

_IMPORTED = frozenset(
    ["longrank", "numpy", "typer", "pydantic", "scipy", "rich", "torch", "transformers", "sentence_transformers"]
)
KINDS = {"write": 1, "short write": 2, "fsync": 3, "rename": 4}


def forked(work: Callable[[], int], errors: Path) -> int:
    """Run `work` in a fork with its output in a file; return its exit code."""
    if pid := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    for descriptor, path in ((1, Path(os.devnull)), (2, errors)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), descriptor)
    os._exit(work())


def command(arguments: list[str]) -> int:
    from longrank.cli.main import main

    return main(arguments)


def tree(folder: Path) -> dict[str, str]:
    """Return path -> digest of all files but locks."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock"]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


class Bench:
    """A folder in which a command is run again and again."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.before, self.disk = Path(plan["before"]), Path(plan["disk"])
        self.errors, self.counts = self.disk.with_name("errors"), self.disk.with_name("counts")
        self.arguments, self.check = plan["command"], plan["check"]

    def begin(self) -> None:
        shutil.rmtree(self.disk, ignore_errors=True)
        shutil.copytree(self.before, self.disk)
        os.chdir(self.disk)

    def ran(self, kind: int = 0, code: int = 0, n: int = 0) -> int:
        """Run the command; return its exit code, and leave the number of calls in `counts`."""

        def work() -> int:
            shim = ctypes.CDLL(None)
            shim.fault_arm(kind, code, n, str(self.disk).encode())
            done = command(self.arguments)
            calls = shim.fault_seen()
            shim.fault_arm(0, 0, 0, b"/nowhere")
            self.counts.write_text(json.dumps([calls, sorted(sys.modules)]))
            return done

        return forked(work, self.errors)

    def outcome(self, kind: str, code: int, n: int) -> dict[str, Any] | None:
        """Return what the n-th failure does, or None if there are fewer calls."""
        self.begin()
        exit_code = self.ran(KINDS[kind], code, n)
        if json.loads(self.counts.read_text())[0] < n:
            return None
        lines, left = self.errors.read_text().splitlines(), tree(self.disk)
        checked = forked(lambda: command(self.check), self.disk.with_name("checked")) if self.check else 0
        faults = {"kind": kind, "n": n, "exit": exit_code, "errors": lines, "left": left, "check": checked}
        return faults | {"retry": self.ran(), "after": tree(self.disk)}


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text())
    bench = Bench(plan)
    bench.begin()
    first = {"exit": bench.ran(), "errors": bench.errors.read_text().splitlines(), "after": tree(bench.disk)}
    print(json.dumps(first), flush=True)
    for name in json.loads(bench.counts.read_text())[1]:
        if name.split(".")[0] in _IMPORTED and name not in sys.modules:
            with suppress(ImportError):  # modules that others make as they are imported
                import_module(name)
    for kind, code in plan["faults"]:
        n = 1
        while (outcome := bench.outcome(kind, code, n)) is not None:
            print(json.dumps(outcome), flush=True)
            n += plan["step"]


if __name__ == "__main__":
    main()
