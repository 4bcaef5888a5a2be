"""Processes that rerank together: threads stand for the processes."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("accelerate", reason="needs the extra neural")

from longrank.training.ranks import Ranks
from longrank.training.together import Together

N = 3


class Threads:
    """Ranks of N threads that exchange values at barriers."""

    n = N

    def __init__(self, rank: int, table: list[Any], barrier: threading.Barrier) -> None:
        self.rank, self._table, self._barrier = rank, table, barrier

    def _exchange(self, value: Any) -> list[Any]:
        self._table[self.rank] = value
        self._barrier.wait(30)
        found = list(self._table)
        self._barrier.wait(30)
        return found

    def object_of_first(self, value: Any) -> Any:
        return self._exchange(value)[0]

    def gathered(self, values: Sequence[Any]) -> list[Any]:
        return [one for part in self._exchange(list(values)) for one in part]


def together(rank: int, table: list[Any], barrier: threading.Barrier) -> Together:
    made = Together.__new__(Together)
    ranks: Any = Threads(rank, table, barrier)
    made._ranks, made._pipeline = ranks, Pipeline(rank)  # type: ignore[assignment]
    return made


class Pipeline:
    """Scores a block as itself and the number of the process."""

    def __init__(self, rank: int) -> None:
        self.scorer, self.index = rank, None


@pytest.mark.parametrize("n_blocks", [0, 1, 3, 7])
def test_blocks_are_shared_out_and_come_back_in_order(n_blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longrank.training.together.evidence_of", lambda index, rank, block: (block, rank))
    table, barrier = [None] * N, threading.Barrier(N)
    first, *others = (together(rank, table, barrier) for rank in range(N))
    threads = [threading.Thread(target=other.help, daemon=True) for other in others]
    for thread in threads:
        thread.start()
    blocks: Any = [f"block {number}" for number in range(n_blocks)]
    assert list(first(blocks)) == [(f"block {number}", number % N) for number in range(n_blocks)]
    first.end()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


def test_one_process_shares_nothing_out() -> None:
    assert Ranks().shared(4, lambda number: number * number) == [0, 1, 4, 9]
    assert Ranks().object_of_first("value") == "value"
