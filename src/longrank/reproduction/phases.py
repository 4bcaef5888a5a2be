"""Phases: the commands of a reproduction, each run once.

A folder's ``phases.json`` lists the commands that were finished, with the files and folders they made. A command that
was not finished is run again, and goes on where the command itself can.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from longrank.errors import InputError
from longrank.storage import atomic_write

PHASES = "phases.json"

RunCommand = Callable[[Sequence[str]], None]
"""Runs the arguments of a ``longrank`` command line; raises if it fails."""


class Phases:
    """The finished commands of a folder.

    Args:
        folder: where ``phases.json`` lies, or will.
        run: runs a command.
        dry: only note what would be run.
    """

    def __init__(self, folder: Path, run: RunCommand, *, dry: bool = False) -> None:
        """Read what was finished before.

        Raises:
            InputError: the list is damaged.
        """
        self._path, self._run, self.dry = folder / PHASES, run, dry
        self._finished: list[list[str]] = []
        self.commands: list[list[str]] = []
        if self._path.exists():
            self._finished = _read(self._path)

    def do(self, command: Sequence[str], output: Path) -> None:
        """Run a command unless it was finished before and what it made is still there.

        Raises:
            LongRankError: as the command.
        """
        command = list(command)
        self.commands.append(command)
        if self.dry or (command in self._finished and output.exists()):
            return
        self._run(command)
        self._finished.append(command)
        with atomic_write(self._path, "w") as stream:
            json.dump(self._finished, stream, indent=0, ensure_ascii=False)

    def script(self) -> str:
        """Return the commands so far as a shell script."""
        return "".join(f"longrank {shlex.join(command)}\n" for command in self.commands)


def _read(path: Path) -> list[list[str]]:
    found = json.loads(path.read_text(encoding="utf-8")) if path.stat().st_size else None
    if not isinstance(found, list) or not all(isinstance(one, list) for one in found):
        raise InputError("is not a list of finished commands", path=path, fix="delete it: all is done again")
    return found
