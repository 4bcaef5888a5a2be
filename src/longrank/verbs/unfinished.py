"""Find work that was begun and not finished in a folder that LongRank wrote."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from longrank.errors import IntegrityError
from longrank.evaluation.tuning.folder import left_unfinished
from longrank.formats.evidence import is_evidence, read_evidence
from longrank.formats.folds import read_folds
from longrank.storage import read_journal
from longrank.training.run_folder import FOLDS, TEST_RUN, begun_here, finished
from longrank.types import Notes

_AGAIN = "run the command that wrote it again to finish it"


def read_to_end(path: Path) -> None:
    """Read an evidence file or another journal to its end.

    Raises:
        IntegrityError: it is unfinished or damaged.
    """
    for _ in read_evidence(path)[1] if is_evidence(path) else read_journal(path):
        pass


def check_finished(folders: Iterable[Path]) -> None:
    """Refuse folders of tunings, weighings and trainings that are unfinished.

    Raises:
        IntegrityError: names the first such folder.
    """
    for folder in folders:
        if left_unfinished(folder):
            raise IntegrityError(f"{folder}: unfinished: its result is not written; {_AGAIN}")
        if begun_here(folder) and finished(folder) is None:
            raise IntegrityError(f"{folder}: unfinished training; {_AGAIN}")
        if left := _folds_left(folder):
            raise IntegrityError(f"{folder}: unfinished: folds left to train: {', '.join(left)}; {_AGAIN}")


def _folds_left(folder: Path) -> list[str]:
    """Return the folds of a training over folds whose test queries are not reranked; other folders have none."""
    if not (folder / FOLDS).is_file() or not any(map(begun_here, folder.iterdir())):
        return []
    return [name for name in read_folds(folder / FOLDS, Notes()) if not (folder / name / TEST_RUN).exists()]
