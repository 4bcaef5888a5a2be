"""Measure every setting of a grid on every query: settings x queries -> a table of values.

A setting is a task of a process and a record of a journal. Processes map the index, so it is in memory once. A second
call with the same inputs reads the records and searches for the missing settings only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.collections.judgments import note_topics
from longrank.engines import Local, in_order
from longrank.errors import InputError
from longrank.evaluation.measures import evaluate_rankings, summarise
from longrank.evaluation.names import parse_measure
from longrank.evaluation.own import Measure
from longrank.evaluation.tuning.grids import Axes, Number, Setting, settings_of
from longrank.evaluation.tuning.values import GridValues, check_size
from longrank.index import Index
from longrank.index.languages import digest_of_queries
from longrank.index.shared import SharedIndex
from longrank.protocols import Retriever
from longrank.retrieval import (
    FirstStage,
    feedback_options,
    first_stage,
    make_feedback,
    make_retriever,
    parameters_of,
    vector_options,
)
from longrank.retrieval.feedback.rocchio import FACTORS
from longrank.retrieval.hybrid import DEPTH, Hybrid
from longrank.retrieval.passage_search import PassageSearch
from longrank.retrieval.unchanged import with_vectors
from longrank.storage import Journal, digest_of, read_journal
from longrank.types import Notes, Qrels, Query, Ranking

_BLOCK = 256  # queries with rankings in memory at a time
_CHANCE = "seed"  # is no axis: the best seed is luck


@dataclass(frozen=True)
class Search:
    """A picklable function of settings: search with a setting and measure the rankings.

    Attributes:
        index: the state of the index.
        preset: the first stage that settings change.
        fixed: settings that are the same throughout.
        queries: Q judged queries.
        qrels: judgments of these queries.
        measure: name of the measure.
        k: documents per query.
        searched: fingerprint of the stored vectors that are searched; empty: any, or none.
    """

    index: SharedIndex
    preset: str
    fixed: Mapping[str, Any]
    queries: tuple[Query, ...]
    qrels: Qrels
    measure: str
    k: int
    searched: str = ""

    def __reduce__(self) -> tuple[type[Search], tuple[object, ...]]:
        """Pickle without the open index: every process opens it."""
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @cached_property
    def opened(self) -> Index:
        """The index."""
        return self.index.open()

    @cached_property
    def parsed(self) -> Measure:
        """The measure."""
        return parse_measure(self.measure)

    def retriever(self, setting: Setting, notes: Notes | None = None) -> Retriever:
        """Return the first stage with a setting.

        Raises:
            Changed: the stored vectors are others by now.
            InputError: a value out of range.
        """
        graph = "best" not in setting  # more than one passage of a document are searched exactly
        return with_vectors(partial(self._retriever, setting, notes), self.searched, self.index, graph=graph)

    def _retriever(self, setting: Setting, notes: Notes | None) -> Retriever:
        stage = first_stage(self.preset, {**self.fixed, **setting})
        if notes is None and "weight" in setting and stage.vectors.get("method") == "minmax":
            return self._fused(setting).weighted(setting["weight"])
        return make_retriever(self.opened, stage, notes=notes)

    @cached_property
    def _fusions(self) -> dict[tuple[tuple[str, Number], ...], Hybrid]:
        return {}

    def _fused(self, setting: Setting) -> Hybrid:
        """Return the hybrid first stage of a setting; its model is loaded once for all weights."""
        others = tuple((name, value) for name, value in setting.items() if name != "weight")
        if others not in self._fusions:
            hybrid = make_retriever(self.opened, self.preset, **{**self.fixed, **dict(others)})
            assert isinstance(hybrid, Hybrid)
            self._fusions[others] = hybrid
        return self._fusions[others]

    def __call__(self, setting: Setting) -> NDArray[np.float64]:
        """Return the values, float64[Q]; a query without results has 0.

        Raises:
            InputError: a value of the setting, or a grade, is out of range.
        """
        retriever = self.retriever(setting)
        values: list[float] = []
        for start in range(0, len(self.queries), _BLOCK):
            block = self.queries[start : start + _BLOCK]
            results = {query.query_id: [row.doc_id for row in retriever.retrieve(query, self.k)] for query in block}
            rankings = {query_id: ranking for query_id, ranking in results.items() if ranking}
            judged = {query_id: self.qrels[query_id] for query_id in results}
            values += evaluate_rankings(judged, rankings, [self.parsed])[str(self.parsed)].values()
        return np.array(values)

    def header(self, axes: Axes) -> dict[str, Any]:
        """Return everything that a table depends on; a refused resume names the key that changed."""
        return {
            "format": "longrank tuning",
            "version": 1,
            "index": self.opened.digest,
            "queries": digest_of_queries(self.queries, self.opened.options),
            "judgments": digest_of([[query.query_id, self.qrels[query.query_id]] for query in self.queries]),
            "measure": self.measure,
            "preset": self.preset,
            "fixed settings": dict(self.fixed),
            "k": self.k,
            "grid": [[name, list(values)] for name, values in axes.items()],
            **self._vectors(axes),
            **({"depth": "whatever k is"} if "depth" in (*self.fixed, *axes) else {}),  # before, at least k
        }

    def _vectors(self, axes: Axes) -> dict[str, str]:
        """Return the stored vectors that are searched: the digest of an index does not change with them."""
        if first_stage(self.preset, self.fixed).kind == "words":
            return {}
        retriever = self.retriever(next(iter(settings_of(axes))))
        assert isinstance(retriever, PassageSearch | Hybrid)
        return {"vectors": retriever.vectors}

    def figure(self, setting: Setting, query_ids: Collection[str]) -> float:
        """Return the figure of a setting, on the grid or off it, over some of the queries."""
        chosen = set(query_ids)
        part = replace(self, queries=tuple(query for query in self.queries if query.query_id in chosen))
        return summarise(self.measure, part(setting).tolist())


def judged_queries(queries: Sequence[Query], qrels: Qrels, notes: Notes) -> tuple[Query, ...]:
    """Return the judged queries; other queries, and judged topics without a query, are counted.

    Raises:
        InputError: no query has judgments.
    """
    judged = tuple(query for query in queries if query.query_id in qrels)
    if not judged:
        raise InputError(
            "the queries and the judgments have no query in common", about=("queries", "qrels"), fix="compare their ids"
        )
    for query in queries:
        if query.query_id not in qrels:
            notes.add("queries without judgments, left out of the choice", query.query_id)
    note_topics(qrels, {query.query_id for query in queries}, notes)
    return judged


def tunable(preset: str, fixed: Mapping[str, Any]) -> dict[str, type[Number]]:
    """Return the settings of a first stage that can be axes, name -> int or float.

    These are the parameters of its similarity and the numeric options of its feedback and its vectors, except seeds.

    Raises:
        InputError: no such preset, setting or feedback model, or a value out of range.
    """
    stage = first_stage(preset, dict(fixed))
    make_feedback(stage)
    values = {**_of_words(stage), **vector_options(stage.kind), **stage.vectors}
    if "weight" in values:
        values["weight"] = 0.5  # default of min-max scores; reciprocal ranks refuse a weight with the cure
    if "depth" in values and values["depth"] is None:
        values["depth"] = DEPTH
    return {name: type(value) for name, value in values.items() if type(value) in (int, float) and name != _CHANCE}


def _of_words(stage: FirstStage) -> dict[str, Any]:
    if not stage.reads_words:
        return {}
    return {**parameters_of(stage), **feedback_options(stage.feedback), **stage.options}


def check_axes(search: Search, axes: Axes) -> None:
    """Try every value of every axis, with the first values of the other axes, before any work.

    Raises:
        InputError: a value out of range, an axis that is also fixed or without effect, or more than
            `MAX_VALUES` values.
    """
    if common := sorted(axes.keys() & search.fixed.keys()):
        raise InputError("a setting is both fixed and an axis of the grid", got=common[0])
    check_size(prod(map(len, axes.values())), len(search.queries))
    first = {name: values[0] for name, values in axes.items()}
    for name, values in axes.items():
        for value in values:
            search.retriever({**first, name: value})
    largest = make_feedback(first_stage(search.preset, {**search.fixed, **{n: axes[n][-1] for n in axes}}))
    for name in axes:
        if name in FACTORS and not getattr(largest, FACTORS[name]):
            raise InputError(f"an axis has no effect while {FACTORS[name]} is 0", got=name)


def note_edges(table: GridValues, axes: Axes, notes: Notes) -> None:
    """Note where the best value over the table's queries is at an end of its axis."""
    best = table.settings[table.best(table.query_ids)]
    for name, values in axes.items():
        if len(values) > 1 and best[name] in (values[0], values[-1]):
            queries = f"the table's {len(table.query_ids)} queries"
            remark = f"the best {name} over {queries}, {best[name]}, is at an end of its axis"
            notes.say(f"{remark}; a wider grid may have a better value")


def untried(search: Search, axes: Axes) -> GridValues:
    """Return a table of zeros for the first setting, to check a protocol before any work."""
    return _table(search, settings_of(axes)[:1], np.zeros((1, len(search.queries))))


def _table(search: Search, settings: Sequence[Setting], values: NDArray[np.float64]) -> GridValues:
    return GridValues(search.measure, settings, tuple(query.query_id for query in search.queries), values)


def tabulate(
    search: Search, axes: Axes, journal: Path, *, workers: int = 1, progress: Callable[[int], object] | None = None
) -> GridValues:
    """Return the values of every setting of a grid.

    Args:
        search: queries, judgments and first stage.
        axes: the grid.
        journal: file of values; settings that it holds are not searched for again.
        workers: processes; the result is the same. With more than 1 a script needs the usual
            ``if __name__ == "__main__"``.
        progress: called with the number of settings just done, or read from the journal.

    Raises:
        InputError: the journal is of another grid, index, ... (names the difference), or a value out of range.
        LongRankError: a process was killed, or writing failed.
    """
    check_axes(search, axes)
    settings, advance = settings_of(axes), progress or (lambda n: None)
    header = search.header(axes)
    task = replace(search, index=SharedIndex.of(search.opened), searched=header.get("vectors", ""))
    with Journal(journal, header, "journal of tune") as kept:
        advance(kept.n_committed)
        for values in in_order(Local(workers).each(task, settings[kept.n_committed :])):
            kept.append(values.astype("<f8").tobytes())
            kept.commit()
            advance(1)
    values = np.empty((len(settings), len(search.queries)))
    for row, body in zip(values, read_journal(journal), strict=True):
        row[:] = np.frombuffer(body, "<f8")
    return _table(search, settings, values)


def rankings(search: Search, setting_of: Mapping[str, Setting], notes: Notes) -> Iterator[Ranking]:
    """Yield the ranking of each query with its own setting; queries without results are counted and left out."""
    retrievers: dict[tuple[tuple[str, Number], ...], Retriever] = {}
    for query in search.queries:
        if query.query_id in setting_of:
            setting = setting_of[query.query_id]
            key = tuple(setting.items())
            if key not in retrievers:
                retrievers[key] = search.retriever(setting, notes)
            ranking = retrievers[key].retrieve(query, search.k)
            notes.add("queries without results, which count 0", query.query_id, int(not ranking))
            if ranking:
                yield Ranking.of(query.query_id, ranking)
