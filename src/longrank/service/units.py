"""What a ranking asks of a model, in pieces small enough to be mixed with those of other requests, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from longrank.protocols import PassageScores, ScoringTask
from longrank.ranking.passages import PassageDocumentScorer
from longrank.service.scheduler import Unit

CHARACTERS_PER_TOKEN = 4
"""Of prose, about; only estimates are made by it."""


def tokens_of(*texts: str) -> int:
    """Estimate how many tokens texts have."""
    return sum(map(len, texts)) // CHARACTERS_PER_TOKEN + len(texts)


def units_of(scorer: PassageDocumentScorer, tasks: Sequence[ScoringTask], batch_tokens: int) -> list[Unit]:
    """Cut tasks into units of about `batch_tokens` at most.

    A network that aggregates passages gets its documents whole.
    """
    whole = hasattr(scorer.scorer, "use_cache")
    return [
        Unit(scorer.scorer, piece, sum(tokens_of(piece.query.text, text) for text in piece.texts))
        for task in tasks
        for piece in ([task] if whole else _pieces(task, batch_tokens))
    ]


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
