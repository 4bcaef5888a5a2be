"""Memory that batches freed goes back to the system, and compiled kernels of oneDNN are bounded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import numpy as np
import pytest
from benchmarks.memory import unmapped

from longrank.protocols import PassageScores, ScoringTask
from longrank.service import freed_memory, scheduler
from longrank.service.freed_memory import FreedMemory
from longrank.service.scheduler import Scheduler, Unit
from longrank.types import Passage, Query

MIB = 1 << 20
BLOCK = 100_000  # bytes: glibc takes it from its heaps

needs_glibc = pytest.mark.skipif(freed_memory._trimming() is None, reason="needs glibc")


class Scattering:
    """A scorer whose large blocks lie among small ones that stay; frees 100 MB."""

    unit = fingerprint = "fake"

    def __init__(self) -> None:
        self.stays: list[bytes] = []
        self.held: list[int] = []

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        blocks = []
        for _ in range(1000):
            blocks.append(np.ones(BLOCK, np.uint8))
            self.stays.append(bytes(1000))  # larger than what Python's own allocator serves
        self.held.append(unmapped())
        return [PassageScores(np.ones(1, np.float32), np.zeros(1, np.bool_)) for _ in tasks]


@needs_glibc
def test_the_model_thread_gives_freed_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "FreedMemory", lambda: FreedMemory(0))
    scorer = Scattering()
    task = ScoringTask(Query("q", "query"), "d", (Passage("d", 0, "text", 0, 4),), ("text",))

    async def scored() -> int:
        scheduler = Scheduler(batch_tokens=10)
        scheduler.start()
        await scheduler.scores(lambda: [Unit(scorer, task, 1)], cost=1, deadline=time.monotonic() + 60)
        await scheduler.close()
        return unmapped()

    after = asyncio.run(scored())
    assert scorer.held[0] - after > 60 * MIB


def test_memory_is_given_back_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now, asked = [0.0], list[int]()
    monkeypatch.setattr(freed_memory, "_trimming", lambda: asked.append)
    monkeypatch.setattr(freed_memory.time, "monotonic", lambda: now[0])
    memory = FreedMemory(60)
    for now[0] in (0, 59, 60, 61, 119, 120, 500, 501):
        memory.give_back()
    assert len(asked) == 3  # at 60, 120 and 500
