"""The processes of a training, by Hugging Face Accelerate: one process, or those of torchrun.

Accelerate provides processes and devices only. Gradients are added up once per step, without wrapping the network,
because its parts (`encode`, `aggregate`) are called directly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import torch
from accelerate import PartialState
from accelerate.utils import broadcast, broadcast_object_list, gather_object, reduce

T = TypeVar("T")

_PATIENCE = timedelta(days=1)  # processes wait for the slowest


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
        """True in the process that writes."""
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

    def shared(self, n: int, work: Callable[[int], T]) -> list[T]:
        """Return ``work(0)``, ..., ``work(n - 1)`` in all processes; each is called in one process."""
        return self.gathered([work(number) for number in self.share(n)])

    def gathered(self, values: Sequence[T]) -> list[T]:
        """Return the values of all processes, those of the first process first; values must be picklable."""
        return list(gather_object(list(values)) if self.n > 1 else values)

    def object_of_first(self, value: Any) -> Any:
        """Return the first process's value, which must be picklable."""
        return broadcast_object_list([value])[0] if self.n > 1 else value

    def wait(self) -> None:
        """Wait until all processes have called this."""
        self._state.wait_for_everyone()
