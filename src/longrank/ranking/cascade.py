"""A cascade: cheap scorers read every passage and choose the few that the expensive one reads.

    bm25           BM25 of the passage; no torch
    vectors        cosine of a bi-encoder; the vectors stored with the index where they fit
    bm25+vectors   both, by the sum of their reciprocal ranks 1 / (60 + rank) (Cormack, Clarke and
                   Buettcher, SIGIR 2009); equal scores have equal ranks

The budget is a number of passages per document (`n`) or per query: `per_query` in all, or `n` times the
number of candidates (`pooled`). A query's budget goes to the best passage of each document, then to the
best of all that are left, whichever documents they are in. Ranks are those within the document, or
within the query. Ties go to the earlier candidate, then to the earlier passage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from longrank.config import lookup
from longrank.errors import InputError
from longrank.index import Index
from longrank.protocols import PassageScorer, ScoringTask, Segmenter, Selected, Selector
from longrank.ranking.build import attach_vectors
from longrank.ranking.settings import DEFAULT_MODEL, Select
from longrank.scoring import make_scorer
from longrank.text.select import SELECTORS, make_selector, term_counts
from longrank.types import Float32s, Notes

Scores = NDArray[np.floating]
"""Of the passages of one document, float[P]."""

DEFAULT_N = 3
"""Passages per document where no budget is given."""

_RANK_CONSTANT = 60


@dataclass(frozen=True, slots=True)
class Cheap:
    """Which passage scorers a selector asks, and what the table of names says of it."""

    scorers: tuple[str, ...]
    about: str


CHEAP_SELECTORS: dict[str, Cheap] = {
    "bm25": Cheap(("lexical",), "The n (3) best by BM25 of the passage."),
    "vectors": Cheap(("bi-encoder",), "The n (3) best by a bi-encoder's cosine, of stored vectors where they fit."),
    "bm25+vectors": Cheap(("lexical", "bi-encoder"), "The n (3) best by the reciprocal ranks of both."),
}
"""name -> the scorers that choose."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How many passages the expensive scorer reads.

    Attributes:
        n: per document, or ...
        per_query: ... per query, at least one of each document all the same.
        pooled: whether a query's documents share their `n` each; what is `per_query` is shared anyway.

    Raises:
        InputError: not one of the two numbers is given, or it is below 1.
    """

    n: int | None = None
    per_query: int | None = None
    pooled: bool = False

    def __post_init__(self) -> None:
        if (self.n is None) == (self.per_query is None):
            got = f"n={self.n} per_query={self.per_query}"
            raise InputError("a budget is n passages per document or per_query, one of the two", got=got)
        if min(self.n or 1, self.per_query or 1) < 1 or 0 in (self.n, self.per_query):
            raise InputError("a selector chooses at least one passage", got=str(self), fix="give 1 or more")

    def __str__(self) -> str:
        if self.n is None:
            return f"per_query={self.per_query}"
        return f"n={self.n}{' pooled' if self.pooled else ''}"

    def of_query(self, n_documents: int) -> int | None:
        """Return how many passages of a query's documents are read together; None: of each document by itself."""
        if self.n is None:
            return self.per_query
        return self.n * n_documents if self.pooled else None


class CheapSelector:
    """Selects passages by what cheap scorers say of all of them.

    Args:
        name: of the rule.
        scorers: one, or several whose reciprocal ranks are added.
        budget: how many passages are chosen.
    """

    def __init__(self, name: str, scorers: Sequence[PassageScorer], budget: Budget) -> None:
        self._name, self._scorers, self._budget = name, tuple(scorers), budget

    @property
    def fingerprint(self) -> str:
        """Names the rule, the budget and the scorers."""
        return f"{self._name}({self._budget}; {'; '.join(scorer.fingerprint for scorer in self._scorers)})"

    def select(self, tasks: Sequence[ScoringTask]) -> list[Selected]:
        """Return the chosen passages of each task, with the counts of query terms in them as weights."""
        found = [[one.scores for one in scorer.score(tasks)] for scorer in self._scorers]
        chosen: list[NDArray[np.intp]] = []
        for _, some in groupby(range(len(tasks)), key=lambda n: tasks[n].query.query_id):
            of_query = list(some)
            chosen += choose([[scores[n] for n in of_query] for scores in found], self._budget)
        return [Selected(places, _weights(task, places)) for task, places in zip(tasks, chosen, strict=True)]


def choose(found: Sequence[Sequence[Scores]], budget: Budget) -> list[NDArray[np.intp]]:
    """Return the positions of the chosen passages of each document of one query, ascending.

    Args:
        found: per scorer, per document, the scores of its passages; at least one of each.
        budget: how many to choose.
    """
    in_all = budget.of_query(len(found[0]))
    if in_all is None:
        per_document = [_combined(scores) for scores in zip(*found, strict=True)]
        return [np.sort(_best_first(scores)[: budget.n]) for scores in per_document]
    ends = np.cumsum([len(scores) for scores in found[0]])
    every = _combined([np.concatenate(list(scores)) for scores in found])
    per_document = np.split(every, ends[:-1])
    taken = np.zeros(len(every), dtype=np.bool_)
    for scores, end in zip(per_document, ends.tolist(), strict=True):
        taken[end - len(scores) + int(np.argmax(scores))] = True
    others = [n for n in _best_first(every).tolist() if not taken[n]]
    taken[others[: max(0, in_all - len(ends))]] = True
    return [np.flatnonzero(some) for some in np.split(taken, ends[:-1])]


class CheapScorers:
    """Loads the scorers that read every passage of a document, each once; without an index, those that need none."""

    def __init__(self, index: Index | None, segmenter: Segmenter, *, title: bool, notes: Notes) -> None:
        self._index, self._segmenter, self._title, self._notes = index, segmenter, title, notes
        self._open: dict[tuple[str, str | None], PassageScorer] = {}

    def open(self, name: str, model: str | None) -> PassageScorer:
        """Return a passage scorer; `model` is a bi-encoder's, ``minilm`` if None.

        Raises:
            InputError, MissingExtra, IntegrityError: as `make_scorer`.
        """
        wanted = (name, (model or DEFAULT_MODEL) if name == "bi-encoder" else model)
        if wanted not in self._open:
            scorer = make_scorer(name, index=self._index, model=wanted[1], notes=self._notes)
            if self._index is not None:
                attach_vectors(
                    scorer, self._index, self._segmenter, title=self._title, selects=False, notes=self._notes
                )
            self._open[wanted] = scorer
        return self._open[wanted]


def open_selector(settings: Select, cheap_scorers: CheapScorers) -> Selector:
    """Build the selector that a pipeline names, with its cheap models.

    Raises:
        InputError: unknown name, or a setting that it does not take or that is out of range.
        MissingExtra, IntegrityError: as `make_scorer`.
    """
    lookup({**SELECTORS, **CHEAP_SELECTORS}, settings.name, "selector")
    cheap = CHEAP_SELECTORS.get(settings.name)
    if settings.model is not None and (cheap is None or "bi-encoder" not in cheap.scorers):
        raise InputError(f"selector '{settings.name}' takes no model", got=settings.model)
    if cheap is None:
        for name, value in (("per_query", settings.per_query), ("pooled", settings.pooled or None)):
            if value is not None:
                raise InputError(f"selector '{settings.name}' takes no {name}", got=value)
        return make_selector(settings.name, settings.n)
    default = DEFAULT_N if settings.per_query is None else None
    budget = Budget(default if settings.n is None else settings.n, settings.per_query, settings.pooled)
    models = {"bi-encoder": settings.model}
    return CheapSelector(settings.name, [cheap_scorers.open(name, models.get(name)) for name in cheap.scorers], budget)


def _combined(scores: Sequence[Scores]) -> Scores:
    """Return the scores of one scorer as they are, or the sum of the reciprocal ranks of several."""
    return scores[0] if len(scores) == 1 else np.sum([_reciprocal_ranks(one) for one in scores], axis=0)


def _reciprocal_ranks(scores: Scores) -> Scores:
    ranks = 1 + len(scores) - np.searchsorted(np.sort(scores), scores, side="right")
    return 1 / (_RANK_CONSTANT + ranks)


def _best_first(scores: Scores) -> NDArray[np.intp]:
    return np.argsort(-scores, kind="stable")


def _weights(task: ScoringTask, places: NDArray[np.intp]) -> Float32s:
    return term_counts(task.query.text, [task.passages[n].text for n in places.tolist()])
