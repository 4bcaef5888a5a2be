"""Rerank the test queries of a fold in all processes of a training; the first process writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from longrank.ranking.evidence_blocks import Block, evidence_of
from longrank.ranking.pipeline import Pipeline
from longrank.training.ranks import Ranks
from longrank.types import Evidence


class Together:
    """Scores blocks in all processes, one block each at a time; the results come in order, in the first process.

        first process     rerank(..., score=together), then together.end()
        other processes   together.help()

    Args:
        ranks: the processes.
        pipeline: the same in each process.
    """

    def __init__(self, ranks: Ranks, pipeline: Pipeline) -> None:
        self._ranks, self._pipeline = ranks, pipeline

    def __call__(self, blocks: Iterable[Block]) -> Iterator[list[list[Evidence]]]:
        """Score blocks; for the first process."""
        rest = iter(blocks)
        while some := list(islice(rest, self._ranks.n)):
            self._ranks.object_of_first(some)
            yield from self._scored(some)

    def help(self) -> None:
        """Score a block of each round until `end`; for the other processes."""
        while some := self._ranks.object_of_first(None):
            self._scored(some)

    def end(self) -> None:
        """Let the other processes end; for the first process, also after an error."""
        self._ranks.object_of_first(None)

    def _scored(self, some: list[Block]) -> list[list[list[Evidence]]]:
        assert self._pipeline.scorer is not None
        mine = some[self._ranks.rank : self._ranks.rank + 1]
        return self._ranks.gathered([evidence_of(self._pipeline.index, self._pipeline.scorer, block) for block in mine])
