"""Folders as a power cut may leave them: the recorded changes of a folder, cut off at any moment.

A `Disk` watches a folder while a block runs. Before each change of a name, each opening for writing and each
`os.fsync`, it notes the contents of all files and the entries of all folders. What was not synced may be lost or kept,
so each moment stands for several worlds: every write reached the disk; only the synced contents and entries did; only
contents did; only entries did; or a random mix, in which the last write of a file may be torn.

The model is that of ALICE (Pillai et al., OSDI 2014) without reordered entries inside a folder.
"""

from __future__ import annotations

import os
import random
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import pytest

Told = TypeVar("Told")

Entries = Mapping[str, int]
"""Name -> node of a folder."""

State = bytes | Entries
"""Content of a file, or entries of a folder."""

World = Mapping[str, bytes | None]
"""Path below the watched folder -> content of a file, or None for a folder."""

Choice = Callable[[Sequence[State]], State]
"""Choose among the states of a node since it was last synced; the first is the synced state."""

_CHANGES = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.truncate", "sqlite3.connect")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


_WATCHED: list[Disk] = []


@cache
def _add_hook() -> None:
    """Add the hook of all disks, once: Python calls every hook at every event until the process ends."""
    sys.addaudithook(_tell)


def _tell(event: str, arguments: tuple[Any, ...]) -> None:
    for disk in _WATCHED:
        disk.hook(event, arguments)


class Moment(NamedTuple):
    """Node -> its states since it was last synced."""

    root: int
    states: Mapping[int, Sequence[State]]

    def world(self, folders: Choice, files: Choice) -> World:
        return dict(self._below(self.root, "", folders, files))

    def _below(self, node: int, path: str, folders: Choice, files: Choice) -> Iterator[tuple[str, bytes | None]]:
        entries = folders(self.states[node])
        assert not isinstance(entries, bytes)
        for name, child in entries.items():
            if isinstance(self.states[child][0], bytes):
                content = files(self.states[child])
                assert isinstance(content, bytes)
                yield path + name, content
            else:
                yield path + name, None
                yield from self._below(child, f"{path}{name}/", folders, files)


class Disk:
    """Record what happens to `folder` inside `watching`; `moments` has the states before each event, and the last."""

    def __init__(self, folder: Path) -> None:
        self.moments: list[Moment] = []
        self._folder, self._watching, self._nodes, self._states = (
            folder,
            False,
            dict[int, int](),
            dict[int, list[State]](),
        )
        self._serial, self._syncing = 0, Lock()

    @contextmanager
    def watching(self, patch: pytest.MonkeyPatch) -> Iterator[None]:
        """Watch while the block runs; all that is there before it counts as synced. `os.fsync` is only noted."""
        _add_hook()
        self._note()
        with patch.context() as inside:
            inside.setattr(os, "fsync", self._sync)
            self._watching = True
            _WATCHED.append(self)
            try:
                yield
            finally:
                _WATCHED.remove(self)
                self._watching = False
                self._note()

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._watching and (event in _CHANGES or (event == "open" and (arguments[2] or 0) & _WRITES)):
            self._watching = False
            self._note()
            self._watching = True

    def _sync(self, descriptor: int) -> None:
        with self._syncing:  # files are synced by several threads
            self._watching = False
            self._note()
            if node := self._nodes.get(os.fstat(descriptor).st_ino):
                self._states[node] = self._states[node][-1:]
            self._watching = True

    def _note(self) -> None:
        """Append a moment. A node that is nowhere in the folder any more is closed: its number may be used again."""
        present: dict[int, int] = {}
        root = self._read(self._folder, present)
        self._nodes = present
        self.moments.append(Moment(root, {node: tuple(states) for node, states in self._states.items()}))

    def _read(self, path: Path, present: dict[int, int]) -> int:
        """Note the state of a file or folder and of all below it; return its node."""
        status = path.lstat()
        if (known := self._nodes.get(status.st_ino)) is None:
            self._serial += 1
            known = self._serial
        present[status.st_ino] = known
        new = known not in self._states
        if stat.S_ISDIR(status.st_mode):
            state: State = {child.name: self._read(child, present) for child in sorted(path.iterdir())}
            before: State = {}
        else:
            state, before = path.read_bytes(), b""
        history = self._states.setdefault(known, [before] if new and self.moments else [state])
        if history[-1] != state:
            history.append(state)
        return known

    def worlds(self, mixes: int = 1, *, of_each_moment: bool = False) -> Iterator[tuple[int, World]]:
        """Yield (number of the moment, world), each different world once, or once for each moment that may leave it."""
        seen = set()
        for number, moment in enumerate(self.moments):
            rng = random.Random(number)
            if of_each_moment:
                seen.clear()
            choices = [(last, last), (first, first), (first, last), (last, first)]
            choices += [(rng.choice, partial(torn, rng))] * mixes
            for folders, files in choices:
                world = moment.world(folders, files)
                if (key := frozenset(world.items())) not in seen:
                    seen.add(key)
                    yield number, world

    def surviving(self) -> World:
        """Return the world in which only synced states survive, after the last event."""
        return self.moments[-1].world(first, first)


def first(states: Sequence[State]) -> State:
    return states[0]


def last(states: Sequence[State]) -> State:
    return states[-1]


def torn(rng: random.Random, states: Sequence[State]) -> State:
    """Return one of the contents, or a beginning of it; bytes that were synced stay where they were appended to."""
    number = rng.randrange(len(states))
    content, synced = states[number], states[0]
    assert isinstance(content, bytes)
    assert isinstance(synced, bytes)
    if number and rng.random() < 0.5:
        return content[: rng.randrange(len(synced) if content.startswith(synced) else 0, len(content) + 1)]
    return content


def write_world(world: World, folder: Path) -> None:
    """Make `folder` from a world."""
    folder.mkdir()
    for path, content in world.items():
        if content is None:
            (folder / path).mkdir()
        else:
            (folder / path).write_bytes(content)


class PowerCuts:
    """Try a change of files below `folder` under all power cuts."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.patch, self.scratch = folder / "disk", patch, folder / "world"
        self.folder.mkdir()

    @contextmanager
    def during(self) -> Iterator[None]:
        self.disk = Disk(self.folder)
        with self.disk.watching(self.patch):
            yield

    def states(self, read: Callable[[Path], Told], mixes: int = 1) -> list[Told]:
        """Return what `read` tells of each world, those of one moment after those of the moment before."""
        return [self.tell(world, read) for _, world in self.disk.worlds(mixes)]

    def surviving(self, read: Callable[[Path], Told]) -> Told:
        return self.tell(self.disk.surviving(), read)

    def tell(self, world: World, read: Callable[[Path], Told]) -> Told:
        shutil.rmtree(self.scratch, ignore_errors=True)
        write_world(world, self.scratch)
        return read(self.scratch)

    def few(self, *names: str) -> list[World]:
        """Return one of the worlds that are alike in these files."""
        return list({tuple(world.get(name) for name in names): world for _, world in self.disk.worlds()}.values())
