"""Measure weights of the first stage and of the best passages: settings x queries -> a table of values.

Evidence is read once. Scores of all settings are computed together from a few numbers per document (`formula`).
`aggregate_run` makes the run of the chosen weights, as in rerank.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from longrank.aggregation import find_aggregation
from longrank.aggregation.mixing import Mix
from longrank.aggregation.reranked import comparing_first_stage
from longrank.aggregation.run import first_scores
from longrank.aggregation.unread import note_own_score
from longrank.engines import Engine, Local, in_order
from longrank.errors import InputError
from longrank.evaluation.names import parse_measure
from longrank.evaluation.tuning.formula import PASSAGES, Formula
from longrank.evaluation.tuning.grids import Axes, Setting, settings_of
from longrank.evaluation.tuning.rankings import Floats, measured
from longrank.evaluation.tuning.reranked import Reranked
from longrank.evaluation.tuning.values import GridValues, check_size
from longrank.types import Notes, Qrels, Run, ScoredDoc

_BLOCK = 16  # queries in a task
_AT_ONCE = 2**17  # scores: 1 MB of float64, which stays in a core's cache


class Scored(NamedTuple):
    """The documents of a query.

    Attributes:
        doc_ids: D reranked documents, ascending.
        first: their scores in the first stage, [D].
        parts: passage scores to weigh, for each of M mixes, [M, D, n_passages]; without a mix, M = 1.
        below: other documents of the first stage, in the order in which they follow.
    """

    doc_ids: tuple[str, ...]
    first: Floats
    parts: Floats
    below: tuple[str, ...]


def collect(
    reranked: Reranked, formula: Formula, notes: Notes, mixes: Sequence[Mix | None] = (None,)
) -> dict[str, Scored]:
    """Return the documents of every query of the first stage.

    Args:
        reranked: the first stage, and its evidence.
        formula: the formula of the scores.
        notes: counts documents with an own score that is not used, documents with another first-stage score than in
            the evidence, and queries without evidence.
        mixes: mixes of the passage scores; None: the scores as written.

    Raises:
        InputError: a document is reranked twice, or is not in the first stage; or, for a mix, evidence without its
            parts, or the evidence of a query is not together.
        IntegrityError: an evidence file is damaged or unfinished.
    """
    parts_of: dict[str, dict[str, Floats]] = {}
    most = 1
    aggregate = formula.aggregate(dict.fromkeys(PASSAGES, 0.0))
    reads_document_score = find_aggregation(formula.aggregator).needs_document_score
    records = comparing_first_stage(reranked.evidence(), reranked.first_stage, notes)
    for query_id, group in groupby(records, key=lambda evidence: evidence.query_id):
        parts, documents = parts_of.setdefault(query_id, {}), list(group)
        if parts and formula.scorers:
            raise InputError(
                f"the evidence of query {query_id!r} is not together, so its scores cannot be mixed",
                about=("evidence",),
            )
        rows = np.array([formula.parts(documents, aggregate, mix) for mix in mixes], np.float64).swapaxes(0, 1)
        for evidence, row in zip(documents, rows, strict=True):
            doc_id = evidence.doc_id
            if doc_id in parts:
                fault = f"document {doc_id!r} of query {query_id!r} is reranked twice"
                raise InputError(fault, fix="give the evidence of each query once")
            parts[doc_id], most = row, max(most, len(evidence.passage_score))
            if not reads_document_score:
                note_own_score(evidence, notes)
    if parts_of and most < formula.n_passages:
        notes.say(f"{PASSAGES[most - 1]} has no effect: no document has more than {most} scored passages")
    for query_id, parts in parts_of.items():
        first_scores(query_id, parts, reranked.first_stage.get(query_id))
    for query_id in reranked.first_stage:
        notes.add("queries without evidence, ranked as in the first stage", query_id, int(query_id not in parts_of))
    none = np.zeros((len(mixes), 0, formula.n_passages))
    return {
        query_id: _scored(
            reranked.first_stage[query_id],
            parts_of.get(query_id, {}),
            none,
            reranked.missing.last(query_id, reranked=query_id in parts_of),
        )
        for query_id in reranked.first_stage
    }


def _scored(ranking: Sequence[ScoredDoc], parts_of: Mapping[str, Floats], none: Floats, last: frozenset[str]) -> Scored:
    first, doc_ids = {row.doc_id: row.score for row in ranking}, sorted(parts_of)
    below = sorted((doc_id for doc_id in first if doc_id not in parts_of), key=last.__contains__)
    parts = np.concatenate([none, *(parts_of[doc_id][:, None] for doc_id in doc_ids)], axis=1)
    return Scored(tuple(doc_ids), np.array([first[doc_id] for doc_id in doc_ids]), parts, tuple(below))


@dataclass(frozen=True)
class _Valuing:
    """A picklable function of queries: the value of every setting for each.

    Attributes:
        measure: name of the measure.
        formula: see `make_formula`.
        settings: S settings.
        places: for each mix of a query's `Scored.parts`, the places of its settings.
    """

    measure: str
    formula: Formula
    settings: Sequence[Setting]
    places: Sequence[Sequence[int]]

    def __call__(self, queries: Sequence[tuple[Scored, Mapping[str, int]]]) -> Floats:
        """Return the values of queries with their judgments, float64[S, queries]."""
        parsed, values = parse_measure(self.measure), np.empty((len(self.settings), len(queries)))
        for column, (scored, judged) in enumerate(queries):
            value = measured(parsed, judged, scored.doc_ids, scored.below)
            for parts, own in zip(scored.parts, self.places, strict=True):
                for block in _blocks(len(own), len(scored.doc_ids)):
                    chosen = [self.settings[n] for n in own[block]]
                    values[own[block], column] = value(self.formula.scores(scored.first, parts, chosen))
        return values


@dataclass(frozen=True)
class Weighing:
    """A judged set, to learn weights on.

    Attributes:
        reranked: a first stage, and its evidence.
        qrels: judgments.
        formula: see `make_formula`.
        measure: name of the measure.
        engine: computes the values of blocks of queries.
    """

    reranked: Reranked
    qrels: Qrels
    formula: Formula
    measure: str
    engine: Engine = field(default_factory=Local)

    @property
    def first_stage(self) -> Run:
        """The run that was reranked."""
        return self.reranked.first_stage

    @cached_property
    def query_ids(self) -> tuple[str, ...]:
        """The judged queries of the first stage, in its order.

        Raises:
            InputError: no query of the first stage is judged.
        """
        judged = tuple(query_id for query_id in self.first_stage if query_id in self.qrels)
        if not judged:
            raise InputError(
                "the first stage and the judgments have no query in common",
                about=("run", "qrels"),
                fix="compare their ids",
            )
        return judged

    def about(self) -> dict[str, Any]:
        """Return measure and formula, as JSON."""
        return {"measure": str(parse_measure(self.measure)), **self.formula.about()}

    def blank(self, axes: Axes) -> GridValues:
        """Return a table of zeros for the first setting, to check a protocol before any work."""
        zeros = np.zeros((1, len(self.query_ids)))
        return GridValues(str(parse_measure(self.measure)), settings_of(axes)[:1], self.query_ids, zeros)

    def table(self, axes: Axes, notes: Notes, progress: Callable[[int], Any] = lambda n: None) -> GridValues:
        """Return the value of every setting of a grid for every judged query of the first stage.

        Args:
            axes: the grid.
            notes: counts queries without judgments, and judged queries that the first stage lacks: both have no value;
                and as `collect`.
            progress: called with the number of queries just done.

        Raises:
            InputError: no query is judged, an unknown measure, a document that is reranked twice or not in the first
                stage, or more than `MAX_VALUES` values.
            IntegrityError: an evidence file is damaged or unfinished.
        """
        settings, parsed = settings_of(axes), parse_measure(self.measure)
        check_size(len(settings), len(self.query_ids))
        for query_id in self.first_stage:
            notes.add("queries without judgments, left out of the choice", query_id, int(query_id not in self.qrels))
        for query_id in self.qrels:
            lacking = query_id not in self.first_stage
            notes.add("judged queries that the first stage lacks, left out", query_id, int(lacking))
        mixes, places = _by_mix(self.formula, settings)
        documents = collect(self.reranked, self.formula, notes, mixes)
        judged = [(documents[query_id], self.qrels[query_id]) for query_id in self.query_ids]
        blocks = [judged[start : start + _BLOCK] for start in range(0, len(judged), _BLOCK)]
        engine: Engine = self.engine if len(settings) > 1 else Local()  # workers take longer to start
        columns = []
        for block in in_order(engine.each(_Valuing(self.measure, self.formula, settings, places), blocks)):
            columns.append(block)
            progress(block.shape[1])
        values = np.concatenate(columns, axis=1)
        return GridValues(str(parsed), settings, self.query_ids, values)

    def figure(self, setting: Setting, query_ids: Collection[str]) -> float:
        """Return the figure of a setting, on the grid or off it, over some of the queries."""
        table = self.table({name: (value,) for name, value in setting.items()}, Notes())
        return table.figure(0, query_ids)


def weighed_run(weighing: Weighing, setting_of: Mapping[str, Setting]) -> Iterator[list[ScoredDoc]]:
    """Yield the ranking of each query with its own weights, in the order of the first stage."""
    groups: dict[tuple[tuple[str, float], ...], list[str]] = {}
    for query_id in weighing.first_stage:
        if query_id in setting_of:
            groups.setdefault(tuple(setting_of[query_id].items()), []).append(query_id)
    runs = [weighing.formula.run(dict(items), weighing.reranked, query_ids) for items, query_ids in groups.items()]
    rankings = {query_id: run[query_id] for run in runs for query_id in run}
    yield from (list(rankings[query_id]) for query_id in weighing.first_stage if query_id in rankings)


def _by_mix(formula: Formula, settings: Sequence[Setting]) -> tuple[list[Mix | None], list[list[int]]]:
    """Return the different mixes of some settings, and the places of the settings of each."""
    places: dict[tuple[float, ...] | None, list[int]] = {}
    mixes = [formula.mix(setting) for setting in settings]
    for n, mix in enumerate(mixes):
        places.setdefault(None if mix is None else tuple(mix.weights.values()), []).append(n)
    return [mixes[own[0]] for own in places.values()], list(places.values())


def _blocks(n_settings: int, n_documents: int) -> Iterator[slice]:
    step = max(1, _AT_ONCE // max(1, n_documents))
    return (slice(start, start + step) for start in range(0, n_settings, step))
