"""What several commands read the same way."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from longrank.config import suggestion
from longrank.errors import InputError
from longrank.storage import check_folder, check_writable
from longrank.types import Notes, Qrels, Run


def load_runs(paths: Sequence[Path], notes: Notes) -> dict[Path, Run]:
    """Read each run once, however often and under whatever path it is named.

    Raises:
        InputError: as `read_run`.
    """
    from longrank.formats.trec import read_run

    files: dict[str, Path] = {}
    for path in paths:
        files.setdefault(os.path.realpath(path), path)  # Path.resolve fails on a link to itself
    return {path: read_run(path, notes) for path in files.values()}


def about_coverage(qrels: Qrels, run: Run, path: Path, notes: Notes, *, complete: bool) -> None:
    """Say of how many topics a run has nothing, and how many of its queries nobody judged.

    `complete`: whether those topics count as 0; else they are left out.
    """
    from longrank.evaluation.measures import coverage

    seen = coverage(qrels, run)
    if seen.missing:
        fate = "count as 0" if complete else "left out"
        notes.say(f"{seen.missing} of {seen.topics} topics missing from {path} ({fate})")
    if seen.unjudged:
        notes.say(f"{seen.unjudged} of {len(run)} queries of {path} have no judgments (ignored)")


def run_names(runs: Mapping[Path, Run]) -> list[str]:
    """Name each run by its tag; by its file where tags collide, and by the whole path where those do."""
    tags = Counter(run.tag for run in runs.values())
    files = Counter(path.name for path in runs)
    names = [
        run.tag if tags[run.tag] == 1 else path.name if files[path.name] == 1 else str(path)
        for path, run in runs.items()
    ]
    return names if len(set(names)) == len(names) else [str(path) for path in runs]


def output_file(output: Path, *inputs: Path | str | None) -> None:
    """Fail before any work if `output` cannot be written, or is something that the command reads or writes besides.

    Raises:
        InputError: as `apart` and `check_writable`.
    """
    check_writable(output)
    apart(output, *inputs)


def output_folder(output: Path, *inputs: Path | str | None) -> None:
    """Fail before any work if files cannot be written to the folder `output`, or the command reads it besides.

    Raises:
        InputError: as `apart` and `check_folder`.
    """
    check_folder(output)
    apart(output, *inputs)


def apart(output: Path, *inputs: Path | str | None) -> None:
    """Refuse an output, a file or a folder, that the command reads or writes besides.

    Raises:
        InputError: it is one of `inputs` (None and "" do not count) or lies inside one, an index for instance.
    """
    places = [os.path.realpath(one) for one in inputs if one]  # Path.resolve fails on a link to itself
    if os.path.realpath(output) in places:
        raise InputError("is also an input and would be overwritten", path=output, fix="choose another output")
    if set(places) & set(map(str, Path(os.path.realpath(output)).parents)):
        raise InputError("lies inside an input", path=output, fix="choose another output")


def choice(option: str, value: str, allowed: Sequence[str]) -> str:
    """Check an option that takes one of a few words.

    Raises:
        InputError: another word.
    """
    if value not in allowed:
        raise InputError(f"{option} takes {' or '.join(allowed)}", got=value, fix=suggestion(value, allowed))
    return value


def numbers(option: str, value: str) -> list[float]:
    """Read an option that takes numbers between commas: ``1,0.1,0.1``.

    Raises:
        InputError: one of them is not a number.
    """
    try:
        return [float(part) for part in value.split(",")]
    except ValueError:
        raise InputError(f"{option} takes numbers between commas", got=value) from None
