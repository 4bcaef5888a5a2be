"""The processes of a training, by Hugging Face Accelerate: one process, or those of torchrun.

Accelerate provides processes and devices only. Gradients are added up once per step, without wrapping the network,
because its parts (`encode`, `aggregate`) are called directly.
"""

from __future__ import annotations

from datetime import timedelta

import torch
from accelerate import PartialState
from accelerate.utils import broadcast, reduce

_PATIENCE = timedelta(days=1)  # processes wait while the first process validates


class Ranks:
    """This process among the processes of a training.

    Attributes:
        rank: number of this process, from 0.
        n: number of processes.
        device: a GPU of its own if there is one, else the CPU.
    """

    def __init__(self) -> None:
        self._state = PartialState(cpu=not torch.cuda.is_available(), timeout=_PATIENCE)
        self.rank: int = self._state.process_index
        self.n: int = self._state.num_processes
        self.device: torch.device = self._state.device

    @property
    def first(self) -> bool:
        """True in the process that writes and validates."""
        return self.rank == 0

    def share(self, n: int) -> range:
        """Return this process's share of 0, ..., n - 1: consecutive numbers; shares differ in size by at most 1."""
        return range(n * self.rank // self.n, n * (self.rank + 1) // self.n)

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """Return the sum of a tensor over all processes."""
        total: torch.Tensor = reduce(values, "sum") if self.n > 1 else values
        return total

    def from_first(self, values: torch.Tensor) -> torch.Tensor:
        """Return the first process's tensor, written over `values`."""
        sent: torch.Tensor = broadcast(values, 0) if self.n > 1 else values
        return sent

    def wait(self) -> None:
        """Wait until all processes have called this."""
        self._state.wait_for_everyone()
