"""Batches side by side, a core for each, instead of all cores in every product.

A network is hundreds of small products; sharing each among threads makes all of them wait for the slowest, hundreds of
times a batch, which is ruinous where other work wants the cores, too. A batch computed by one thread has the same
bytes whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(work: Callable[[T], R], items: Sequence[T], device: str) -> Iterator[R]:
    """Yield ``work(item)`` of each item, in order, without gradients.

    On the CPU as many run at a time as PyTorch has threads, each with one; on an accelerator, one after the other.

    Args:
        work: uses PyTorch; called from several threads.
        items: what to work on.
        device: the torch device that the work runs on.
    """
    import torch

    def alone(item: T) -> R:
        with torch.inference_mode():
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
        torch.set_num_threads(threads)  # what the threads have set is what later ones would begin with
