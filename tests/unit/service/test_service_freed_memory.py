"""All threads of a server share a heap, and memory that batches freed goes back to the system."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
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


BLOCKS = """
import ctypes, sys, threading
from longrank.service.freed_memory import use_one_heap

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
libc.sbrk.restype, libc.sbrk.argtypes = ctypes.c_void_p, [ctypes.c_ssize_t]
MIB = 1 << 20
libc.free(libc.malloc(30 * MIB))  # from now on glibc takes blocks below this size from heaps
if sys.argv[1] == "one":
    use_one_heap()

def blocks():
    before = libc.sbrk(0)
    for size in [6] * 9:
        libc.malloc(size * MIB)
    first = libc.sbrk(0) - before
    libc.free(libc.malloc(5 * MIB))
    for size in [11] * 4:  # more than the rest of 64 MiB
        libc.malloc(size * MIB)
    print(first // MIB, (libc.sbrk(0) - before) // MIB)

thread = threading.Thread(target=blocks)
thread.start()
thread.join()
"""


def grown(which: str, **environment: str) -> list[int]:
    """Return MiB by which a thread's first and all of its blocks let the main heap grow."""
    own = {name: value for name, value in os.environ.items() if name not in freed_memory._CHOSEN}
    command = [sys.executable, "-c", BLOCKS, which]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=own | environment)
    return [int(number) for number in done.stdout.split()]


@needs_glibc
def test_threads_take_all_blocks_from_one_heap() -> None:
    first, all_blocks = grown("one")
    assert first >= 53
    assert all_blocks >= 97


@needs_glibc
def test_without_one_heap_or_with_a_choice_of_the_user_a_thread_has_a_heap_of_its_own() -> None:
    assert grown("several")[0] == 0
    assert grown("one", MALLOC_ARENA_MAX="4")[0] == 0


@needs_glibc
def test_a_server_has_one_heap_before_its_models_load(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("uvicorn", reason="needs the extra serve")
    from longrank.service import server
    from longrank.service.settings import ServiceSettings

    done: list[str] = []

    def ended(_: object) -> None:
        done.append("address")
        raise ConnectionError

    monkeypatch.setattr(server, "use_one_heap", lambda: done.append("heap"))
    monkeypatch.setattr(server, "bind", ended)
    with pytest.raises(ConnectionError):
        server.serve(lambda *_: None, ServiceSettings(), load=lambda: None, say=print)  # type: ignore[arg-type]
    assert done == ["heap", "address"]
