"""Phases: the commands of a reproduction, each run once.

``phases.json`` lists finished commands: output -> command, seconds, versions and machine, checksums of the outputs of
other commands that it read, and its own: of a file, the evidence beside it and development rows, or of the manifest of
a folder. A command that is not finished, or read other outputs, runs again, and resumes if the command itself can.
Several processes may run recipes of a folder.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from longrank.errors import IntegrityError, LongRankError
from longrank.reproduction.versions import versions_and_machine
from longrank.storage import MANIFEST, atomic_write, lock_in_turn, sha256_of
from longrank.storage.workplace import read_json

PHASES = "phases.json"

_START = """
import os, runpy, signal, threading

def end_with_parent():
    os.read(0, 1)  # ends when the parent does, killed or not
    os.killpg(os.getpgrp(), signal.SIGKILL) if hasattr(os, "killpg") else os._exit(1)

threading.Thread(target=end_with_parent, daemon=True).start()
runpy.run_module("longrank", run_name="__main__", alter_sys=True)
"""
"""Runs a command that ends, with all processes that it has started, when its parent ends: it might hold locks, and
write what a new worker writes again."""

RunCommand = Callable[[Sequence[str], str], None]
"""Runs the arguments of a ``longrank`` command line, with the phase (``3 of 12``) for display; raises on failure."""
_WITH_DEV = {"rows", "weak-labels"}  # write development rows, too, into the folder of their output
CHOSEN = "CHOSEN"
"""Stands in listed commands for a value that an earlier command chooses."""


class CommandFailed(LongRankError):
    """A command of a recipe failed; its exit code becomes the recipe's."""

    def __init__(self, command: Sequence[str], code: int, error: str = "") -> None:
        self.exit_code, self._given = code, (list(command), code, error)
        super().__init__(f"longrank {shlex.join(command)} ended with exit code {code}{error and f': {error}'}")

    def __reduce__(self) -> tuple[type[CommandFailed], tuple[list[str], int, str]]:
        return CommandFailed, self._given  # a worker's error travels


def run_in_new_process(command: Sequence[str], number: str) -> None:
    """Run a ``longrank`` command line in a new Python process, as a `RunCommand`; nothing is printed.

    The process ends with this one, even if this one is killed, and at an interrupt.

    Raises:
        CommandFailed: the command failed; the message ends with the last line of its stderr.
    """
    arguments = [sys.executable, "-c", _START, *command]
    with TemporaryFile() as errors:
        streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": errors}
        # At its end or an interrupt, the block closes stdin and waits.
        with subprocess.Popen(arguments, start_new_session=True, **streams) as process:
            code = process.wait()
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip()
    if code:
        raise CommandFailed(command, code, said.rpartition("\n")[2])


class Phases:
    """The finished and the planned commands of a folder.

    Args:
        folder: folder of ``phases.json`` and of all outputs.
        run: runs a command.
        planned: expected number of commands, if known.
        dry: list the commands, and run nothing.
        check: called with each output that a command has written: raises if it must not be used.

    Attributes:
        commands: commands so far, each once, finished before or not.
        dry: the argument.
    """

    def __init__(
        self,
        folder: Path,
        run: RunCommand,
        *,
        planned: int | None = None,
        dry: bool = False,
        check: Callable[[Path], None] = lambda output: None,
    ) -> None:
        """Read the list of finished commands.

        Raises:
            IntegrityError: the list is damaged.
        """
        self._path, self._run, self._planned, self.dry, self._check = folder / PHASES, run, planned, dry, check
        self._finished = {} if dry else _read(self._path)
        self.commands: list[list[str]] = []
        self._made: dict[str, tuple[str, str]] = {}  # output -> its place in commands, and its state

    def do(self, command: Sequence[str], output: Path, check: Callable[[], None] | None = None) -> None:
        """Run a command unless it was finished before and its output still exists.

        Args:
            command: arguments of a ``longrank`` command line.
            output: the file or the folder that the command writes.
            check: called when the command has run: raises if its output must not be used.

        Raises:
            LongRankError: as the command; or the command did not write `output`.
        """
        command, name = list(command), os.path.relpath(output, self._path.parent)
        if command in self.commands:  # several rows may need the same first stage
            return
        self.commands.append(command)
        if self.dry:
            return
        read = self._read_by(command)
        if not self._is_done(name, command, output, read):
            self._make(name, command, output, read, check)
        self._made[name] = _place(command, output), _state(output, self._finished[name])

    def _make(
        self, name: str, command: list[str], output: Path, read: dict[str, str], check: Callable[[], None] | None
    ) -> None:
        began = time.monotonic()
        self._forget(name)
        self._run(command, self._number())
        if not output.exists():
            raise LongRankError(f"{output} was not written by: longrank {shlex.join(command)}")
        seconds = round(time.monotonic() - began, 1)
        self._check(output)
        if check is not None:
            check()
        made = {"command": command, "seconds": seconds, "by": versions_and_machine(), "read": read}
        self._record(name, {**made, **_checksums(output, command)})

    def _read_by(self, command: list[str]) -> dict[str, str]:
        """Return the states of the outputs of earlier commands that a command names."""
        return {name: state for name, (place, state) in self._made.items() if any(place in part for part in command)}

    def _is_done(self, name: str, command: list[str], output: Path, read: dict[str, str]) -> bool:
        """Say whether a command was finished before, on the same outputs of other commands.

        Raises:
            IntegrityError: its output, or the evidence beside it, was changed since.
        """
        done = self._finished.get(name, {})
        if done.get("command") != command or not output.exists() or done.get("read", read) != read:
            return False
        if not all(path.exists() for path, _ in _checked(output, done)):
            return False
        _check(output, done)
        return True

    def left(self, commands: Iterable[Sequence[str]]) -> bool:
        """Say whether a command was not finished before."""
        done = [phase.get("command") for phase in self._finished.values()]
        return any(list(command) not in done for command in commands)

    def versions(self) -> dict[str, str]:
        """Return the versions and the machine of the commands so far and of this process, each once."""
        finished = {tuple(phase.get("command", ())): phase.get("by", {}) for phase in self._finished.values()}
        before, now = [finished.get(tuple(command), {}) for command in self.commands], versions_and_machine()
        names = dict.fromkeys(name for each in (*before, now) for name in each)
        seen = {name: [each.get(name, "unknown") for each in before] + [now[name]] * (name in now) for name in names}
        return {name: ", ".join(dict.fromkeys(values)) for name, values in seen.items()}

    def script(self) -> str:
        """Return the commands so far as lines of a shell script."""
        return "".join(f"longrank {shlex.join(command)}\n" for command in self.commands)

    def _number(self) -> str:
        n = len(self.commands)
        return f"{n} of {max(n, self._planned)}" if self._planned else str(n)

    def _forget(self, name: str) -> None:
        """Drop an entry before another command replaces its output."""
        if name in self._finished:
            self._record(name, None)

    def _record(self, name: str, phase: dict[str, Any] | None) -> None:
        """Change an entry of the list, in which other processes may have written theirs."""
        with lock_in_turn(self._path.with_name(f".{PHASES}.lock")):
            self._finished = {key: value for key, value in _read(self._path).items() if key != name}
            self._finished |= {} if phase is None else {name: phase}
            with atomic_write(self._path, "w") as stream:
                json.dump(self._finished, stream, indent=1, ensure_ascii=False)


def _place(command: Sequence[str], output: Path) -> str:
    """Return the output as other commands name it: a file, or the folder that holds it."""
    return command[command.index("-o") + 1] if "-o" in command[:-1] else str(output)


def _state(output: Path, phase: Mapping[str, Any]) -> str:
    """Return the checksums of a file and its evidence, or the checksum of a folder's manifest; empty: neither."""
    checksums = [phase[key] for key in _files(output, phase.get("command", ()), "manifest" in phase) if key in phase]
    return " ".join(checksums or _checksums(output, phase.get("command", ())).values())


def _checksums(output: Path, command: Sequence[str]) -> dict[str, str]:
    """Return the checksums of the files of an output, or of a folder's manifest, which has those of all its files."""
    return {key: sha256_of(path) for key, path in _files(output, command, output.is_dir()).items() if path.is_file()}


def _files(output: Path, command: Sequence[str], is_folder: bool) -> dict[str, Path]:
    """Return the keys of an entry of the list, and the files whose checksums they are."""
    if is_folder:
        return {"manifest": output / MANIFEST}
    files = {"sha256": output, "evidence": output.with_name(f"{output.name}.evidence")}
    if {*command[:1]} & _WITH_DEV and "--dev" in command[:-1]:
        files["dev"] = output.parent / Path(command[command.index("--dev") + 1]).name
    return files


def _checked(output: Path, phase: Mapping[str, Any]) -> list[tuple[Path, str]]:
    """Return the files of an output, and their checksums when the command had run."""
    files = _files(output, phase.get("command", ()), "manifest" in phase)
    return [(path, phase[key]) for key, path in files.items() if key in phase]


def _check(output: Path, phase: Mapping[str, Any]) -> None:
    """Compare the files of an output with their checksums.

    Raises:
        IntegrityError: a file was damaged or deleted; names the first.
    """
    for path, checksum in _checked(output, phase):
        if not path.is_file():
            raise IntegrityError(f"{path}: missing")
        if sha256_of(path) != checksum:
            kind = "folder" if path.name == MANIFEST else "file"
            raise IntegrityError(f"{path}: checksum differs; delete the {kind} to run its command again")


def check_outputs(folder: Path) -> int:
    """Compare the outputs of a reproduction's commands, and their evidence, with their checksums.

    Returns:
        The number of outputs that are files.

    Raises:
        IntegrityError: an output was damaged or deleted; names the first.
    """
    phases = _read(folder / PHASES)
    for name, phase in phases.items():
        _check(folder / name, phase)
    return sum("sha256" in phase for phase in phases.values())


def _read(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    cure = "delete it to run all commands again"
    finished = read_json(path, cure)
    if not all(isinstance(phase, dict) for phase in finished.values()):
        raise IntegrityError(f"{path}: is not a list of finished commands; {cure}")
    return finished
