"""Split a request into small scoring units, and join their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from longrank.protocols import PassageScores, ScoringTask
from longrank.ranking.passages import PassageDocumentScorer
from longrank.service.scheduler import Unit
from longrank.types import Float32s

CHARACTERS_PER_TOKEN = 4
"""Characters of a token of English prose, for estimates."""

_LIGHT = 0.02
"""Cost of a token that no network reads; a token that a network reads costs 1."""


def tokens_of(*texts: str) -> int:
    """Return the estimated tokens of texts."""
    return sum(map(len, texts)) // CHARACTERS_PER_TOKEN + len(texts)


def weight_of(scorer: PassageDocumentScorer, *, indexed: bool) -> float:
    """Return the cost of a token: 1 if a network reads it, less for BM25 and for vectors stored with the index.

    Args:
        scorer: the pipeline's scorer.
        indexed: True if the documents come from the index.
    """
    stored = indexed and getattr(scorer.scorer, "has_stored_vectors", False)
    return _LIGHT if stored or not scorer.scorer.needs_model else 1.0


def units_of(
    scorer: PassageDocumentScorer, tasks: Sequence[ScoringTask], batch_tokens: int, weight: float
) -> list[Unit]:
    """Split tasks into units that cost at most about `batch_tokens`, where a token costs `weight`.

    Documents of a network that aggregates passages are not split.
    """
    whole = scorer.scorer.scores_documents
    return [
        Unit(scorer.scorer, piece, cost_of(piece, weight))
        for task in tasks
        for piece in ([task] if whole else _pieces(task, int(batch_tokens / weight)))
    ]


def cost_of(task: ScoringTask, weight: float) -> int:
    """Return the estimated cost of a task, where a token costs `weight`; at least 1."""
    return max(1, int(weight * sum(tokens_of(task.query.text, text) for text in task.texts)))


def _pieces(task: ScoringTask, batch_tokens: int) -> Iterator[ScoringTask]:
    first = tokens = 0
    for n, text in enumerate(task.texts):
        more = tokens_of(task.query.text, text)
        if n > first and tokens + more > batch_tokens:
            yield task._replace(passages=task.passages[first:n], texts=task.texts[first:n])
            first, tokens = n, 0
        tokens += more
    yield task._replace(passages=task.passages[first:], texts=task.texts[first:])


def joined(tasks: Sequence[ScoringTask], scores: Sequence[PassageScores]) -> list[PassageScores]:
    """Join the scores of units to the scores of their tasks."""
    rest = iter(scores)
    return [_joined(task, rest) for task in tasks]


def _joined(task: ScoringTask, rest: Iterator[PassageScores]) -> PassageScores:
    pieces = [next(rest)]
    while sum(len(piece.scores) for piece in pieces) < len(task.texts):
        pieces.append(next(rest))
    if len(pieces) == 1:
        return pieces[0]
    return PassageScores(
        np.concatenate([piece.scores for piece in pieces]),
        np.concatenate([piece.truncated for piece in pieces]),
        parts=_joined_parts([piece.parts for piece in pieces if piece.parts is not None]),
    )


def _joined_parts(pieces: Sequence[Mapping[str, Float32s]]) -> dict[str, Float32s] | None:
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]} if pieces else None
