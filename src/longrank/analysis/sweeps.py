"""Effectiveness by the number of passages or documents read, from stored evidence; no passage is scored again.

`by_passages` keeps fewer passages of each document (Santos et al., figure 2), `by_depth` fewer documents of each query
(their figure 3; PARADE's extended version). Kept evidence is ranked exactly as by `longrank aggregate`. Mixed scores
are mixed again over the passages and documents that are kept, as if the others had not been scored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from longrank.aggregation import find_aggregation
from longrank.aggregation.mixing import Mix, remixed
from longrank.aggregation.run import aggregate_run
from longrank.aggregation.unread import note_own_score
from longrank.errors import InputError
from longrank.evaluation.measures import Queries, evaluate, summarise
from longrank.protocols import Aggregator
from longrank.registries import lookup
from longrank.text.select import SELECTORS
from longrank.types import NONE_MISSING, Evidence, Missing, Notes, Qrels, Run

COUNTS = (8, 16, 24, 32, 40, 48, 56, 64)
"""Numbers of passages per document."""

DEPTHS = (10, 20, 30, 50, 100)
"""Numbers of documents per query (Santos et al.)."""

RULES = tuple(name for name, (_, n) in SELECTORS.items() if n)
"""Rules that choose passages: the first, those with the most words of the query, or both."""


class Point(NamedTuple):
    """Effectiveness of an aggregator with `n` passages per document, or `n` documents per query; None: all.

    `values` are means over the queries, by measure; `per_query`: measure -> query_id -> value.
    """

    n: int | None
    aggregator: str
    values: Mapping[str, float]
    per_query: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Setup:
    """Settings that are the same at every point.

    Attributes:
        aggregators: name -> aggregator.
        qrels: judgments.
        measures: measures, as `evaluate` takes them.
        first_stage: the run that was reranked; its other documents follow below.
        alpha: weight of the first stage, 0 to 1; None: passages alone.
        normalize: scaling before interpolation, ``none`` or ``minmax``.
        queries: topics that count.
        missing: documents that the index lacked.
        mix: mix of the passage scores; None: no mix, or unknown.
    """

    aggregators: Mapping[str, Aggregator]
    qrels: Qrels
    measures: Sequence[str]
    first_stage: Run | None = None
    alpha: float | None = None
    normalize: str = "none"
    queries: Queries = "complete"
    missing: Missing = NONE_MISSING
    mix: Mix | None = None

    def points(self, n: int | None, evidence: Sequence[Evidence]) -> Iterator[Point]:
        """Yield a point for each aggregator.

        Raises:
            InputError: as `aggregate_run` and `evaluate`.
        """
        evidence = evidence if self.mix is None else list(remixed(evidence, self.mix))
        for name, aggregator in self.aggregators.items():
            run = aggregate_run(
                evidence,
                aggregator,
                first_stage=self.first_stage,
                alpha=self.alpha,
                normalize=self.normalize,
                tail="keep",
                tag=name,
                missing=self.missing,
            )
            yield self.point(n, name, run)

    def point(self, n: int | None, name: str, run: Run) -> Point:
        """Measure a run."""
        values = evaluate(self.qrels, run, self.measures, queries=self.queries)
        means = {measure: summarise(measure, per_query.values()) for measure, per_query in values.items()}
        return Point(n, name, means, values)

    def note_mix(self, evidence: Sequence[Evidence], notes: Notes) -> None:
        """Note that mixed scores stay as they are, if their mix is unknown."""
        if self.mix is None and any(each.passage_parts for each in evidence):
            notes.say("mixed scores are relative to all scored passages: the weights of their mix are unknown")

    def note_topics(self, query_ids: Iterable[str], notes: Notes) -> None:
        """Note how many judged topics have no ranking."""
        missing = len(self.qrels.keys() - set(query_ids))
        if missing:
            fate = "count as 0" if self.queries == "complete" else "left out"
            notes.say(f"{missing} of {len(self.qrels)} topics have no ranking ({fate})")


def by_passages(
    evidence: Iterable[Evidence], setup: Setup, counts: Sequence[int] = COUNTS, *, rule: str = "first", notes: Notes
) -> list[Point]:
    """Return effectiveness by the number of passages kept of each document, and of all scored passages.

    Args:
        evidence: evidence of all passages, or at least of those to keep. Held in memory.
        setup: settings of all points.
        counts: numbers of passages, each at least 1.
        rule: one of `RULES`; ``termf`` and ``first+termf`` use the evidence's weights, tf(q, S).
        notes: counts documents with unscored passages that the rule could choose, says if no document has so many, and
            how many topics have no ranking.

    Raises:
        InputError: another rule, a count below 1, evidence of a document network, or as `Setup.points`.
    """
    if rule not in RULES:
        lookup(dict.fromkeys(RULES), rule, "rule")
    if any(n < 1 for n in counts):
        raise InputError("the number of passages must be at least 1", got=min(counts))
    held = list(evidence)
    if any(each.document_score is not None for each in held):
        fault = "scores of a document network cannot be recomputed with fewer passages"
        raise InputError(fault, fix="rerank with fewer")
    _note_unscored(held, rule, max(counts, default=1), notes)
    setup.note_mix(held, notes)
    setup.note_topics([*(each.query_id for each in held), *(setup.first_stage or ())], notes)
    points: list[Point] = []
    for n in sorted(counts):
        points += setup.points(n, [kept(each, rule, n) for each in held])
    return [*points, *setup.points(None, held)]


def _note_unscored(evidence: Sequence[Evidence], rule: str, most: int, notes: Notes) -> None:
    """Note documents with fewer scored passages than are to be kept."""
    longest = max((len(each.passage_index) for each in evidence), default=0)
    if longest < most:
        notes.say(f"no document has more than {longest} scored passages; larger numbers keep all")
    candidates = f"their first {most} passages" if rule == "first" else "their passages"
    for each in evidence:
        n = min(most, each.n_passages) if rule == "first" else each.n_passages  # other rules choose among all
        if n and (len(each.passage_index) < n or each.passage_index[n - 1] >= n):
            remark = f"documents with unscored passages among {candidates}; other passages are kept instead"
            notes.add(remark, f"query {each.query_id}, {each.doc_id}")


def kept(evidence: Evidence, rule: str, n: int) -> Evidence:
    """Return the evidence of `n` scored passages of a document.

    Args:
        evidence: the evidence of a document.
        rule: one of `RULES`, see `longrank.text.select`.
        n: number of passages, at least 1.
    """
    choose, _ = SELECTORS[rule]
    chosen, parts = np.sort(choose(evidence.passage_weight, n)), evidence.passage_parts
    return replace(
        evidence,
        passage_index=evidence.passage_index[chosen],
        passage_start=evidence.passage_start[chosen],
        passage_end=evidence.passage_end[chosen],
        passage_score=evidence.passage_score[chosen],
        passage_weight=evidence.passage_weight[chosen],
        passage_parts=None if parts is None else {name: part[chosen] for name, part in parts.items()},
    )


def by_depth(
    evidence: Iterable[Evidence], first_stage: Run, setup: Setup, depths: Sequence[int] = DEPTHS, *, notes: Notes
) -> list[Point]:
    """Return effectiveness by the number of documents reranked per query; 0 is the first stage.

    Args:
        evidence: evidence of the first documents of each query. Held in memory.
        first_stage: the run that was reranked; below `depth`, its documents follow in its order.
        setup: settings of all points; its first stage does not count.
        depths: numbers of documents, each at least 1.
        notes: says how deep the evidence reaches, if not to the largest depth, and how many topics have no ranking.

    Raises:
        InputError: a depth below 1, or as `Setup.points`.
    """
    if any(depth < 1 for depth in depths):
        raise InputError("the depth must be at least 1", got=min(depths))
    held, setup = list(evidence), replace(setup, first_stage=first_stage)
    rank = {(row.query_id, row.doc_id): place for q in first_stage for place, row in enumerate(first_stage[q])}
    for each in held if not any(find_aggregation(name).needs_document_score for name in setup.aggregators) else ():
        note_own_score(each, notes)
    _note_depth(held, rank, max(depths, default=1), setup.missing.documents, notes)
    setup.note_mix(held, notes)
    setup.note_topics(first_stage, notes)
    points = [setup.point(0, name, first_stage) for name in setup.aggregators]
    for depth in sorted(depths):
        points += setup.points(depth, [each for each in held if rank.get((each.query_id, each.doc_id), 0) < depth])
    return points


def _note_depth(
    evidence: Sequence[Evidence],
    rank: Mapping[tuple[str, str], int],
    deepest: int,
    missing: frozenset[str],
    notes: Notes,
) -> None:
    """Note how many of the first documents have evidence, if some of them have none."""
    known = {(each.query_id, each.doc_id) for each in evidence}
    queries = {each.query_id for each in evidence}
    unknown = [pair for pair, place in rank.items() if place < deepest and not (pair in known or pair[1] in missing)]
    notes.add("queries without evidence, ranked as in the first stage", count=len({q for q, _ in unknown} - queries))
    gaps = [pair for pair in unknown if pair[0] in queries]
    reach = min((rank[pair] for pair in gaps), default=deepest)
    if any(reach <= rank.get(pair, deepest) < deepest for pair in known):
        notes.add(f"documents among the first {deepest} without evidence, not reranked", " ".join(gaps[0]), len(gaps))
    elif reach < deepest:
        notes.say(f"the evidence reaches the first {reach} documents of each query; larger depths change nothing")
