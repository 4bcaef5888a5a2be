"""The result folder of tuning: values to resume from, and the outcome.

values.journal   the values of every setting and query; any protocol reads it
folds.json       the folds that were made
run.txt          the run of the test queries (of all, if there are none), each with its setting
tuning.json      protocol, choices and values; written after the files above
manifest.json    a checksum of each of these files but the journal, which has its own
heatmap.*        plots of the grid, drawn after tuning.json
.unfinished      name of the outcome that is being written, and checksums of folds that results made; marks a folder
                 that a full disk or a kill left
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import chain, permutations
from pathlib import Path
from typing import Any

from longrank.errors import InputError, IntegrityError
from longrank.formats.folds import Fold, folds_text, write_folds
from longrank.formats.trec import write_rankings
from longrank.small_files import RECORD, read_small
from longrank.storage import MANIFEST, atomic_write, seal, sealed_files, sha256_of, workplace
from longrank.storage.files import sync_folder, writing
from longrank.storage.temporaries import temporary_folder
from longrank.types import Ranking

JOURNAL, FOLDS, RUN, TUNING = "values.journal", "folds.json", "run.txt", "tuning.json"
_UNFINISHED = ".unfinished"


def check_own(folder: Path, *inputs: Any, mark: str = JOURNAL, command: str = "tune") -> None:
    """Refuse a folder that cannot be written to, or that holds something else or an input.

    Args:
        folder: absent, empty, or the result of an earlier call.
        inputs: values and paths that are read, and lists of such; no file of them may be a file of the result.
        mark: the file that marks a result.
        command: name of the command, for the message.

    Raises:
        InputError: the folder cannot be written to, holds something else, or lies inside a finished folder; or an input
            would be overwritten.
    """
    left, _ = _unfinished(folder)
    if left not in ("", mark, TUNING if mark == JOURNAL else mark):
        fix = "run the command of that result again, or choose a new folder"
        raise InputError(f"holds an unfinished result with {left}, and none of {command}", path=folder, fix=fix)
    begun = _is_ours(folder / mark) or left == mark
    workplace.check_own(folder, f"result of {command}", begun=begun)
    workplace.check_outside(folder)
    flat = chain.from_iterable(each if isinstance(each, list | tuple) else [each] for each in inputs)
    paths = [each for each in flat if isinstance(each, str | Path) and os.path.isfile(each)]  # noqa: PTH113 - odd names
    for name in (mark, RUN, TUNING, FOLDS):
        workplace.check_apart(folder / name, *paths)


def check_folds(folder: Path, made: Mapping[str, Fold] | None) -> None:
    """Refuse to replace a file of folds that no result in the folder made, by folds that were made now.

    Args:
        folder: the result folder.
        made: folds that were made, if any.

    Raises:
        InputError: such a file.
    """
    path = folder / FOLDS
    if made is None or not path.exists() or _made_folds(folder):
        return
    if path.read_bytes() == folds_text(made).encode():  # of an interrupted search
        return
    raise InputError("is no part of the earlier result, and would be replaced", path=path, fix="move it")


def _made_folds(folder: Path) -> bool:
    """Tell whether a result made the file of folds in its folder, by its checksum; a user may have put a file there."""
    if not (folder / FOLDS).is_file():
        return False
    _, made = _unfinished(folder)
    with suppress(IntegrityError):
        made += [entry["sha256"] for name, entry in sealed_files(folder, "result").items() if name == FOLDS]
    return bool(made) and sha256_of(folder / FOLDS) in made


def _unfinished(folder: Path) -> tuple[str, list[str]]:
    """Return the name of the outcome that is being written, empty if there is none, and the checksums of made folds."""
    path = folder / _UNFINISHED
    name, *checksums = (path.read_text(encoding="utf-8") if path.exists() else "").splitlines() or [""]
    return name, checksums


def _is_ours(mark: Path) -> bool:
    """Tell whether a file marks a result: a journal, whose reader refuses others, or the outcome that a seal names.

    Other programs have a ``weights.json``, too.
    """
    if mark.name == JOURNAL or not mark.exists():
        return mark.exists()
    try:
        if mark.name in sealed_files(mark.parent, "result"):
            return True
        outcome = json.loads(read_small(mark, RECORD))
        return isinstance(outcome, dict) and outcome.keys() >= {"result", "choices", "values"}
    except (InputError, IntegrityError, ValueError, RecursionError, OSError):
        return False


def left_unfinished(folder: Path) -> bool:
    """Tell whether a tuning or weighing was begun in a folder and its outcome is not written."""
    begun = (folder / JOURNAL).exists() and not (folder / TUNING).exists()
    return not (folder / MANIFEST).exists() and (begun or (folder / _UNFINISHED).exists())


def write_outcome(
    folder: Path,
    record: str,
    rankings: Iterable[Ranking],
    made: Mapping[str, Fold] | None = None,
    source: object = None,
    *,
    name: str = TUNING,
) -> None:
    """Replace the outcome of an earlier call, which stands until the new one is written. The JSON file comes last.

    Args:
        folder: the result folder.
        record: text of the JSON file.
        rankings: the run.
        made: folds that were made, if any.
        source: source of the folds; a file stays.
        name: name of the JSON file.

    Raises:
        LongRankError: writing failed.
    """
    old = (folder / name).read_text(encoding="utf-8", errors="replace") if (folder / name).exists() else record
    replaced = [folder / MANIFEST, folder / name, folder / RUN, *_plots(folder, record), *_plots(folder, old)]
    sealed = [name, RUN] if made is None else [name, RUN, FOLDS]
    ours = [folder / FOLDS] if _made_folds(folder) else []
    if isinstance(source, str | Path) and Path(source).resolve() == (folder / FOLDS).resolve():
        sealed += [path.name for path in ours]
    else:
        replaced += ours
    with writing(folder), temporary_folder(folder / name) as new:
        if made is not None:
            write_folds(made, new / FOLDS)
            ours = [*ours, new / FOLDS]
        write_rankings("longrank", rankings, new / RUN)
        with atomic_write(new / name, "w") as stream:
            stream.write(record)
        with atomic_write(folder / _UNFINISHED, "w") as stream:  # synced before anything that it stands for
            stream.write("\n".join([name, *map(sha256_of, ours)]))
        for path in replaced:
            path.unlink(missing_ok=True)
        for part in (FOLDS, RUN, name):
            if (new / part).exists():
                (new / part).rename(folder / part)
        sync_folder(folder)
    seal(folder, "result", sealed)
    (folder / _UNFINISHED).unlink()


def _plots(folder: Path, record: str) -> set[Path]:
    """Return the files that plots of a record's grid may have; other files of such names are not ours."""
    try:
        axes = {axis for each in json.loads(record)["values"] for axis in each["setting"]}
    except (ValueError, KeyError, TypeError):  # a damaged record of an earlier call
        axes = set()
    stems = ["heatmap", *(f"heatmap-{a}-{b}" for a, b in permutations(sorted(axes), 2))]
    paths = (folder / f"{stem}.{kind}" for stem in stems for kind in ("png", "svg"))
    return {path for path in paths if path.is_file()}
