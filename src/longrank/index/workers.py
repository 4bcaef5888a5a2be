"""Write segments by the workers of an engine; the result is the same."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from uuid import uuid4

from longrank.engines import Engine
from longrank.index.batches import Batch
from longrank.index.options import IndexOptions
from longrank.index.segments import Segment, write_segment

if TYPE_CHECKING:
    from longrank.index.lexicon import Lexicon

Task: TypeAlias = tuple[Path, Batch, IndexOptions]
"""A new folder, documents, and the options of the build."""


def write_segments(tasks: Iterator[Task], engine: Engine) -> Iterator[Segment]:
    """Write the segments of all tasks and yield them in order of completion.

    Args:
        tasks: about one for each worker is in memory at a time.
        engine: runs the tasks.

    Raises:
        InputError: a document cannot be written.
        LongRankError: a worker was killed.
    """
    return (segment for _, segment in engine.each(_Writing(), tasks))


class _Writing:
    """Writes segments; each worker has its own lexicon, from its first task on."""

    def __init__(self) -> None:
        self._lexicon: Lexicon | None = None

    def __call__(self, task: Task) -> Segment:
        folder, batch, options = task
        if self._lexicon is None:
            from longrank.index.lexicon import Lexicon

            self._lexicon = Lexicon()
        with attempt(folder) as own:
            segment = write_segment(own, batch, options, self._lexicon)
        return segment._replace(folder=folder)


@contextmanager
def attempt(folder: Path) -> Iterator[Path]:
    """Yield the name of a new folder that becomes `folder` at the end of the block.

    So a task that is done again, since its worker was killed, finds no remains; if both finish, one folder stays.
    """
    own = folder.with_name(f".{folder.name}-{uuid4().hex}")
    yield own
    try:
        own.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
        shutil.rmtree(own)
