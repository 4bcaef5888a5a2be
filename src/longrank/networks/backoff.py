"""What to do when memory runs out: the same work in halves.

A batch within its token budget can still be too large for the machine, above all for an accelerator that others
use too. Nothing of the result depends on how large batches are, except its last bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from longrank.errors import LongRankError
from longrank.types import Notes

T = TypeVar("T")

_NO_MEMORY = re.compile(r"can't allocate memory|not enough memory|out of memory")
_ONEDNN = re.compile(r"could not (create a (primitive|memory object)|execute a primitive)(?! descriptor)")
"""What oneDNN says when it gets no memory for its code or its scratchpad, whatever else it may mean by it; a primitive
descriptor needs none."""


def halving(batch: list[int], work: Callable[[list[int]], T], notes: Notes) -> Iterator[tuple[list[int], T]]:
    """Yield (batch, ``work(batch)``), or the same of its halves, in order, where memory runs out; counted in `notes`.

    Args:
        batch: positions, at least one.
        work: may raise what PyTorch raises when there is no memory left.
        notes: counts the batches that were too large.

    Raises:
        LongRankError: there is no memory for a single one.
    """
    try:
        result = work(batch)
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        if len(batch) == 1:
            reason = str(error).partition("\n")[0][:200]
            likely = "most likely " if _ONEDNN.search(reason) else ""
            raise LongRankError(f"{likely}out of memory with a batch of one text: {reason}") from None
    else:
        yield batch, result
        return
    # Only here is the error gone, and with it the tensors that its traceback held.
    _return_memory()
    notes.add("batches halved because memory ran out; smaller ones are faster", f"{len(batch)} texts")
    middle = len(batch) // 2
    yield from halving(batch[:middle], work, notes)
    yield from halving(batch[middle:], work, notes)


def _is_out_of_memory(error: Exception) -> bool:
    """Say whether PyTorch has run out of memory: on an accelerator by class, on the CPU by what it says."""
    import torch

    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    said = str(error)
    return bool(_NO_MEMORY.search(said) or _ONEDNN.search(said))


def _return_memory() -> None:
    """Give cached memory of an accelerator back, which may lie in pieces too small for the next batch."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()
