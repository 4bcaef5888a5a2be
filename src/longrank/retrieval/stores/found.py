"""Documents that a store returns for a query, and the first stage that ranks by its scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from longrank.errors import InputError
from longrank.formats.composing import Composer
from longrank.formats.records import CorpusOptions, Record
from longrank.registries import check_at_least
from longrank.retrieval.noting import Noting
from longrank.text.words import readable
from longrank.types import Document, Notes, Query, Run, ScoredDoc

_CLEAR = 6  # scores in a random order grow so far in 1 of 720 answers
_OPTIONS = CorpusOptions(ignore_passages=True)


class SeveralTexts(InputError):
    """The id of a document does not select a text."""


class Found(NamedTuple):
    """A document as the store has it, with metadata, and its score in the store's unit."""

    document: Document
    score: float


class Store(Protocol):
    """A store of documents that finds candidates itself; safe to call from several threads.

    Attributes:
        analyzer: name of the analysis chain of its texts, for scorers and marks that read words.
    """

    analyzer: str

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        """Check the settings, which the file `path` holds."""
        ...

    def search(self, query: Query, k: int, notes: Notes) -> list[Found]:
        """Return at most `k` documents, in the store's order, each id once.

        Args:
            query: the query.
            k: number of documents.
            notes: counts documents with an empty text, ids that come twice, and all else about this search alone.

        Raises:
            InputError: the store cannot be reached, refuses the query, or lacks a field of the settings.
        """
        ...

    def documents(self, doc_ids: Sequence[str], notes: Notes) -> list[Document]:
        """Return the documents with these ids; ids that the store lacks are left out. `notes`, raises: as `search`."""
        ...


class StoreRetriever(Noting):
    """Ranks by the scores of a store, one query after another.

    Attributes:
        store: the store.
        notes: notes of the retriever.
    """

    def __init__(self, store: Store, notes: Notes) -> None:
        self.store, self.notes = store, notes

    def retrieve(self, query: Query, k: int) -> list[ScoredDoc]:
        """Return at most `k` documents, best first, ties by doc_id descending.

        Raises:
            InputError: `k` is below 1; or as `Store.search`.
        """
        check_at_least("k", k, 1)
        return list(run_of(query, self.store.search(query, k, self.notes)).get(query.query_id))


def run_of(query: Query, found: Sequence[Found], tag: str = "") -> Run:
    """Return the ranking of a query as a run."""
    return Run(tag, [ScoredDoc(query.query_id, item.document.doc_id, item.score) for item in found])


def documents_of(records: Iterable[Record], place: Path, notes: Notes) -> list[Document]:
    """Return records as documents.

    Args:
        records: ids and values; ``title`` and ``text`` are title and text, all others metadata.
        place: the store, for messages.
        notes: counts documents with an empty text.

    Raises:
        InputError: a record without a text.
        SeveralTexts: several records with an id.
    """
    composer, documents = Composer(_OPTIONS), dict[str, Document]()
    for record in records:
        if record.doc_id in documents:
            fix = "store each document as one text, or search the store instead of reranking a run"
            raise SeveralTexts("the store has several texts with this id", path=place, got=record.doc_id, fix=fix)
        values = {name: readable(value) if isinstance(value, str) else value for name, value in record.values.items()}
        documents[record.doc_id] = composer.document(record._replace(values=values), place, notes)
    return list(documents.values())


def scored(rows: Sequence[tuple[Record, Any]], place: Path, notes: Notes) -> list[Found]:
    """Return records with their scores as found documents; if none has a score, the scores are 1 / rank.

    The first record of an id stays; others are counted.

    Raises:
        InputError: as `documents_of`, a score that is missing beside others, or not a finite number, or scores of
            several documents that grow from the first to the last: distances.
    """
    has_scores = any(score is not None for _, score in rows)
    first, scores = dict[str, Record](), dict[str, float]()
    for rank, (record, score) in enumerate(rows, 1):
        if first.setdefault(record.doc_id, record) is not record:
            notes.add("documents that the store returned twice, counted once", f"document {record.doc_id}")
            continue
        scores[record.doc_id] = _number(score, record.doc_id, place) if has_scores else 1 / rank
    _check_order(list(scores.values()), place, notes)
    documents = documents_of(first.values(), place, notes)
    return [Found(document, scores[document.doc_id]) for document in documents]


def _check_order(scores: Sequence[float], place: Path, notes: Notes) -> None:
    """Check that scores, in the store's order, do not contradict it: documents are ranked by their scores.

    Raises:
        InputError: they never fall, and `_CLEAR` of them or more are different.
    """
    grows = [after > before for before, after in pairwise(scores)]
    if sum(grows) >= _CLEAR - 1 and list(scores) == sorted(scores):  # documents of equal text have equal distances
        what = "the scores grow from the first document to the last, as distances do"
        raise InputError(what, path=place, fix="return scores that fall, such as 1 / (1 + distance), or none")
    if any(grows):
        notes.add("queries whose documents the store orders otherwise than by their scores, ranked by the scores")


def _number(score: Any, doc_id: str, place: Path) -> float:
    try:
        number = float(score)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        fix = "return a score for each document, or for none"
        raise InputError(f"the score of document {doc_id!r} is not a finite number", path=place, got=score, fix=fix)
    return number
