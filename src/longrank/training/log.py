"""The log of a training: JSON lines, the same after any interruption, and optionally TensorBoard's.

    {"step": 1, "loss": 0.98, "encoder_rate": 1e-05, "head_rate": 0.001, "gradient_norm": 3.2}
    {"step": 200, "measure": 0.41}

`step` counts steps done. A checkpoint holds the lines until then, and a resumed training continues them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np

from longrank.errors import LongRankError, MissingExtra
from longrank.storage import atomic_write

_TENTHS = 10


class TrainingLog:
    """The lines of a training, in memory and in a file.

    Args:
        path: the file; replaced.
        text: lines of a checkpoint.
        board: folder of TensorBoard's events; None: no events are written.

    Raises:
        MissingExtra: TensorBoard is not installed.
        LongRankError: writing failed.
    """

    def __init__(self, path: Path, text: str = "", board: Path | None = None) -> None:
        self._path = path
        self._lines = [json.loads(line) for line in text.splitlines()]
        self._board = None if board is None else _board(board, self._lines[-1]["step"] + 1 if self._lines else 0)
        with atomic_write(path, "w") as stream:
            stream.write(text)
        self._stream: IO[str] = path.open("a", encoding="utf-8", newline="\n")

    def add(self, step: int, **values: float | None) -> None:
        """Add a line of values, measured after `step` steps.

        Raises:
            LongRankError: writing failed (no space left, ...).
        """
        self._lines.append({"step": step, **values})
        with self._writing():
            self._stream.write(_text(self._lines[-1:]))
            self._stream.flush()
            if self._board is not None:
                for name, value in values.items():
                    if value is not None:
                        self._board.add_scalar(name, value, step)

    @property
    def text(self) -> str:
        """All lines, as one text."""
        return _text(self._lines)

    def summary(self) -> dict[str, Any]:
        """Return the mean loss of each tenth of the steps, and all validations as [step, measure]."""
        losses = [line["loss"] for line in self._lines if "loss" in line]
        parts = np.array_split(np.array(losses), min(_TENTHS, len(losses)))
        return {
            "losses": [round(float(part.mean()), 6) for part in parts],
            "validations": [[line["step"], line["measure"]] for line in self._lines if "measure" in line],
        }

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise LongRankError(f"cannot write {self._path}: {error.strerror or error}") from error

    def __enter__(self) -> TrainingLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._writing():
            self._stream.close()
        if self._board is not None:
            self._board.close()


def _text(lines: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)


def check_tensorboard() -> Any:
    """Return the class that writes TensorBoard's log.

    Raises:
        MissingExtra: TensorBoard is not installed.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingExtra("the TensorBoard log", "tensorboard") from None
    return SummaryWriter


def _board(folder: Path, step: int) -> Any:
    """Return a writer that hides events of an interrupted training from `step` on."""
    return check_tensorboard()(str(folder), purge_step=step)
