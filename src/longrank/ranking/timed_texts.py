"""Texts that are read until a deadline, and the texts that it leaves unread."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from longrank.protocols import ScoringTask
from longrank.ranking.found import Partial, RankedText
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.prepared_texts import PreparedTexts
from longrank.ranking.timed import Deadline, read_by
from longrank.types import Evidence


class ReadTexts(NamedTuple):
    """Texts that were read in time.

    Attributes:
        documents: their places in the list.
        texts: the texts, with the passages that were read.
        evidence: evidence of each.
        counts: counts if not all was read.
        rate: characters read per second; 0: none.
    """

    documents: list[int]
    texts: PreparedTexts
    evidence: list[Evidence]
    counts: Partial | None
    rate: float


def read_texts_by(scorer: PassageDocumentScorer, prepared: PreparedTexts, deadline: Deadline) -> ReadTexts:
    """Read texts until a deadline, the most promising passages first."""
    part, counts, rate = read_by(scorer, prepared.block, deadline)
    cut = _cut(prepared, part.documents, part.block.tasks)
    evidence = scorer.finish(part.block, part.scores) if part.documents else []
    return ReadTexts(part.documents, replace(prepared, block=part.block, cut=cut), evidence, counts, rate)


def _cut(prepared: PreparedTexts, documents: Sequence[int], read: Sequence[ScoringTask]) -> tuple[bool, ...]:
    """Tell which of the documents were cut or read in part."""
    whole = [len(prepared.block.tasks[n].passages) for n in documents]
    partly = [len(task.passages) < n for task, n in zip(read, whole, strict=True)]
    return tuple(prepared.cut[n] or some for n, some in zip(documents, partly, strict=True))


def in_list(results: Sequence[RankedText], prepared: PreparedTexts, read: ReadTexts, k: int | None) -> list[RankedText]:
    """Return the results with their places in the list, and after them the texts that were not read.

    Args:
        results: ranked documents of `read`.
        prepared: all texts.
        read: what was read of them.
        k: number of documents to return; None: all.
    """
    placed = [replace(result, index=read.documents[result.index]) for result in results]
    titles = [candidate.document.title for candidate in prepared.block.candidates]
    return placed if read.counts is None else with_unread(placed, titles, k, read.documents)


def with_unread(
    results: list[RankedText], titles: Sequence[str], k: int | None, read: Iterable[int]
) -> list[RankedText]:
    """Return the results, and after them the documents that were not read, in their order.

    Their relevance is 0, and each score lies right below the score before it.

    Args:
        results: the documents that were read.
        titles: titles of all documents.
        k: number of documents to return; None: all.
        read: places of the documents that were read.
    """
    rest = sorted(set(range(len(titles))) - set(read))
    score = min((result.score for result in results), default=0.0)
    for n in rest[: max(0, (k or len(titles)) - len(results))]:
        score = math.nextafter(score, -math.inf)
        results = [*results, _unread(n, titles[n], score)]
    return results


def _unread(index: int, title: str, score: float) -> RankedText:
    nothing = np.zeros(0, np.int32)
    scores = np.zeros(0, np.float32)
    evidence = Evidence("q", "", math.nan, nothing, nothing, nothing, scores, scores, 0, 0)
    return RankedText(index, title, score, 0.0, (), 0, 0, 0, cut=True, evidence=evidence)
