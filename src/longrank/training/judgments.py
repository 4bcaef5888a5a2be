"""Sample the judgments to train on: deep or shallow (Zhang, Yates and Lin, ECIR 2021).

    deep      some queries, with nearly all their judgments
    shallow   every query, with some of its judgments

Both keep exactly floor(rate * M) of the M judgments. A query keeps the first of its judgments in a seeded order, so a
higher rate keeps nearly all judgments of a lower rate. Judgments for testing are never sampled. Grades below zero are
no judgments: they are neither counted, nor kept, nor dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import zip_longest
from math import ceil, floor
from typing import TYPE_CHECKING, NamedTuple

from longrank.draws import shuffled
from longrank.errors import InputError
from longrank.formats.folds import Fold
from longrank.registries import lookup
from longrank.types import Notes, Qrels

if TYPE_CHECKING:
    from longrank.training.settings import JudgmentSettings


class Sampled(NamedTuple):
    """Judgments to train and choose by, dropped judgments, and folds without the queries that lost all judgments."""

    qrels: Qrels
    dropped: Qrels
    folds: Mapping[str, Fold]


def sample_judgments(
    qrels: Qrels, rate: float, *, scheme: str, seed: int, notes: Notes, folds: Mapping[str, Fold] | None = None
) -> Sampled:
    """Sample the judgments of all train and dev queries.

    `deep` samples queries evenly from the parts that the folds are made of. Do not test by the sample: a query is
    trained on in one fold and tested in another, with all its judgments.

    Args:
        qrels: all judgments.
        rate: r, over 0, at most 1; taken as a decimal number.
        scheme: a name of `SCHEMES`.
        seed: another seed gives other judgments.
        notes: counts queries of the folds without judgments, and judged queries that are in no train or dev list; both
            are left out.
        folds: by name; None: a single part of all queries.

    Returns:
        floor(r * M) of the M judgments of these queries; the dropped judgments; and the folds, their train and dev
        lists without the queries that lost all judgments.

    Raises:
        InputError: unknown scheme, a rate out of range, no judgment left, or a shallow rate that cannot leave every
            query a judgment.
    """
    choose = lookup(SCHEMES, scheme, "scheme of sampling")
    share = Fraction(str(rate)) if 0 < rate <= 1 else None
    if share is None:
        raise InputError("a sampling rate is over 0 and at most 1", got=rate)
    qrels = _judged(qrels)
    parts = _parts(qrels, folds, notes)
    sizes = {query_id: len(qrels[query_id]) for part in parts for query_id in part}
    if floor(share * sum(sizes.values())) < 1:
        raise InputError(
            f"judgments.rate keeps none of the {sum(sizes.values())} judgments", about=("qrels",), got=rate
        )
    kept = choose(parts, sizes, share, seed)
    sampled, dropped = _divided(qrels, {query_id: kept.get(query_id, 0) for query_id in sizes}, seed)
    return Sampled(
        sampled, dropped, {name: fold.among(sampled)._replace(test=fold.test) for name, fold in (folds or {}).items()}
    )


def judgments_to_learn(
    settings: JudgmentSettings | None, qrels: Qrels, folds: Mapping[str, Fold], notes: Notes
) -> Sampled:
    """Return the judgments to learn from: all, unless settings sample them.

    Raises:
        InputError: as `sample_judgments`.
    """
    if settings is None:
        return Sampled(qrels, {}, folds)
    options = settings.model_dump()
    sampled = sample_judgments(qrels, options.pop("rate"), **options, notes=notes, folds=folds)
    kept, dropped = (sum(map(len, side.values())) for side in (sampled.qrels, sampled.dropped))
    notes.say(f"judgments to learn from: {kept} of {kept + dropped}, of {len(sampled.qrels)} queries")
    for query_id in sorted(sampled.dropped.keys() - sampled.qrels.keys()):
        notes.add("queries whose judgments sampling dropped, not trained or validated on", query_id)
    return sampled


def _judged(qrels: Qrels) -> Qrels:
    judged = {query_id: {doc: grade for doc, grade in docs.items() if grade >= 0} for query_id, docs in qrels.items()}
    return {query_id: docs for query_id, docs in judged.items() if docs}


def _parts(qrels: Qrels, folds: Mapping[str, Fold] | None, notes: Notes) -> list[list[str]]:
    """Group the queries to sample from; queries with the same role in every fold are one part."""
    if folds is None:
        return [sorted(qrels)]
    places: dict[str, list[tuple[str, str]]] = {}
    for name, fold in folds.items():
        for role, query_ids in fold._asdict().items():
            for query_id in query_ids:
                places.setdefault(query_id, []).append((name, role))
    parts: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for query_id, roles in sorted(places.items()):
        if not qrels.get(query_id):
            notes.add("queries of the folds without judgments", query_id)
        elif any(role != "test" for _, role in roles):
            parts.setdefault(tuple(roles), []).append(query_id)
    used = {query_id for part in parts.values() for query_id in part}
    for query_id in sorted(qrels.keys() - used):
        notes.add("judged queries that no fold trains or chooses on, left out", query_id)
    return list(parts.values())


def _divided(qrels: Qrels, kept: Mapping[str, int], seed: int) -> tuple[dict[str, dict[str, int]], ...]:
    """Return the kept and the dropped judgments, in the order of `qrels`, without empty queries."""
    sides: tuple[dict[str, dict[str, int]], ...] = ({}, {})
    for query_id, n in ((query_id, kept[query_id]) for query_id in qrels if query_id in kept):
        chosen = set(shuffled(qrels[query_id], seed, query_id)[:n])
        for doc_id, grade in qrels[query_id].items():
            sides[doc_id not in chosen].setdefault(query_id, {})[doc_id] = grade
    return sides


# --- schemes: number of judgments that each query keeps ----------------------------------------


def _deep(parts: Sequence[Sequence[str]], sizes: Mapping[str, int], rate: Fraction, seed: int) -> dict[str, int]:
    """Keep ceil(r * Q) queries of each part, add a query of each while there are too few judgments, then trim.

    Whole rounds over the parts explain the numbers of queries in the samples that the paper's authors released.
    """
    target = floor(rate * sum(sizes.values()))
    orders = [shuffled(part, seed, "query") for part in parts]
    counts = [ceil(rate * len(part)) for part in parts]
    first = zip_longest(*(order[:n] for order, n in zip(orders, counts, strict=True)))
    kept = {query_id: sizes[query_id] for one_of_each in first for query_id in one_of_each if query_id is not None}
    for one_of_each in zip_longest(*(order[n:] for order, n in zip(orders, counts, strict=True))):
        if sum(kept.values()) >= target:
            break
        kept |= {query_id: sizes[query_id] for query_id in one_of_each if query_id is not None}
    return _trimmed(kept, target, list(reversed(kept)))


def _shallow(parts: Sequence[Sequence[str]], sizes: Mapping[str, int], rate: Fraction, seed: int) -> dict[str, int]:
    """Keep ceil(r * D) of the D judgments of every query, then trim."""
    target = floor(rate * sum(sizes.values()))
    if target < len(sizes):
        what = f"{target} judgments cannot leave one to each of {len(sizes)} queries"
        fix = f"shallow sampling needs a rate of {len(sizes)}/{sum(sizes.values())} or more here; deep takes any"
        raise InputError(what, about=("qrels",), got=float(rate), fix=fix)
    return _trimmed(
        {query_id: ceil(rate * sizes[query_id]) for query_id in sizes}, target, shuffled(sizes, seed, "trim")
    )


SCHEMES: dict[str, Callable[[Sequence[Sequence[str]], Mapping[str, int], Fraction, int], dict[str, int]]] = {
    "deep": _deep,
    "shallow": _shallow,
}
"""Schemes of sampling by name."""


def _trimmed(kept: Mapping[str, int], target: int, order: Sequence[str]) -> dict[str, int]:
    """Take a judgment from each query in turn until `target` are left; a query's last judgment only at the end."""
    left, excess = dict(kept), sum(kept.values()) - target
    while excess:
        spare = ([query_id for query_id in order if left[query_id] > 1] or order)[:excess]
        for query_id in spare:
            left[query_id] -= 1
        excess -= len(spare)
    return left
