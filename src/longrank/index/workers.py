"""Write segments in this process or in several processes; the result is the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from longrank.engines import Local
from longrank.index.batches import Batch
from longrank.index.options import IndexOptions
from longrank.index.segments import Segment, write_segment

Task: TypeAlias = tuple[Path, Batch, IndexOptions]
"""The arguments of `write_segment`."""


def write_segments(tasks: Iterator[Task], workers: int) -> Iterator[Segment]:
    """Write the segments of all tasks and yield them in order of completion.

    Args:
        tasks: arguments of `write_segment`; at most `workers` + 1 of them are in memory at a time.
        workers: processes to start; with 1, or for a single task, no process is started.

    Raises:
        InputError: a document cannot be written.
        LongRankError: a worker process was killed.
    """
    return (segment for _, segment in Local(workers).each(_write, tasks))


def _write(task: Task) -> Segment:
    return write_segment(*task)
