"""Compute batches side by side, one core each.

A network computes hundreds of small products per batch. If threads share each product, all of them wait for the slowest
hundreds of times, which is slow where other programs use the cores, too. One thread per batch also gives the same bytes
with any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from longrank.networks.inference import inference

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(work: Callable[[T], R], items: Sequence[T], device: str) -> Iterator[R]:
    """Yield ``work(item)`` of each item, in order, without gradients.

    On the CPU as many items run at a time as PyTorch has threads; on an accelerator, one after the other.

    Args:
        work: uses PyTorch; called from several threads.
        items: arguments of `work`.
        device: torch device of the work.
    """
    import torch

    def alone(item: T) -> R:
        with inference(device):
            return work(item)

    threads = torch.get_num_threads()
    if device != "cpu" or threads == 1 or not items:
        yield from map(alone, items)
        return
    pool = ThreadPoolExecutor(min(threads, len(items)), initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield from pool.map(alone, items)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)  # later threads would begin with the 1 that these set
