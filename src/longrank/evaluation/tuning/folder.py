"""The folder of a tuning: what has been searched, so that another call goes on, and what came of it.

values.journal   the values of every setting and query; any protocol reads it
folds.json       the folds, if they were made, not given
run.txt          the test queries (or all, if there are none), each searched with its setting
tuning.json      protocol, choices and values; written when all above is
heatmap.*        the grid drawn, when the outcome is safe
.unfinished      whose outcome is being written: what a full disk or a kill leaves is known by it
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from longrank.formats.folds import Fold, write_folds
from longrank.formats.trec import write_rankings
from longrank.storage import atomic_write, workplace
from longrank.types import ScoredDoc

JOURNAL, FOLDS, RUN, TUNING = "values.journal", "folds.json", "run.txt", "tuning.json"
_UNFINISHED = ".unfinished"


def check_own(folder: Path, mark: str = JOURNAL, command: str = "tune") -> None:
    """Refuse a folder that cannot be written to, or that holds something else.

    Args:
        folder: where to.
        mark: the file that a folder of an earlier call has.
        command: which command's.

    Raises:
        InputError: as said; a folder that is absent, empty, or of an earlier call is fine.
    """
    unfinished = folder / _UNFINISHED
    begun = (folder / mark).exists() or (unfinished.exists() and unfinished.read_text(encoding="utf-8") == mark)
    workplace.check_own(folder, f"result of {command}", begun=begun)


def write_outcome(
    folder: Path,
    everything: str,
    rankings: Iterable[Sequence[ScoredDoc]],
    made: Mapping[str, Fold] | None = None,
    given: Path | None = None,
    *,
    name: str = TUNING,
) -> None:
    """Replace what an earlier protocol has left. The JSON comes last: what is beside it is its own.

    Args:
        folder: where to.
        everything: the JSON.
        rankings: the run.
        made: folds that were made, if any.
        given: the file that folds were read from, if any; one that an earlier call made then stays.
        name: of the file of the JSON.

    Raises:
        LongRankError: writing failed.
    """
    (folder / _UNFINISHED).write_text(name, encoding="utf-8")
    for path in (folder / name, folder / RUN, folder / FOLDS, *sorted(folder.glob("heatmap*"))):
        if given is None or path.resolve() != given.resolve():
            path.unlink(missing_ok=True)
    if made is not None:
        write_folds(made, folder / FOLDS)
    write_rankings("longrank", rankings, folder / RUN)
    with atomic_write(folder / name, "w") as stream:
        stream.write(everything)
    (folder / _UNFINISHED).unlink()
