"""Candidates of a query: its positives, and its possible negatives.

Positives are judged relevant. Negatives come from a source of `NEGATIVES`, in its order, and are never judged relevant:

    run      the first-stage run, of a range of ranks (MaxP, PARADE)
    random   the whole collection
    model    another run, of a range of ranks: hard negatives
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

from longrank.errors import InputError
from longrank.registries import lookup
from longrank.types import Notes, Qrels, Run


@dataclass(frozen=True, slots=True)
class CandidateOptions:
    """Conditions for positives and negatives; the defaults are MaxP's.

    Attributes:
        relevance_level: least grade of a positive, 1 or more; judged documents below it are not relevant.
        depth: documents of the run that count, 1 or more.
        in_run: whether a positive must be among them.
        negatives: a name of `NEGATIVES`.
        ranks: first and last rank of the negatives, counted from 1; None: 1 to `depth`. Not for ``random``.
        unjudged: whether unjudged documents may be negatives. Grades below zero are no judgments.
        dropped: whether documents whose judgments were sampled away count as unjudged; else they are no negatives.
    """

    relevance_level: int = 1
    depth: int = 1000
    in_run: bool = True
    negatives: str = "run"
    ranks: Sequence[int] | None = None
    unjudged: bool = True
    dropped: bool = True

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            InputError: a value out of range, or options that contradict each other.
        """
        lookup(NEGATIVES, self.negatives, "source of negatives")
        if self.relevance_level < 1:
            raise InputError("relevance_level must be at least 1", got=self.relevance_level)
        if self.depth < 1:
            raise InputError("depth must be at least 1", got=self.depth)
        if self.ranks is not None and not 1 <= self.ranks[0] <= self.ranks[1]:
            raise InputError("ranks are a first and a last rank, from 1", got=list(self.ranks))
        if self.ranks is not None and self.negatives == "random":
            raise InputError("random negatives have no ranks", got=list(self.ranks), fix="leave ranks out")


@dataclass(frozen=True, slots=True)
class Sources:
    """Sources of candidates.

    Attributes:
        qrels: the judgments to learn from.
        run: the first stage; None only if neither positives nor negatives come from it.
        dropped: judgments that were sampled away, see `longrank.training.judgments`.
        model_run: the run for ``model`` negatives.
        doc_ids: all documents of the collection, for ``random`` negatives.
    """

    qrels: Qrels
    run: Run | None = None
    dropped: Qrels | None = None
    model_run: Run | None = None
    doc_ids: Sequence[str] | None = None


class Candidates(NamedTuple):
    """A query's positives, by id, and its possible negatives, in the order of their source."""

    query_id: str
    positives: tuple[str, ...]
    negatives: Sequence[str]


def find_candidates(
    query_ids: Iterable[str], sources: Sources, options: CandidateOptions, notes: Notes
) -> list[Candidates]:
    """Return the candidates of each judged query, by query_id ascending; if the run is needed, of its queries only.

    Positives or negatives may be empty, see `with_both_sides`.

    Args:
        query_ids: the training queries.
        sources: judgments, runs, collection.
        options: conditions for positives and negatives.
        notes: counts queries without judgments and queries that the run lacks.

    Raises:
        InputError: `sources` lack a run or the collection that is needed.
    """
    if options.in_run and sources.run is None:
        raise InputError("positives that are in the run need a run", fix="or set in_run = false")
    negatives = lookup(NEGATIVES, options.negatives, "source of negatives")(sources, options)
    return [
        Candidates(query_id, _positives(query_id, sources, options), negatives(query_id))
        for query_id in sorted(set(query_ids))
        if _is_known(query_id, sources, options, notes)
    ]


def with_both_sides(candidates: Sequence[Candidates], n_negatives: int, notes: Notes) -> list[Candidates]:
    """Return the queries with a positive and at least `n_negatives` negatives; count the rest.

    Raises:
        InputError: no query is left.
    """
    kept = []
    few = "a document that may be a negative" if n_negatives == 1 else f"{n_negatives} documents that may be negatives"
    for query in candidates:
        if not query.positives:
            notes.add("queries without a relevant document to find, not trained on", query.query_id)
        elif len(query.negatives) < n_negatives:
            notes.add(f"queries without {few}, not trained on", query.query_id)
        else:
            kept.append(query)
    if not kept:
        what = f"none of {len(candidates)} judged queries has a relevant document and {few}"
        fix = "check that run and qrels fit; see relevance_level, depth, in_run, ranks, unjudged and dropped"
        raise InputError(what, about=("run", "qrels"), fix=fix)
    return kept


def _is_known(query_id: str, sources: Sources, options: CandidateOptions, notes: Notes) -> bool:
    if not sources.qrels.get(query_id):
        notes.add("queries without judgments, not trained on", query_id)
        return False
    needs_run = options.in_run or options.negatives == "run"
    if needs_run and (sources.run is None or query_id not in sources.run):
        notes.add("queries that the run lacks, not trained on", query_id)
        return False
    return True


def _positives(query_id: str, sources: Sources, options: CandidateOptions) -> tuple[str, ...]:
    relevant = _relevant(query_id, sources, options)
    if options.in_run and sources.run is not None:
        relevant &= {row.doc_id for row in sources.run[query_id][: options.depth]}
    return tuple(sorted(relevant))


def _relevant(query_id: str, sources: Sources, options: CandidateOptions) -> set[str]:
    return {doc_id for doc_id, grade in sources.qrels[query_id].items() if grade >= options.relevance_level}


def _judged_irrelevant(query_id: str, sources: Sources, options: CandidateOptions) -> set[str]:
    return {doc_id for doc_id, grade in sources.qrels[query_id].items() if 0 <= grade < options.relevance_level}


def _barred(query_id: str, sources: Sources, options: CandidateOptions) -> set[str]:
    """Return the documents that are no negatives: relevant documents, and dropped documents unless allowed."""
    dropped: Mapping[str, int] = {} if options.dropped else (sources.dropped or {}).get(query_id, {})
    return _relevant(query_id, sources, options) | dropped.keys()


class Remaining(Sequence[str]):
    """A long sequence less the items at a few places, not copied: a collection less a query's relevant documents."""

    def __init__(self, items: Sequence[str], places: Collection[int]) -> None:
        self._items = items
        self._n_kept_before = [place - i for i, place in enumerate(sorted(places))]  # of each place left out

    def __len__(self) -> int:
        return len(self._items) - len(self._n_kept_before)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        """Return an item; of a slice, a tuple."""
        kept = range(len(self))[index]
        if isinstance(kept, range):
            return tuple(self[i] for i in kept)
        return self._items[kept + bisect_right(self._n_kept_before, kept)]


# --- where negatives come from -----------------------------------------------------------------

Negatives = Callable[[str], Sequence[str]]
"""query_id -> the documents that may be its negatives."""


def _from_run(sources: Sources, options: CandidateOptions) -> Negatives:
    """Take the first-stage run."""
    if sources.run is None:
        raise InputError("negatives of the run need a run")
    return _ranked(sources.run, sources, options)


def _from_model(sources: Sources, options: CandidateOptions) -> Negatives:
    """Take another run."""
    if sources.model_run is None:
        raise InputError("negatives of a model need its run")
    return _ranked(sources.model_run, sources, options)


def _ranked(run: Run, sources: Sources, options: CandidateOptions) -> Negatives:
    first, last = options.ranks or (1, options.depth)

    def negatives(query_id: str) -> Sequence[str]:
        ranked = (row.doc_id for row in run.get(query_id)[first - 1 : last])
        if not options.unjudged:
            irrelevant = _judged_irrelevant(query_id, sources, options)
            return tuple(doc_id for doc_id in ranked if doc_id in irrelevant)
        barred = _barred(query_id, sources, options)
        return tuple(doc_id for doc_id in ranked if doc_id not in barred)

    return negatives


def _from_collection(sources: Sources, options: CandidateOptions) -> Negatives:
    """Take the whole collection."""
    if not sources.doc_ids:
        raise InputError("random negatives need the ids of the collection")
    doc_ids = sources.doc_ids
    places = {doc_id: place for place, doc_id in enumerate(doc_ids)}

    def negatives(query_id: str) -> Sequence[str]:
        if not options.unjudged:
            return tuple(sorted(places.keys() & _judged_irrelevant(query_id, sources, options)))
        barred = _barred(query_id, sources, options)
        return Remaining(doc_ids, [places[doc_id] for doc_id in barred if doc_id in places])

    return negatives


NEGATIVES: dict[str, Callable[[Sources, CandidateOptions], Negatives]] = {
    "run": _from_run,
    "random": _from_collection,
    "model": _from_model,
}
"""Sources of negatives by name."""
