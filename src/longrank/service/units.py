"""What a ranking asks of a model, in pieces small enough to be mixed with those of other requests, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from longrank.protocols import PassageScores, ScoringTask
from longrank.ranking.passages import PassageDocumentScorer
from longrank.service.scheduler import Unit

CHARACTERS_PER_TOKEN = 4
"""Of prose, about; only estimates are made by it."""

_LIGHT = 0.02
"""What a token costs where no network reads it, against one that a small network reads (about a fiftieth)."""


def tokens_of(*texts: str) -> int:
    """Estimate how many tokens texts have."""
    return sum(map(len, texts)) // CHARACTERS_PER_TOKEN + len(texts)


def weight_of(scorer: PassageDocumentScorer, *, indexed: bool) -> float:
    """Return what a token costs: 1 where a network reads it, little for BM25 and for vectors stored with the index.

    Args:
        scorer: of the pipeline.
        indexed: whether the documents are those of the index.
    """
    stored = indexed and getattr(scorer.scorer, "has_stored_vectors", False)
    return _LIGHT if stored or not scorer.scorer.needs_model else 1.0


def units_of(
    scorer: PassageDocumentScorer, tasks: Sequence[ScoringTask], batch_tokens: int, weight: float
) -> list[Unit]:
    """Cut tasks into units that cost about `batch_tokens` at most, where a token costs `weight`.

    A network that aggregates passages gets its documents whole.
    """
    whole = scorer.scorer.scores_documents
    return [
        Unit(scorer.scorer, piece, _cost(piece, weight))
        for task in tasks
        for piece in ([task] if whole else _pieces(task, int(batch_tokens / weight)))
    ]


def _cost(task: ScoringTask, weight: float) -> int:
    return max(1, int(weight * sum(tokens_of(task.query.text, text) for text in task.texts)))


def _pieces(task: ScoringTask, batch_tokens: int) -> Iterator[ScoringTask]:
    first = tokens = 0
    for n, text in enumerate(task.texts):
        own = tokens_of(task.query.text, text)
        if n > first and tokens + own > batch_tokens:
            yield task._replace(passages=task.passages[first:n], texts=task.texts[first:n])
            first, tokens = n, 0
        tokens += own
    yield task._replace(passages=task.passages[first:], texts=task.texts[first:])


def joined(tasks: Sequence[ScoringTask], scores: Sequence[PassageScores]) -> list[PassageScores]:
    """Put the scores of units together to those of the tasks they were cut from."""
    rest = iter(scores)
    return [_joined(task, rest) for task in tasks]


def _joined(task: ScoringTask, rest: Iterator[PassageScores]) -> PassageScores:
    found = [next(rest)]
    while sum(len(one.scores) for one in found) < len(task.texts):
        found.append(next(rest))
    if len(found) == 1:
        return found[0]
    scores = np.concatenate([one.scores for one in found])
    return PassageScores(scores, np.concatenate([one.truncated for one in found]))
