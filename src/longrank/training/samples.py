"""Training samples by number: ``samples[n]`` is a pure function of (seed, n), for any n >= 0.

So training resumes at n, and processes share the numbers, without any state. Numbers 0 to ``len(samples) - 1`` are one
pass; each pass has another order, and passes never end. Kinds (`SAMPLES`):

    pairs       a relevant document and a negative (MaxP, PARADE; a triplet is a pair with another loss)
    groups      a relevant document and several negatives (LCE)
    pointwise   every candidate by itself (standalone PARADE, Dai and Callan)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from longrank.draws import below, distinct, permutation
from longrank.errors import InputError
from longrank.registries import lookup
from longrank.training.candidates import CandidateOptions, Candidates, Sources, find_candidates, with_both_sides
from longrank.types import Notes

LCE_NEGATIVES = 7


class Group(NamedTuple):
    """A training instance: documents of a query and their labels, 1 or 0, relevant documents first."""

    query_id: str
    doc_ids: tuple[str, ...]
    labels: tuple[float, ...]


class Samples(Protocol):
    """Random access to training instances; iterating over them does not end.

    Attributes:
        candidates: the documents that instances are drawn from.
    """

    candidates: Sequence[Candidates]

    def __len__(self) -> int:
        """Return the number of instances in a pass."""
        ...

    def __getitem__(self, n: int) -> Group:
        """Return the n-th instance, counted over all passes.

        Raises:
            IndexError: n < 0.
        """
        ...


class GroupSamples:
    """One instance per query and pass: a positive, all equally likely, and `n_negatives` different negatives."""

    def __init__(self, candidates: Sequence[Candidates], n_negatives: int, seed: int) -> None:
        self.candidates, self._n_negatives, self._seed = candidates, n_negatives, seed

    def __len__(self) -> int:
        return len(self.candidates)

    def __getitem__(self, n: int) -> Group:
        query_id, positives, negatives = self.candidates[place_in_pass(n, len(self), self._seed)]
        positive = positives[below(len(positives), self._seed, n, "positive")]
        drawn = distinct(len(negatives), self._n_negatives, self._seed, n, "negative")
        labels = (1.0,) + (0.0,) * self._n_negatives
        return Group(query_id, (positive, *(negatives[i] for i in drawn)), labels)


class PointwiseSamples:
    """Every candidate once per pass, positives labelled 1 and negatives 0, queries mixed."""

    def __init__(self, candidates: Sequence[Candidates], seed: int) -> None:
        self.candidates, self._seed = candidates, seed
        self._ends = np.cumsum([len(query.positives) + len(query.negatives) for query in candidates])

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, n: int) -> Group:
        place = place_in_pass(n, len(self), self._seed)
        owner = int(np.searchsorted(self._ends, place, side="right"))
        query_id, positives, negatives = self.candidates[owner]
        i = place - (int(self._ends[owner - 1]) if owner else 0)
        if i < len(positives):
            return Group(query_id, (positives[i],), (1.0,))
        return Group(query_id, (negatives[i - len(positives)],), (0.0,))


def make_samples(
    kind: str,
    query_ids: Iterable[str],
    sources: Sources,
    options: CandidateOptions,
    *,
    seed: int,
    notes: Notes,
    n_negatives: int | None = None,
) -> Samples:
    """Return the samples of some queries.

    Args:
        kind: a name of `SAMPLES`.
        query_ids: the training queries, in any order.
        sources: judgments, runs, collection.
        options: conditions for positives and negatives.
        seed: another seed gives other samples.
        notes: counts the queries that are dropped, and why.
        n_negatives: negatives per instance of ``groups``; None: 7.

    Raises:
        InputError: unknown kind, `n_negatives` with another kind or less than 1, a missing source, or no query left.
    """
    if n_negatives is not None and kind != "groups":
        raise InputError(f"samples '{kind}' take no number of negatives", got=n_negatives, fix="only groups do")
    count = LCE_NEGATIVES if n_negatives is None else n_negatives
    if count < 1:
        raise InputError("a group needs at least one negative", got=count)
    make = lookup(SAMPLES, kind, "kind of samples")
    if kind == "pointwise" and options.negatives == "random":
        raise InputError("pointwise samples are candidates of a run, not of the whole collection", got="random")
    return make(find_candidates(query_ids, sources, options, notes), count, seed, notes)


def _pairs(candidates: Sequence[Candidates], n_negatives: int, seed: int, notes: Notes) -> Samples:
    """A relevant document and a negative of each query, once per pass (MaxP, PARADE)."""
    return _groups(candidates, 1, seed, notes)


def _groups(candidates: Sequence[Candidates], n_negatives: int, seed: int, notes: Notes) -> Samples:
    """A relevant document and several negatives of each query, once per pass (LCE)."""
    return GroupSamples(with_both_sides(candidates, n_negatives, notes), n_negatives, seed)


def _pointwise(candidates: Sequence[Candidates], n_negatives: int, seed: int, notes: Notes) -> Samples:
    """Every candidate by itself, once per pass (standalone PARADE).

    As in PARADE's code, queries with positives only or negatives only are kept.
    """
    kept = [query for query in candidates if query.positives or query.negatives]
    for query in candidates:
        notes.add(
            "queries without a candidate, not trained on", query.query_id, not (query.positives or query.negatives)
        )
    if not any(query.positives for query in kept):
        raise InputError(f"none of {len(candidates)} judged queries has a relevant document to find", about=("qrels",))
    return PointwiseSamples(kept, seed)


SAMPLES: dict[str, Callable[[Sequence[Candidates], int, int, Notes], Samples]] = {
    "pairs": _pairs,
    "groups": _groups,
    "pointwise": _pointwise,
}
"""Kinds of samples by name."""


def place_in_pass(n: int, size: int, seed: int) -> int:
    """Return the n-th place, where each pass is another permutation of ``range(size)``.

    Raises:
        IndexError: n < 0.
    """
    if n < 0:
        raise IndexError(f"samples are counted from 0, not {n}")
    turn, place = divmod(n, size)
    return int(_order(size, seed, turn)[place])


@lru_cache(maxsize=4)
def _order(size: int, seed: int, turn: int) -> NDArray[np.int64]:
    return permutation(size, seed, "pass", turn)
