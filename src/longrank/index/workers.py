"""Segments written one after another here, or by several processes; the result is the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from longrank.index.batches import Batch
from longrank.index.options import IndexOptions
from longrank.index.segments import Segment, write_segment
from longrank.processes import distributed

Task: TypeAlias = tuple[Path, Batch, IndexOptions]
"""The arguments of `write_segment`."""


def write_segments(tasks: Iterator[Task], workers: int) -> Iterator[Segment]:
    """Do the tasks and yield what comes of them, in order of completion.

    Args:
        tasks: what to write; as many as there are workers, and one more, are in memory at a time.
        workers: processes to start; none is started if 1, or if there is only one task.

    Raises:
        InputError: a document cannot be written.
        LongRankError: a worker process was killed.
    """
    return (segment for _, segment in distributed(_write, tasks, workers))


def _write(task: Task) -> Segment:
    return write_segment(*task)
