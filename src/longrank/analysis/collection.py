"""Statistics of a collection: lengths of documents and queries, judgments, and missing documents.

As in PARADE, table 1, and Birch, tables 1.1 to 1.3. Lengths are of title and text together, in units of the caller:
words, terms of an index, wordpieces of a model.
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
"""(place of a document from 0, document) -> its length in a unit."""

Lengths: TypeAlias = Mapping[str, int]
"""unit -> length of a document."""


@dataclass(frozen=True, slots=True)
class Documents:
    """Statistics of all documents.

    Attributes:
        n: number of documents.
        empty: documents without text.
        lengths: unit -> distribution of the lengths.
    """

    n: int
    empty: int
    lengths: Mapping[str, Distribution]


@dataclass(frozen=True, slots=True)
class Queries:
    """Statistics of all queries.

    Attributes:
        n: number of queries.
        judged: queries with judgments, grades below zero apart; None if there are no judgments.
        words: distribution of their words.
    """

    n: int
    judged: int | None
    words: Distribution


@dataclass(frozen=True, slots=True)
class Example:
    """A judged document, drawn at random: the same for the same seed and judgments.

    `lengths` are the document's.
    """

    grade: int
    query_id: str
    doc_id: str
    lengths: Lengths


@dataclass(frozen=True, slots=True)
class Judgments:
    """Statistics of all judgments. Grades below zero mean "not judged" and are counted in `grades` alone.

    Attributes:
        n: number of judgments.
        level: lowest relevant grade.
        relevant: judgments of relevant documents.
        grades: grade -> number of judgments.
        per_query: distribution of the judgments of a judged query.
        relevant_per_query: distribution of the relevant documents of a judged query.
        without_relevant: judged queries without a relevant document.
        missing: judged documents that the collection lacks, in the order of the judgments.
        of_missing: judgments of missing documents.
        unknown: judged queries without text; None if there are no queries.
        examples: an example of each grade that the collection has, ascending.
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
    """Return the number of words of a document, title included: runs of anything but white space."""
    return len(document.title.split()) + len(document.text.split())


def measured(
    documents: Iterable[Document], counts: Mapping[str, Count], kept: Collection[str]
) -> tuple[Documents, dict[str, Lengths]]:
    """Measure documents, one after the other, in memory of a few bytes each.

    Args:
        documents: all documents.
        counts: unit -> function that counts it.
        kept: ids of documents whose own lengths are returned, too.

    Returns:
        Statistics of all documents; doc_id -> lengths of the documents of `kept`.

    Raises:
        InputError: there is no document.
    """
    columns = {unit: array("q") for unit in counts}
    lengths_of: dict[str, Lengths] = {}
    empty = 0
    for number, document in enumerate(documents):
        lengths = {unit: count(number, document) for unit, count in counts.items()}
        for unit, length in lengths.items():
            columns[unit].append(length)
        if document.doc_id in kept:
            lengths_of[document.doc_id] = lengths
        empty += not (document.text.strip() or document.title.strip())
    n = len(next(iter(columns.values())))
    if n == 0:
        raise InputError("there is no document to measure", about=("source",))
    return Documents(n, empty, {unit: distribution(column) for unit, column in columns.items()}), lengths_of


def query_statistics(queries: Sequence[Query], qrels: Qrels | None) -> Queries:
    """Return statistics of one query or more."""
    judged = None if qrels is None else len(_judged(qrels).keys() & {query.query_id for query in queries})
    return Queries(len(queries), judged, distribution([len(query.text.split()) for query in queries]))


def _judged(qrels: Qrels) -> dict[str, dict[str, int]]:
    """Return the judgments of each judged query: without grades below zero."""
    judged = {q: {doc_id: grade for doc_id, grade in grades.items() if grade >= 0} for q, grades in qrels.items()}
    return {query_id: grades for query_id, grades in judged.items() if grades}


def judged_documents(qrels: Qrels) -> frozenset[str]:
    """Return all judged documents."""
    return frozenset(doc_id for judged in qrels.values() for doc_id in judged)


def judgments(
    qrels: Qrels, lengths_of: Mapping[str, Lengths], queries: Sequence[Query] | None, *, level: int = 1, seed: int = 42
) -> Judgments:
    """Return statistics of judgments.

    Args:
        qrels: at least one judgment.
        lengths_of: doc_id -> lengths of the judged documents that the collection has, see `measured`.
        queries: all queries, if known.
        level: lowest relevant grade.
        seed: another seed draws other examples.
    """
    grades = Counter(grade for judged in qrels.values() for grade in judged.values())
    queries_judged = _judged(qrels)
    relevant = [sum(grade >= level for grade in judged.values()) for judged in queries_judged.values()]
    missing = Counter(doc_id for judged in queries_judged.values() for doc_id in judged if doc_id not in lengths_of)
    known = None if queries is None else {query.query_id for query in queries}
    return Judgments(
        n=sum(n for grade, n in grades.items() if grade >= 0),
        level=level,
        relevant=sum(relevant),
        grades=dict(sorted(grades.items())),
        per_query=distribution([len(judged) for judged in queries_judged.values()] or [0]),
        relevant_per_query=distribution(relevant or [0]),
        without_relevant=sum(n == 0 for n in relevant),
        missing=tuple(missing),
        of_missing=missing.total(),
        unknown=None if known is None else tuple(query_id for query_id in queries_judged if query_id not in known),
        examples=tuple(_examples(qrels, lengths_of, seed)),
    )


def _examples(qrels: Qrels, lengths_of: Mapping[str, Lengths], seed: int) -> Iterable[Example]:
    """Yield an example of each grade: the judgment with the lowest digest."""
    drawn: dict[int, tuple[bytes, str, str]] = {}
    for query_id, judged in qrels.items():
        for doc_id, grade in judged.items():
            if grade >= 0 and doc_id in lengths_of:
                this = digest(seed, "example", query_id, doc_id), query_id, doc_id
                drawn[grade] = min(this, drawn.get(grade, this))
    for grade, (_, query_id, doc_id) in sorted(drawn.items()):
        yield Example(grade, query_id, doc_id, lengths_of[doc_id])
