"""Let a model select passages in batches shared with other requests: a cascade would select in one long step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from longrank.protocols import ScoringTask
from longrank.ranking.cascade import CheapSelector, KnownScores
from longrank.ranking.passages import PassageDocumentScorer
from longrank.service.scored import Scheduled, scored
from longrank.service.units import weight_of
from longrank.text.select import make_selector


async def with_selection(
    service: Scheduled,
    scorer: PassageDocumentScorer,
    tasks_of: Callable[[PassageDocumentScorer], Sequence[ScoringTask]],
    *,
    indexed: bool,
    cost: int,
    deadline: float,
) -> tuple[PassageDocumentScorer, float]:
    """Return a scorer whose selector knows the scores that it selects by, and the share of passages that it selects.

    If no network gives these scores, it is the scorer itself, and 1.

    Args:
        service: the server.
        scorer: a pipeline's scorer.
        tasks_of: returns the tasks of the request by a scorer; called in the model thread.
        indexed: True if the documents come from the index, which may have their vectors.
        cost: estimated cost of all tasks, if a network reads them.
        deadline: time of `time.monotonic` until which the scores are useful.

    Raises:
        Refusal: as `scored`.
    """
    selector = scorer.selector
    if not isinstance(selector, CheapSelector):
        return scorer, 1.0
    cheap = [PassageDocumentScorer(scorer.segmenter, selector, part, title=scorer.title) for part in selector.scorers]
    weights = [weight_of(part, indexed=indexed) for part in cheap]
    if max(weights) < 1:
        return scorer, 1.0
    tasks: list[ScoringTask] = []

    def prepare() -> tuple[None, Sequence[ScoringTask]]:
        if not tasks:
            tasks.extend(tasks_of(scorer.by(make_selector("all"))))  # the scorer's own tokens limit the texts
        return None, tasks

    by_scorer = []
    for part, weight in zip(cheap, weights, strict=True):
        of_part = int(weight * cost)
        _, found = await scored(service, part, prepare, weight=weight, cost=of_part, deadline=deadline)
        by_scorer.append([scores.scores for scores in found])
    n_selected = sum(len(chosen.positions) for chosen in selector.chosen(tasks, by_scorer, weights=False))
    share = n_selected / max(1, sum(len(task.passages) for task in tasks))
    return scorer.by(KnownScores(selector, by_scorer)), share
