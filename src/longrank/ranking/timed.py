"""Read within a time: what is read by then, the most promising passages first.

A batch that runs cannot be stopped, so a batch takes at most half of the time that is left, at the speed of the batch
before it, and has at most four times its passages, since a speed may be that of cached passages. The first batch is a
single passage.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple

import numpy as np

from longrank.errors import InputError
from longrank.protocols import CollectionStatistics, PassageScorer, PassageScores, ScoringTask
from longrank.ranking.found import Partial, Shown, highlighted
from longrank.ranking.highlights import Sentences
from longrank.ranking.passages import PassageDocumentScorer, Prepared
from longrank.ranking.promising import Part, counts_of, part_of, promising, task_of
from longrank.types import Notes

RESERVE = 0.15
"""Share of the time that is kept for the best sentences and for writing the answer."""

_GROWTH = 4  # a batch has at most as many times the passages of the batch before it


class Deadline:
    """A time by which a ranking returns; it begins when this object is made.

    Args:
        seconds: seconds from now, above 0.
        clock: returns the time in seconds.

    Raises:
        InputError: `seconds` is not a finite number above 0.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        check_deadline(seconds)
        self.now = clock
        self._by, self._reserve = clock() + seconds, RESERVE * seconds

    @property
    def left(self) -> float:
        """Seconds until the answer."""
        return self._by - self.now()

    @property
    def left_to_read(self) -> float:
        """Seconds in which passages are read; the rest is kept (`RESERVE`)."""
        return self.left - self._reserve


def check_deadline(seconds: object) -> None:
    """Refuse a deadline that is not a finite number of seconds above 0.

    Raises:
        InputError: names the option.
    """
    try:
        right = isinstance(seconds, Real) and not isinstance(seconds, bool) and 0 < float(seconds) < math.inf
    except OverflowError:  # of a whole number
        right = False
    if not right:
        raise InputError("deadline must be a number of seconds above 0", got=seconds)


class Read(NamedTuple):
    """The scored part of a block, its counts if that is not all, and characters read per second (0: none)."""

    part: Part
    counts: Partial | None
    rate: float


@dataclass(slots=True)
class _Batches:
    """Sizes of the next batches: `costs` are the characters of each piece, `rate` those read per second."""

    costs: Sequence[int]
    rate: float = 0.0
    largest: int = 1

    def next(self, done: int, left: float) -> int:
        """Return the number of pieces to read next, 0 if none fits into the seconds that are left."""
        if left <= 0 or done == len(self.costs):
            return 0
        if done == 0:
            return 1
        self.largest *= _GROWTH
        costs = np.cumsum(self.costs[done : done + self.largest])
        fit = int(np.searchsorted(costs, self.rate * left / 2, side="right"))
        self.largest = fit or 1
        return fit or int(costs[0] <= self.rate * left)


def read_by(
    scorer: PassageDocumentScorer, block: Prepared, deadline: Deadline, statistics: CollectionStatistics | None = None
) -> Read:
    """Score the passages of a block until a deadline, most promising first.

    Args:
        scorer: reads the block.
        block: the prepared documents.
        deadline: when to stop.
        statistics: statistics of the collection, for tasks without any.
    """
    pieces = promising(scorer, block.tasks, statistics)
    scores, rate = _scored_by(scorer.scorer, [task_of(piece, block.tasks) for piece in pieces], deadline)
    part = part_of(block, pieces, dict(enumerate(scores)))
    return Read(part, counts_of(block, part), rate)


def _scored_by(
    scorer: PassageScorer, tasks: Sequence[ScoringTask], deadline: Deadline
) -> tuple[list[PassageScores], float]:
    """Return the scores of the first tasks, as many as there is time for, and the characters read per second."""
    batches = _Batches([_characters(task) for task in tasks])
    scores: list[PassageScores] = []
    while n := batches.next(done := len(scores), deadline.left_to_read):
        began = deadline.now()
        scores += scorer.score(tasks[done : done + n])
        seconds = deadline.now() - began
        batches.rate = sum(batches.costs[done : done + n]) / seconds if seconds > 0 else math.inf
    return scores, batches.rate


def _characters(task: ScoringTask) -> int:
    return sum(len(text) + 1 for text in task.texts)


def note_unread(notes: Notes, counts: Partial | None) -> None:
    """Note how many documents a deadline left unread or read in part."""
    if counts is not None:
        notes.add("documents that a deadline left unread", count=counts.n_unread)
        notes.add("documents that a deadline left partly unread", count=counts.n_partly)


def highlights_by(
    results: list[Shown], sentences: Sentences, deadline: Deadline, rate: float, notes: Notes
) -> list[Shown]:
    """Return the results with their best sentences, if there is time; if not, of passages of one sentence only.

    Args:
        results: the results.
        sentences: the sentences of their passages.
        deadline: when to stop.
        rate: characters that the scorer of the sentences reads per second.
        notes: say so if there was no time.
    """
    if sum(map(_characters, sentences.tasks)) <= rate * max(0.0, deadline.left):
        return highlighted(results, sentences.find())
    notes.say("the deadline passed before the best sentences were found")
    return highlighted(results, [tuple(spans) if len(spans) == 1 else () for spans in sentences.spans])
