"""Notes and progress on stderr."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from longrank.errors import printable

if TYPE_CHECKING:
    from rich.progress import Progress

    from longrank.types import Notes


_PLAIN_SECONDS = 10.0  # seconds between lines of progress where there is no terminal
_state = {"debug": False}
_bars: list[Progress] = []


def set_debug(on: bool) -> None:
    """Show tracebacks from now on."""
    _state["debug"] = _state["debug"] or on


def debug() -> bool:
    """Tell whether tracebacks are shown."""
    return _state["debug"]


def note(message: str) -> None:
    """Print a line for the user."""
    print(f"longrank: {printable(message)}", file=sys.stderr)


def show_notes(notes: Notes) -> None:
    """Print one line per kind of remark."""
    for line in notes.lines():
        note(f"note: {line}")


@contextmanager
def telling_compilation() -> Iterator[None]:
    """Tell a user at a terminal why the first search or build on a machine takes longer."""
    if not sys.stderr.isatty():
        yield
        return
    from longrank.index.compiling import telling

    with telling(lambda: note("compiling, once per machine: this takes some 10 seconds")):
        yield


def is_first() -> bool:
    """Tell whether this process reports for all processes of torchrun; true if it runs alone."""
    return os.environ.get("RANK", "0") == "0"


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table with right-aligned columns."""
    lines = [head, *rows]
    widths = [max(len(line[n]) for line in lines) for n in range(len(head))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]


def cache_folder() -> Path:
    """Return the cache folder: ``$XDG_CACHE_HOME/longrank``, else ``~/.cache/longrank``."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if Path(given).is_absolute() else Path.home() / ".cache") / "longrank"


@contextmanager
def progress(what: str, total: int | None, unit: str, detail: Callable[[], str] = str) -> Iterator[Callable[..., None]]:
    """Show progress: a bar on a terminal, else a line every ten seconds.

    Yields a function of the number of units just done and, if known only then, of their total.

    Args:
        what: the work.
        total: number of units, if known.
        unit: noun for a unit.
        detail: returns text to add to the line, such as the bytes read.
    """
    with _bar(what, total, detail) if sys.stderr.isatty() else _plain(what, total, unit, detail) as advance:
        yield advance


@contextmanager
def _bar(what: str, total: int | None, detail: Callable[[], str]) -> Iterator[Callable[..., None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with _shared(lambda: Progress(*columns, console=Console(stderr=True), transient=True)) as bar:
        task = bar.add_task(what, total=total)
        yield lambda n, total=None: bar.update(task, advance=n, total=total, description=f"{what}{detail()}")
        bar.remove_task(task)


@contextmanager
def _shared(make: Callable[[], Progress]) -> Iterator[Progress]:
    """Yield the bars that are shown, or new ones: an upload shows its own within those of a build."""
    if _bars:
        yield _bars[0]
        return
    with make() as bars:
        _bars.append(bars)
        try:
            yield bars
        finally:
            _bars.clear()


@contextmanager
def _plain(what: str, total: int | None, unit: str, detail: Callable[[], str]) -> Iterator[Callable[..., None]]:
    done, last = 0, time.monotonic()
    began: tuple[int, float] | None = None  # after the first call, which may report work of an earlier run

    def advance(n: int, units: int | None = total) -> None:
        nonlocal done, last, began
        done += n
        now = time.monotonic()
        if began is None:
            began = done, now
        elif now - last >= _PLAIN_SECONDS:
            last = now
            rate = (done - began[0]) / (now - began[1])
            left = f", {(units - done) / rate:.0f} s left" if units and rate else ""
            note(f"{what}: {done}{f' of {units}' if units else ''} {unit}{detail()}{left}")

    yield advance
