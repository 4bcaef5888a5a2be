"""The processes that train together, by Hugging Face Accelerate: one, or as many as torchrun has started.

Processes and devices are all that is Accelerate's. Gradients are added up here, once per step, rather than by
wrapping the network: its parts (`encode`, `aggregate`) are called directly.
"""

from __future__ import annotations

from datetime import timedelta

import torch
from accelerate import PartialState
from accelerate.utils import broadcast, reduce

_PATIENCE = timedelta(days=1)  # others wait while the first validates


class Ranks:
    """This process among those that train together, numbered from 0.

    Attributes:
        rank: which it is.
        n: how many there are.
        device: a GPU of its own if there are any, else the CPU.
    """

    def __init__(self) -> None:
        self._state = PartialState(cpu=not torch.cuda.is_available(), timeout=_PATIENCE)
        self.rank: int = self._state.process_index
        self.n: int = self._state.num_processes
        self.device: torch.device = self._state.device

    @property
    def first(self) -> bool:
        """Whether this is the process that writes and validates."""
        return self.rank == 0

    def share(self, n: int) -> range:
        """Return which of 0, ..., n - 1 are this process's: consecutive ones, as many as the others' to within one."""
        return range(n * self.rank // self.n, n * (self.rank + 1) // self.n)

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """Return the sum of a tensor of the same shape over all processes."""
        total: torch.Tensor = reduce(values, "sum") if self.n > 1 else values
        return total

    def from_first(self, values: torch.Tensor) -> torch.Tensor:
        """Return the first process's tensor, written over this one's."""
        sent: torch.Tensor = broadcast(values, 0) if self.n > 1 else values
        return sent

    def wait(self) -> None:
        """Wait until all processes are here."""
        self._state.wait_for_everyone()
