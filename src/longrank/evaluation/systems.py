"""Read the runs of an evaluation, each once, and name them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from longrank.collections import read_run
from longrank.errors import InputError
from longrank.evaluation.measures import coverage
from longrank.types import Notes, Qrels, Run

_FIX = (
    "a run, a list of runs, or a mapping name -> run; a run is a file, a Run, query id -> doc id -> score, or a table"
)


class System(NamedTuple):
    """A run with its name in tables; `place` names it in messages: its file, or again its name."""

    name: str
    run: Run
    place: str


def read_systems(runs: Any, notes: Notes, baseline: Any = None) -> list[System]:
    """Read runs, each once however often it is given, and the baseline first.

    A run is named by its key in a mapping, else by its tag; where tags collide by its file, where file names
    collide by the whole path.

    Args:
        runs: a run, a list of runs, or a mapping name -> run; a run as `read_run` takes it.
        notes: counts remarks on the inputs.
        baseline: a run, or a name in the mapping `runs`; it comes first.

    Raises:
        InputError: no run, or as `read_run`.
    """
    pairs = list(_pairs(runs))
    if not pairs:
        raise InputError("there is no run", fix=_FIX)
    if baseline is not None:
        named = [pair for pair in pairs if isinstance(baseline, str) and pair[0] == baseline]
        same = [pair for pair in pairs if _identity(pair[1]) == _identity(baseline)]
        pairs = [*named, *same, (None, baseline)][:1] + pairs
    sources = {(name, _identity(source)): (name, source) for name, source in pairs}
    return _named([(name, read_run(source, notes), place_of(source, "")) for name, source in sources.values()])


def place_of(source: Any, name: str) -> str:
    """Return the file that a source is, or `name` for values in memory."""
    return str(source) if isinstance(source, str | Path) else name


def places_of(**sources: Any) -> dict[str, str | None]:
    """Return the file of each source, ``"memory"`` for values in memory, None for None."""
    return {name: None if source is None else place_of(source, "memory") for name, source in sources.items()}


def note_coverage(qrels: Qrels, system: System, notes: Notes, fate: str, judged: Qrels | None = None) -> None:
    """Note how many topics a run lacks, and how many of its queries have no judgments.

    Args:
        qrels: the judgments.
        system: the run.
        notes: takes the remarks.
        fate: fate of the topics in the note: ``"count as 0"``, ``"left out"``.
        judged: all judgments, where `qrels` are those that a residual evaluation keeps; None: `qrels`.
    """
    counts = coverage(qrels, system.run)
    if counts.missing:
        notes.say(f"{counts.missing} of {counts.topics} topics missing from {system.place} ({fate})")
    unjudged = counts.unjudged if judged is None else coverage(judged, system.run).unjudged
    if unjudged:
        notes.say(f"{unjudged} of {len(system.run)} queries of {system.place} have no judgments (ignored)")


def runs_of(runs: Any) -> list[Any]:
    """Return the runs of a list, an iterator or a mapping name -> run, or the only run, not yet read."""
    return [run for _, run in _pairs(runs)]


def _pairs(runs: Any) -> Iterator[tuple[str | None, Any]]:
    if isinstance(runs, Mapping) and not _is_run(runs):
        yield from ((str(name), run) for name, run in runs.items())
    elif isinstance(runs, list | tuple | Iterator):
        yield from ((None, run) for run in runs)
    else:
        yield None, runs


def _is_run(runs: Mapping[Any, Any]) -> bool:
    """Tell query id -> doc id -> score from name -> run."""
    rankings = [scores for scores in runs.values() if isinstance(scores, Mapping)]
    return bool(rankings) and not any(isinstance(score, Mapping) for scores in rankings for score in scores.values())


def _identity(source: Any) -> object:
    # os.path.realpath, since Path.resolve fails on a link to itself
    return os.path.realpath(source) if isinstance(source, str | Path) else id(source)


def _named(runs: list[tuple[str | None, Run, str]]) -> list[System]:
    tags = Counter(run.tag if name is None else name for name, run, _ in runs)
    places = [place or f"run {number}" for number, (_, _, place) in enumerate(runs, 1)]
    files = Counter(Path(place).name for place in places)
    short = [Path(place).name if files[Path(place).name] == 1 else place for place in places]
    names = [
        name if name is not None else run.tag if tags[run.tag] == 1 else other
        for (name, run, _), other in zip(runs, short, strict=True)
    ]
    kept = [place if name is None else name for (name, _, _), place in zip(runs, places, strict=True)]
    names = next((unique for unique in (names, kept) if len(set(unique)) == len(runs)), places)
    return [System(name, run, place or name) for name, (_, run, place) in zip(names, runs, strict=True)]
