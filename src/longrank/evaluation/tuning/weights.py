"""What the first stage and a document's best passages weigh: settings x queries -> a table of values.

Evidence is read once; under all settings together, a document's score is arithmetic on a few numbers (`formula`). The
run of what was chosen is made by `aggregate_run`, as rerank makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from longrank.aggregation import find_aggregation
from longrank.aggregation.reranked import comparing_first_stage
from longrank.aggregation.run import first_scores
from longrank.errors import InputError
from longrank.evaluation.measures import parse_measure
from longrank.evaluation.tuning.formula import PASSAGES, Formula
from longrank.evaluation.tuning.grids import Axes, Setting, settings_of
from longrank.evaluation.tuning.rankings import Floats, measured
from longrank.evaluation.tuning.reranked import Reranked
from longrank.evaluation.tuning.values import GridValues, check_size
from longrank.types import Notes, Qrels, Run, ScoredDoc

_AT_ONCE = 2**17  # scores: 1 MB of float64, which stays in a core's cache


class Scored(NamedTuple):
    """The documents of a query.

    Attributes:
        doc_ids: D reranked documents, ascending.
        first: their scores in the first stage, [D].
        parts: what weights act on, [D, n_passages].
        below: the other documents of the first stage, in the order in which they follow.
    """

    doc_ids: tuple[str, ...]
    first: Floats
    parts: Floats
    below: tuple[str, ...]


def collect(reranked: Reranked, formula: Formula, notes: Notes) -> dict[str, Scored]:
    """Return the documents of every query of the first stage.

    Args:
        reranked: what has been said of them.
        formula: what is made of it.
        notes: counts documents with a score of their own that is not weighed, or that another first stage was reranked
            with, and queries without evidence.

    Raises:
        InputError: a document is reranked twice, or is none of the first stage's.
        IntegrityError: a file of evidence is damaged or unfinished.
    """
    found: dict[str, dict[str, list[float]]] = {}
    aggregate = formula.aggregate(dict.fromkeys(PASSAGES, 0.0))
    reads_document_score = find_aggregation(formula.aggregator).needs_document_score
    for one in comparing_first_stage(reranked.evidence(), reranked.first_stage, notes):
        parts = found.setdefault(one.query_id, {})
        if one.doc_id in parts:
            what = f"document {one.doc_id!r} of query {one.query_id!r} is reranked twice"
            raise InputError(what, fix="give the evidence of each query once")
        parts[one.doc_id] = formula.parts(one, aggregate)
        unread = one.document_score is not None and not reads_document_score
        notes.add("documents whose own scores are left out, 'document' weighs them", one.doc_id, int(unread))
    for query_id, parts in found.items():
        first_scores(query_id, parts, reranked.first_stage.get(query_id))
    for query_id in reranked.first_stage:
        notes.add("queries without evidence, ranked as in the first stage", query_id, int(query_id not in found))
    return {
        query_id: _scored(reranked.first_stage[query_id], found.get(query_id, {}), formula.n_passages, reranked.last)
        for query_id in reranked.first_stage
    }


def _scored(
    ranking: Sequence[ScoredDoc], found: Mapping[str, Sequence[float]], n_passages: int, last: frozenset[str]
) -> Scored:
    first, doc_ids = {row.doc_id: row.score for row in ranking}, sorted(found)
    below = sorted((doc_id for doc_id in first if doc_id not in found), key=last.__contains__)
    parts = np.array([found[doc_id] for doc_id in doc_ids], np.float64).reshape(len(doc_ids), n_passages)
    return Scored(tuple(doc_ids), np.array([first[doc_id] for doc_id in doc_ids]), parts, tuple(below))


@dataclass(frozen=True)
class Weighing:
    """A judged set whose weights are looked for.

    Attributes:
        reranked: a first stage, and what reranked it.
        qrels: judgments.
        formula: see `make_formula`.
        measure: its name.
    """

    reranked: Reranked
    qrels: Qrels
    formula: Formula
    measure: str

    @property
    def first_stage(self) -> Run:
        """The run that was reranked."""
        return self.reranked.first_stage

    @cached_property
    def query_ids(self) -> tuple[str, ...]:
        """The judged queries of the first stage, in its order.

        Raises:
            InputError: there are none.
        """
        found = tuple(query_id for query_id in self.first_stage if query_id in self.qrels)
        if not found:
            raise InputError("the first stage and the judgments have no query in common", fix="compare their ids")
        return found

    def about(self) -> dict[str, Any]:
        """Return what describes it, as JSON."""
        return {"measure": str(parse_measure(self.measure)), **asdict(self.formula)}

    def blank(self, axes: Axes) -> GridValues:
        """Return a table of one setting, zeros: a protocol that refuses it would refuse the finished one."""
        zeros = np.zeros((1, len(self.query_ids)))
        return GridValues(str(parse_measure(self.measure)), settings_of(axes)[:1], self.query_ids, zeros)

    def table(self, axes: Axes, notes: Notes, progress: Callable[[int], Any] = lambda n: None) -> GridValues:
        """Return the value of every setting of a grid for every judged query of the first stage.

        Args:
            axes: the grid.
            notes: counts queries without judgments, and judged ones that the first stage lacks: neither has a value;
                and as `collect`.
            progress: called with the number of queries just done.

        Raises:
            InputError: no query is judged, an unknown measure, a document that is reranked twice or not the first
                stage's, or more than `MAX_VALUES` values.
            IntegrityError: a file of evidence is damaged or unfinished.
        """
        settings, parsed = settings_of(axes), parse_measure(self.measure)
        check_size(len(settings), len(self.query_ids))
        for query_id in self.first_stage:
            notes.add("queries without judgments, left out of the choice", query_id, int(query_id not in self.qrels))
        for query_id in self.qrels:
            lacking = query_id not in self.first_stage
            notes.add("judged queries that the first stage lacks, left out", query_id, int(lacking))
        documents = collect(self.reranked, self.formula, notes)
        values = np.empty((len(settings), len(self.query_ids)))
        for column, query_id in enumerate(self.query_ids):
            one = documents[query_id]
            value = measured(parsed, self.qrels[query_id], one.doc_ids, one.below)
            for some in _blocks(len(settings), len(one.doc_ids)):
                values[some, column] = value(self.formula.scores(one.first, one.parts, settings[some]))
            progress(1)
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
    runs = [weighing.formula.run(dict(one), weighing.reranked, query_ids) for one, query_ids in groups.items()]
    rankings = {query_id: run[query_id] for run in runs for query_id in run}
    yield from (list(rankings[query_id]) for query_id in weighing.first_stage if query_id in rankings)


def _blocks(n_settings: int, n_documents: int) -> Iterator[slice]:
    step = max(1, _AT_ONCE // max(1, n_documents))
    return (slice(start, start + step) for start in range(0, n_settings, step))
