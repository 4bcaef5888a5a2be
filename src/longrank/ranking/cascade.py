"""A cascade: cheap scorers score every passage and select the few that the expensive scorer reads.

    bm25           BM25 of the passage; no torch
    vectors        cosine of a bi-encoder; the vectors stored with the index where they fit
    bm25+vectors   both, by the sum of their reciprocal ranks 1 / (60 + rank) (Cormack, Clarke and
                   Buettcher, SIGIR 2009); equal scores have equal ranks

The budget is a number of passages per document (`n`) or per query: `per_query` passages, or `n` times the
number of candidates (`pooled`). A query's budget goes to the best passage of each document first, then to the best
remaining passages of any document. Passages are ranked within the document or, with a budget per query, within the
query. Ties go to the earlier candidate, then to the earlier passage.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.fusion import reciprocal_ranks
from longrank.index import Index
from longrank.protocols import PassageScorer, ScoringTask, Selected, Selector
from longrank.ranking.build import attach_vectors
from longrank.ranking.known_passages import KnownPassages
from longrank.ranking.settings import DEFAULT_MODEL, Select
from longrank.registries import lookup
from longrank.scoring import make_scorer, scorer_class
from longrank.text.select import SELECTORS, make_selector, term_counts
from longrank.types import Notes

Scores = NDArray[np.floating]
"""Scores of one document's passages, float[P]."""

DEFAULT_N = 3
"""Default budget: passages per document."""


@dataclass(frozen=True, slots=True)
class Cheap:
    """Passage scorers of a selector, and its description in the table of names."""

    scorers: tuple[str, ...]
    about: str


CHEAP_SELECTORS: dict[str, Cheap] = {
    "bm25": Cheap(("lexical",), "The n (3) best passages by BM25."),
    "vectors": Cheap(("bi-encoder",), "The n (3) best passages by cosine; uses stored vectors if they fit."),
    "bm25+vectors": Cheap(("lexical", "bi-encoder"), "The n (3) best passages by the sum of reciprocal ranks."),
}
"""name -> scorers."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Number of passages that the expensive scorer reads.

    Attributes:
        n: passages per document; None if `per_query` is set.
        per_query: passages per query, but at least one per document; None if `n` is set.
        pooled: true if the documents of a query share ``n * documents`` passages.

    Raises:
        InputError: none or both of the two numbers are set, or the number is below 1.
    """

    n: int | None = None
    per_query: int | None = None
    pooled: bool = False

    def __post_init__(self) -> None:
        if (self.n is None) == (self.per_query is None):
            got = f"n={self.n} per_query={self.per_query}"
            raise InputError("set either n (passages per document) or per_query", got=got)
        if min(self.n or 1, self.per_query or 1) < 1 or 0 in (self.n, self.per_query):
            raise InputError("a selector selects at least one passage", got=str(self), fix="give 1 or more")

    def __str__(self) -> str:
        if self.n is None:
            return f"per_query={self.per_query}"
        return f"n={self.n}{' pooled' if self.pooled else ''}"

    def of_query(self, n_documents: int) -> int | None:
        """Return the budget of a query; None if each document has its own."""
        if self.n is None:
            return self.per_query
        return self.n * n_documents if self.pooled else None


def shares_budget(fingerprint: str) -> bool:
    """Tell whether the documents of a query share a budget, from the fingerprint of a document scorer."""
    return re.search(r"\((?:per_query=\d+|n=\d+ pooled); ", fingerprint) is not None


class CheapSelector:
    """Selects passages by the scores of cheap scorers.

    Args:
        name: name of the selector.
        scorers: one scorer, or several whose reciprocal ranks are added.
        budget: number of passages to select.

    Attributes:
        scorers: the scorers.
    """

    def __init__(self, name: str, scorers: Sequence[PassageScorer], budget: Budget) -> None:
        self._name, self.scorers, self._budget = name, tuple(scorers), budget

    @property
    def fingerprint(self) -> str:
        """Names the selector, the budget and the scorers."""
        return f"{self._name}({self._budget}; {'; '.join(scorer.fingerprint for scorer in self.scorers)})"

    def select(self, tasks: Sequence[ScoringTask], *, weights: bool = True) -> list[Selected]:
        """Return the selected passages of each task, weighted by their counts of query terms or, unasked, by ones."""
        by_scorer = [[task.scores for task in scorer.score(tasks)] for scorer in self.scorers]
        return self.chosen(tasks, by_scorer, weights=weights)

    def chosen(
        self, tasks: Sequence[ScoringTask], by_scorer: Sequence[Sequence[Scores]], *, weights: bool
    ) -> list[Selected]:
        """Return what `select` returns, from the scores that each scorer gave to the passages of each task."""
        selected: list[NDArray[np.intp]] = []
        for _, group in groupby(range(len(tasks)), key=lambda n: tasks[n].query.query_id):
            of_query = list(group)
            selected += choose([[scores[n] for n in of_query] for scores in by_scorer], self._budget)
        if not weights:
            return [Selected(places, np.ones(len(places), np.float32)) for places in selected]
        return [
            Selected(places, term_counts(task.query.text, [task.passages[n].text for n in places.tolist()]))
            for task, places in zip(tasks, selected, strict=True)
        ]


class KnownScores:
    """A selector by cheap scorers whose scores are known.

    Args:
        selector: the selector.
        by_scorer: per scorer and task, the scores of its passages.
    """

    def __init__(self, selector: CheapSelector, by_scorer: Sequence[Sequence[Scores]]) -> None:
        self._selector, self._by_scorer = selector, by_scorer
        self.scorers = selector.scorers

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the selector."""
        return self._selector.fingerprint

    def select(self, tasks: Sequence[ScoringTask], *, weights: bool = True) -> list[Selected]:
        """Return the selected passages of the tasks that were scored."""
        return self._selector.chosen(tasks, self._by_scorer, weights=weights)


def choose(by_scorer: Sequence[Sequence[Scores]], budget: Budget) -> list[NDArray[np.intp]]:
    """Return the positions of the selected passages of each document of one query, ascending.

    Args:
        by_scorer: per scorer and document, the scores of its passages; at least one passage per document.
        budget: number of passages to select.
    """
    n_passages = budget.of_query(len(by_scorer[0]))
    if n_passages is None:
        per_document = [_combined(scores) for scores in zip(*by_scorer, strict=True)]
        return [np.sort(_best_first(scores)[: budget.n]) for scores in per_document]
    ends = np.cumsum([len(scores) for scores in by_scorer[0]])
    combined = _combined([np.concatenate(list(scores)) for scores in by_scorer])
    per_document = np.split(combined, ends[:-1])
    taken = np.zeros(len(combined), dtype=np.bool_)
    for scores, end in zip(per_document, ends.tolist(), strict=True):
        taken[end - len(scores) + int(np.argmax(scores))] = True
    remaining = [n for n in _best_first(combined).tolist() if not taken[n]]
    taken[remaining[: max(0, n_passages - len(ends))]] = True
    return [np.flatnonzero(document) for document in np.split(taken, ends[:-1])]


class CheapScorers:
    """Loads cheap scorers, each once; `selects`: a selector may leave out passages that they would score."""

    def __init__(
        self, index: Index | None, segmenter: KnownPassages, *, title: bool, notes: Notes, selects: bool = False
    ) -> None:
        self._index, self._segmenter, self._title, self._notes = index, segmenter, title, notes
        self._selects = selects
        self._open: dict[tuple[str, str | None], PassageScorer] = {}

    def open(self, name: str, model: str | None) -> PassageScorer:
        """Return a passage scorer; `model` is the bi-encoder's model, ``minilm`` if None.

        Raises:
            InputError, MissingExtra, IntegrityError: as `make_scorer`.
        """
        key = (name, (model or DEFAULT_MODEL) if scorer_class(name).needs_model else model)
        if key not in self._open:
            scorer = make_scorer(name, index=self._index, model=key[1], notes=self._notes)
            if self._index is not None:
                attach_vectors(
                    scorer, self._index, self._segmenter, title=self._title, selects=self._selects, notes=self._notes
                )
            self._open[key] = scorer
        return self._open[key]


def open_selector(settings: Select, cheap_scorers: CheapScorers) -> Selector:
    """Build the selector of a pipeline, with its cheap scorers.

    Raises:
        InputError: an unknown name, a setting that this selector does not take, or a value out of range.
        MissingExtra, IntegrityError: as `make_scorer`.
    """
    lookup({**SELECTORS, **CHEAP_SELECTORS}, settings.name, "selector")
    cheap = CHEAP_SELECTORS.get(settings.name)
    models = {name: settings.model for name in cheap.scorers if scorer_class(name).needs_model} if cheap else {}
    if settings.model is not None and not models:
        raise InputError(f"selector '{settings.name}' takes no model", got=settings.model)
    if cheap is None:
        for name, value in (("per_query", settings.per_query), ("pooled", settings.pooled or None)):
            if value is not None:
                raise InputError(f"selector '{settings.name}' takes no {name}", got=value)
        return make_selector(settings.name, settings.n)
    default = DEFAULT_N if settings.per_query is None else None
    budget = Budget(default if settings.n is None else settings.n, settings.per_query, settings.pooled)
    return CheapSelector(settings.name, [cheap_scorers.open(name, models.get(name)) for name in cheap.scorers], budget)


def _combined(scores: Sequence[Scores]) -> Scores:
    """Return the scores of a single scorer, or the summed reciprocal ranks of several."""
    return scores[0] if len(scores) == 1 else np.sum([reciprocal_ranks(ranked) for ranked in scores], axis=0)


def _best_first(scores: Scores) -> NDArray[np.intp]:
    return np.argsort(-scores, kind="stable")
