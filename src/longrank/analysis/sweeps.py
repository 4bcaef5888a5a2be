"""Effectiveness by how much is read, from evidence that reads the most: no passage is scored again.

`by_passages` keeps fewer candidate passages of each document (Santos et al., figure 2), `by_depth` fewer documents of
each query (their figure 3; PARADE's extended version). What is kept is ranked exactly as `longrank aggregate` ranks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from longrank.aggregation.run import aggregate_run
from longrank.config import lookup
from longrank.errors import InputError
from longrank.evaluation.measures import Queries, evaluate, summarise
from longrank.protocols import Aggregator
from longrank.text.select import SELECTORS
from longrank.types import Evidence, Notes, Qrels, Run

COUNTS = (8, 16, 24, 32, 40, 48, 56, 64)
"""Passages of a document."""

DEPTHS = (10, 20, 30, 50, 100)
"""Documents of a query (Santos et al.)."""

RULES = tuple(name for name, (_, n) in SELECTORS.items() if n)
"""Which passages are kept: the first, those with the most words of the query, or both."""


class Point(NamedTuple):
    """What an aggregator reaches with `n` passages of each document, or `n` documents of each query; None: all.

    `values` are means over the queries, by measure; `per_query` has those of each: measure -> query_id -> value.
    """

    n: int | None
    aggregator: str
    values: Mapping[str, float]
    per_query: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Setup:
    """What is the same at every point.

    Attributes:
        aggregators: name -> passages to document score.
        qrels: judgments.
        measures: what is measured, as `evaluate` takes it.
        first_stage: the run that was reranked; its other documents follow below.
        alpha: weight of the first stage, 0 to 1; None: passages alone.
        normalize: ``none`` or ``minmax``, before interpolating.
        queries: which topics count.
        last: documents that come after all others: those that the index lacked.
    """

    aggregators: Mapping[str, Aggregator]
    qrels: Qrels
    measures: Sequence[str]
    first_stage: Run | None = None
    alpha: float | None = None
    normalize: str = "none"
    queries: Queries = "complete"
    last: frozenset[str] = frozenset()

    def points(self, n: int | None, evidence: Sequence[Evidence]) -> Iterator[Point]:
        """Yield what each aggregator makes of the evidence.

        Raises:
            InputError: as `aggregate_run` and `evaluate`.
        """
        for name, aggregator in self.aggregators.items():
            run = aggregate_run(
                evidence,
                aggregator,
                first_stage=self.first_stage,
                alpha=self.alpha,
                normalize=self.normalize,
                tail="keep",
                tag=name,
                last=self.last,
            )
            yield self.point(n, name, run)

    def point(self, n: int | None, name: str, run: Run) -> Point:
        """Measure a run."""
        found = evaluate(self.qrels, run, self.measures, queries=self.queries)
        return Point(n, name, {measure: summarise(measure, own.values()) for measure, own in found.items()}, found)

    def about_topics(self, query_ids: Iterable[str], notes: Notes) -> None:
        """Say how many topics have judgments and no ranking."""
        missing = len(self.qrels.keys() - set(query_ids))
        if missing:
            fate = "count as 0" if self.queries == "complete" else "left out"
            notes.say(f"{missing} of {len(self.qrels)} topics have no ranking ({fate})")


def by_passages(
    evidence: Iterable[Evidence], setup: Setup, counts: Sequence[int] = COUNTS, *, rule: str = "first", notes: Notes
) -> list[Point]:
    """Return effectiveness by the number of passages that are kept of each document, and of all that were scored.

    Args:
        evidence: of as many passages as there are, and at least of those that are to be kept. Held in memory.
        setup: what is the same throughout.
        counts: how many passages, 1 or more each.
        rule: one of `RULES`; ``termf`` and ``first+termf`` go by the evidence's weights, tf(q, S).
        notes: counts documents of which not all passages were scored that the rule chooses among, says if none has so
            many, and how many topics have no ranking.

    Raises:
        InputError: another rule, a count below 1, evidence of a network, which read its passages together, or as
            `Setup.points`.
    """
    if rule not in RULES:
        lookup(dict.fromkeys(RULES), rule, "rule")
    if any(n < 1 for n in counts):
        raise InputError("at least one passage is kept", got=min(counts))
    held = list(evidence)
    if any(one.document_score is not None for one in held):
        raise InputError("a network that reads passages together would have to read fewer again", fix="rerank with it")
    _about_scored(held, rule, max(counts, default=1), notes)
    setup.about_topics([*(one.query_id for one in held), *(setup.first_stage or ())], notes)
    points: list[Point] = []
    for n in sorted(counts):
        points += setup.points(n, [kept(one, rule, n) for one in held])
    return [*points, *setup.points(None, held)]


def _about_scored(evidence: Sequence[Evidence], rule: str, most: int, notes: Notes) -> None:
    """Say where evidence is of fewer passages than are to be kept."""
    longest = max((len(one.passage_index) for one in evidence), default=0)
    if longest < most:
        notes.say(f"no document has more than {longest} scored passages: beyond, all are kept")
    for one in evidence:
        wanted = min(most, one.n_passages) if rule == "first" else one.n_passages  # the others choose among all
        if wanted and (len(one.passage_index) < wanted or one.passage_index[wanted - 1] >= wanted):
            among = f"whose first {most} passages" if rule == "first" else "whose passages"
            what = f"documents of {among} some were not scored; others are kept for them"
            notes.add(what, f"query {one.query_id}, {one.doc_id}")


def kept(one: Evidence, rule: str, n: int) -> Evidence:
    """Return the evidence of `n` passages of a document, chosen among those that were scored.

    Args:
        one: the evidence of a document.
        rule: one of `RULES`, as of `longrank.text.select`.
        n: how many passages, 1 or more.
    """
    choose, _ = SELECTORS[rule]
    chosen = np.sort(choose(one.passage_weight, n))
    return replace(
        one,
        passage_index=one.passage_index[chosen],
        passage_start=one.passage_start[chosen],
        passage_end=one.passage_end[chosen],
        passage_score=one.passage_score[chosen],
        passage_weight=one.passage_weight[chosen],
    )


def by_depth(
    evidence: Iterable[Evidence], first_stage: Run, setup: Setup, depths: Sequence[int] = DEPTHS, *, notes: Notes
) -> list[Point]:
    """Return effectiveness by how many documents of each query are reranked; 0 is the first stage itself.

    Args:
        evidence: of the first documents of each query. Held in memory.
        first_stage: the run that was reranked; below `depth`, its documents follow in its order.
        setup: what is the same throughout; its first stage does not count.
        depths: how many documents, 1 or more each.
        notes: says how deep the evidence reaches, if not to the last depth, and how many topics have no ranking.

    Raises:
        InputError: a depth below 1, or as `Setup.points`.
    """
    if any(depth < 1 for depth in depths):
        raise InputError("at least one document is reranked", got=min(depths))
    held, setup = list(evidence), replace(setup, first_stage=first_stage)
    rank = {(row.query_id, row.doc_id): place for q in first_stage for place, row in enumerate(first_stage[q])}
    _about_depth(held, rank, max(depths, default=1), setup.last, notes)
    setup.about_topics(first_stage, notes)
    points = [setup.point(0, name, first_stage) for name in setup.aggregators]
    for depth in sorted(depths):
        points += setup.points(depth, [one for one in held if rank.get((one.query_id, one.doc_id), 0) < depth])
    return points


def _about_depth(
    evidence: Sequence[Evidence],
    rank: Mapping[tuple[str, str], int],
    deepest: int,
    last: frozenset[str],
    notes: Notes,
) -> None:
    """Say how many of the first documents have evidence, where not all of those that are to be reranked have."""
    known = {(one.query_id, one.doc_id) for one in evidence}
    queries = {one.query_id for one in evidence}
    unknown = [pair for pair, place in rank.items() if place < deepest and not (pair in known or pair[1] in last)]
    notes.add("queries without evidence, ranked as in the first stage", count=len({q for q, _ in unknown} - queries))
    reach = min((rank[pair] for pair in unknown if pair[0] in queries), default=deepest)
    if reach < deepest:
        notes.say(f"the evidence reaches the first {reach} documents of each query: deeper is not another ranking")
