"""Halve batches when memory runs out.

A batch within its token budget can still be too large, above all for an accelerator that other programs use. Results do
not depend on the size of batches, except their last bits.
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
"""Messages of oneDNN when it gets no memory for its code or scratchpad, among other causes; primitive descriptors need
no memory."""


def halving(batch: list[int], work: Callable[[list[int]], T], notes: Notes) -> Iterator[tuple[list[int], T]]:
    """Yield (batch, ``work(batch)``); where memory runs out, the same for its halves, in order.

    Args:
        batch: positions, at least one.
        work: may raise PyTorch's out-of-memory errors.
        notes: counts halved batches.

    Raises:
        LongRankError: a batch of one text is too large.
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
    # Outside the except block the error is freed, and with it the tensors that its traceback held.
    _return_memory()
    notes.add("batches halved because memory ran out; smaller ones are faster", f"{len(batch)} texts")
    middle = len(batch) // 2
    yield from halving(batch[:middle], work, notes)
    yield from halving(batch[middle:], work, notes)


def _is_out_of_memory(error: Exception) -> bool:
    """Say whether PyTorch has run out of memory: by class on an accelerator, by message on the CPU."""
    import torch

    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    message = str(error)
    return bool(_NO_MEMORY.search(message) or _ONEDNN.search(message))


def _return_memory() -> None:
    """Free the accelerator's cached memory, whose pieces may be too small for the next batch."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()
