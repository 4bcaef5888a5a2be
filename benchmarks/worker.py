"""Engines in processes of their own: built under observation, then open and answering questions."""

from __future__ import annotations

import json
import select
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.million import anonymous_mib


class Failure(Exception):
    """An engine that cannot be measured, with the text of its row."""


class Worker:
    """An engine with its index open, in a process that answers questions."""

    def __init__(self, command: list[str], log: Path, timeout: float) -> None:
        self.timeout, self.log = timeout, log
        with log.open("a") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=log.parent
            )

    def ask(self, what: str, texts: list[str], k: int, **more: Any) -> Any:
        """Return the answer to one question of `engines.answer`."""
        assert self.process.stdin and self.process.stdout
        try:
            print(json.dumps({"what": what, "texts": texts, "k": k, **more}), file=self.process.stdin, flush=True)
            if not select.select([self.process.stdout], [], [], self.timeout)[0]:
                raise Failure(f"timed out: {what}")
            return json.loads(self.process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            raise Failure(f"failed: {last_line(self.log)}") from None

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()


def last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "no word")


def watched(command: list[str], log: Path, timeout: float) -> tuple[float, float]:
    """Run a command; return its seconds, and the peak of its anonymous memory in MiB."""
    start, peak = time.monotonic(), 0.0
    with log.open("a") as out, subprocess.Popen(command, stdout=out, stderr=out, cwd=log.parent) as process:
        while process.poll() is None:
            peak = max(peak, anonymous_mib(process.pid))
            if time.monotonic() - start > timeout:
                process.kill()
                raise Failure("timed out: build")
            time.sleep(0.05)
    if process.returncode:
        raise Failure(f"failed: {last_line(log)}")
    return time.monotonic() - start, peak
