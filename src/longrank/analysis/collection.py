"""What a collection is like: how long its documents and queries are, how many judgments there are, what is missing.

The tables that papers open with (PARADE, table 1; Birch, tables 1.1 to 1.3). Lengths are of title and text together,
in units that the caller names: words, terms of an index, wordpieces of a model.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from longrank.analysis.distribution import Distribution, distribution
from longrank.draws import digest
from longrank.errors import InputError
from longrank.types import Document, Qrels, Query

Count: TypeAlias = Callable[[int, Document], int]
"""Takes a document and its place among all, from 0; returns its length in some unit."""

Lengths: TypeAlias = Mapping[str, int]
"""unit -> length of one document."""


@dataclass(frozen=True, slots=True)
class Documents:
    """All documents.

    Attributes:
        n: how many.
        empty: those without a single word.
        lengths: unit -> how the lengths are distributed.
    """

    n: int
    empty: int
    lengths: Mapping[str, Distribution]


@dataclass(frozen=True, slots=True)
class Queries:
    """All queries.

    Attributes:
        n: how many.
        judged: those that have judgments; None if there are no judgments.
        words: how many words they have.
    """

    n: int
    judged: int | None
    words: Distribution


@dataclass(frozen=True, slots=True)
class Example:
    """A judged document that was drawn: the same for the same seed and judgments.

    `lengths` are those of the document.
    """

    grade: int
    query_id: str
    doc_id: str
    lengths: Lengths


@dataclass(frozen=True, slots=True)
class Judgments:
    """All judgments. Grades below zero, which mean "not judged", are counted in `grades` alone.

    Attributes:
        n: how many.
        level: lowest grade that is relevant.
        relevant: how many are of a relevant document.
        grades: grade -> judgments.
        per_query: how many judgments the judged queries have.
        relevant_per_query: how many relevant documents they have.
        without_relevant: judged queries that have no relevant document.
        missing: judged documents that are not in the collection, in the order of the judgments.
        of_missing: judgments of those.
        unknown: judged queries that are not among the queries; None if there are no queries.
        examples: one for each grade, ascending, where the collection has a document of it.
    """

    n: int
    level: int
    relevant: int
    grades: Mapping[int, int]
    per_query: Distribution
    relevant_per_query: Distribution
    without_relevant: int
    missing: tuple[str, ...]
    of_missing: int
    unknown: tuple[str, ...] | None
    examples: tuple[Example, ...]


def words(number: int, document: Document) -> int:
    """Return the words of a document, runs of anything but white space, those of its title included."""
    return len(document.title.split()) + len(document.text.split())


def measured(
    documents: Iterable[Document], counts: Mapping[str, Count], kept: Collection[str]
) -> tuple[Documents, dict[str, Lengths]]:
    """Measure documents, one after the other, in memory of a few bytes each.

    Args:
        documents: all of them.
        counts: unit -> how to count it.
        kept: ids of documents whose lengths are wanted one by one.

    Returns:
        What there is to say of all; doc_id -> lengths of those of `kept` that are there.

    Raises:
        InputError: no document at all.
    """
    columns = {unit: array("q") for unit in counts}
    found: dict[str, Lengths] = {}
    empty = 0
    for number, document in enumerate(documents):
        lengths = {unit: count(number, document) for unit, count in counts.items()}
        for unit, length in lengths.items():
            columns[unit].append(length)
        if document.doc_id in kept:
            found[document.doc_id] = lengths
        empty += not (document.text.strip() or document.title.strip())
    n = len(next(iter(columns.values())))
    if n == 0:
        raise InputError("there is no document to measure")
    return Documents(n, empty, {unit: distribution(column) for unit, column in columns.items()}), found


def asked(queries: Sequence[Query], qrels: Qrels | None) -> Queries:
    """Return what there is to say of queries, one or more."""
    judged = None if qrels is None else sum(query.query_id in qrels for query in queries)
    return Queries(len(queries), judged, distribution([len(query.text.split()) for query in queries]))


def judged_documents(qrels: Qrels) -> frozenset[str]:
    """Return the documents that any query has a judgment of."""
    return frozenset(doc_id for judged in qrels.values() for doc_id in judged)


def judgments(
    qrels: Qrels, found: Mapping[str, Lengths], queries: Sequence[Query] | None, *, level: int = 1, seed: int = 42
) -> Judgments:
    """Return what there is to say of judgments.

    Args:
        qrels: the judgments, one at least.
        found: doc_id -> lengths of the judged documents that the collection has, see `measured`.
        queries: all queries, if they are known.
        level: lowest grade that is relevant.
        seed: another seed draws other examples.
    """
    grades = Counter(grade for judged in qrels.values() for grade in judged.values())
    relevant = {query_id: sum(grade >= level for grade in judged.values()) for query_id, judged in qrels.items()}
    missing = Counter(
        doc_id for judged in qrels.values() for doc_id, grade in judged.items() if grade >= 0 and doc_id not in found
    )
    known = None if queries is None else {query.query_id for query in queries}
    return Judgments(
        n=sum(n for grade, n in grades.items() if grade >= 0),
        level=level,
        relevant=sum(relevant.values()),
        grades=dict(sorted(grades.items())),
        per_query=distribution([sum(grade >= 0 for grade in judged.values()) for judged in qrels.values()]),
        relevant_per_query=distribution(list(relevant.values())),
        without_relevant=sum(n == 0 for n in relevant.values()),
        missing=tuple(missing),
        of_missing=missing.total(),
        unknown=None if known is None else tuple(query_id for query_id in qrels if query_id not in known),
        examples=tuple(_examples(qrels, found, seed)),
    )


def _examples(qrels: Qrels, found: Mapping[str, Lengths], seed: int) -> Iterable[Example]:
    """Yield of each grade the judgment that is drawn: the one whose digest is lowest."""
    drawn: dict[int, tuple[bytes, str, str]] = {}
    for query_id, judged in qrels.items():
        for doc_id, grade in judged.items():
            if grade >= 0 and doc_id in found:
                this = digest(seed, "example", query_id, doc_id), query_id, doc_id
                drawn[grade] = min(this, drawn.get(grade, this))
    for grade, (_, query_id, doc_id) in sorted(drawn.items()):
        yield Example(grade, query_id, doc_id, found[doc_id])
