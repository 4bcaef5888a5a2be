"""Phases: the commands of a reproduction, each run once.

``phases.json`` lists what was finished: the file or folder that was made -> the command and its seconds. A command
that was not finished is run again, and goes on where the command itself can.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from longrank.errors import IntegrityError, LongRankError
from longrank.storage import atomic_write

PHASES = "phases.json"

RunCommand = Callable[[Sequence[str], str], None]
"""Runs the arguments of a ``longrank`` command line, told which phase it is (``3 of 12``); raises if it fails."""


class CommandFailed(LongRankError):
    """A command of a recipe failed, and has said why; its exit code becomes the recipe's."""

    def __init__(self, command: Sequence[str], code: int, error: str = "") -> None:
        self.exit_code = code
        super().__init__(f"longrank {shlex.join(command)} ended with exit code {code}{error and f': {error}'}")


def run_in_new_process(command: Sequence[str], number: str) -> None:
    """Run a ``longrank`` command line in a new Python process, as a `RunCommand`; nothing is printed.

    Raises:
        CommandFailed: the command failed; the message ends with the last line of its stderr.
    """
    done = subprocess.run([sys.executable, "-m", "longrank", *command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CommandFailed(command, done.returncode, done.stderr.strip().rpartition("\n")[2])


class Phases:
    """The commands of a folder, those that were finished and those to come.

    Args:
        folder: where ``phases.json`` lies, or will; what is made lies in it.
        run: runs a command.
        planned: how many commands there will be, as far as is known.
        dry: only note what would be run.

    Attributes:
        commands: those asked for so far, each once, finished before or not.
        dry: as given.
    """

    def __init__(self, folder: Path, run: RunCommand, *, planned: int | None = None, dry: bool = False) -> None:
        """Read what was finished before.

        Raises:
            IntegrityError: the list is damaged.
        """
        self._path, self._run, self._planned, self.dry = folder / PHASES, run, planned, dry
        self._finished = {} if dry else _read(self._path)
        self.commands: list[list[str]] = []

    def do(self, command: Sequence[str], output: Path) -> None:
        """Run a command unless it was finished before and what it made is still there.

        Raises:
            LongRankError: as the command; or it has not made `output`.
        """
        command, made = list(command), os.path.relpath(output, self._path.parent)
        if command in self.commands:  # a program may ask for the same, such as a first stage, in several rows
            return
        self.commands.append(command)
        if self.dry or (self._finished.get(made, {}).get("command") == command and output.exists()):
            return
        began = time.monotonic()
        self._forget(made)
        self._run(command, self._number())
        if not output.exists():
            raise LongRankError(f"{output} was not made by: longrank {shlex.join(command)}")
        self._finished[made] = {"command": command, "seconds": round(time.monotonic() - began, 1)}
        self._save()

    def left(self, commands: Iterable[Sequence[str]]) -> bool:
        """Say whether some of these commands were not finished before."""
        done = [one.get("command") for one in self._finished.values()]
        return any(list(command) not in done for command in commands)

    def script(self) -> str:
        """Return the commands so far as lines of a shell script."""
        return "".join(f"longrank {shlex.join(command)}\n" for command in self.commands)

    def _number(self) -> str:
        n = len(self.commands)
        return f"{n} of {max(n, self._planned)}" if self._planned else str(n)

    def _forget(self, made: str) -> None:
        """Drop what was finished, before another command begins to replace it."""
        if self._finished.pop(made, None):
            self._save()

    def _save(self) -> None:
        with atomic_write(self._path, "w") as stream:
            json.dump(self._finished, stream, indent=1, ensure_ascii=False)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        raise IntegrityError(f"{path}: is not a list of finished commands; delete it, and all of them are run again")
    return found
