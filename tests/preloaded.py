"""Processes that have PyTorch imported when they start, which takes each of the usual ones three to five seconds."""

from __future__ import annotations

import multiprocessing
from multiprocessing.context import ForkServerContext


def context() -> ForkServerContext:
    """Return a context whose processes are forks of one process without threads."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["longrank.training.loop", "torch._dynamo", "sentence_transformers"])
    return found
