"""Documents to measure: of an index, of a collection that has not been indexed, or in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from longrank.analysis.collection import Count, words
from longrank.collections.collection import IRDS, Collection, documents_of, open_collection
from longrank.collections.documents import locate_documents, read_documents
from longrank.errors import InputError
from longrank.index import Index, IndexOptions
from longrank.text.analysis import ANALYZERS
from longrank.types import Document, Notes


@dataclass(frozen=True, slots=True)
class Source:
    """Documents to measure, and their units.

    Attributes:
        documents: returns all documents in order; may be called several times.
        counts: unit -> length: ``words``, and ``terms`` as the index, or the default index, counts them.
        queries: the collection, if it has queries.
        qrels: the collection, if it has judgments.
        passage_qrels: the collection, if it has judgments of passages.
        files: returns the files of the documents, which each call of `documents` reads.
    """

    documents: Callable[[], Iterable[Document]]
    counts: dict[str, Count]
    queries: Collection | None = None
    qrels: Collection | None = None
    passage_qrels: Collection | None = None
    files: Callable[[], Sequence[Path]] = list


def open_source(source: Any, notes: Notes) -> Source:
    """Open an index, a collection, or documents in memory, as `read_documents` takes them.

    Args:
        source: an `Index` or its folder, a collection folder, ``irds:ID``, or documents.
        notes: counts remarks on the inputs.

    Raises:
        InputError: none of these, or a dataset without documents.
        IntegrityError: the index is damaged.
        MissingExtra: ir_datasets is asked for and not installed.
    """
    if source == "":  # Path("") would be the current folder
        raise InputError("the name of the source is empty")
    if not isinstance(source, str | Path | Index):
        documents = list(read_documents(source, notes=notes))
        return Source(lambda: documents, {"words": words, "terms": _terms})
    if not isinstance(source, Index) and (str(source).startswith(IRDS) or documents_of(Path(source)) is not None):
        return _of_collection(open_collection(source), notes)
    index = Index.open(source)
    options = index.options
    indexed = {
        "terms include the predicted queries that were indexed with the documents": bool(options.expansions),
        f"terms include the documents' own {options.original_copies} times": options.original_copies > 1,
        f"terms include fields that are no part of the text: {', '.join(options.index_only)}": bool(options.index_only),
        "terms are of texts without titles": not options.title_in_text
        and "title" not in (*options.fields, *options.index_only),
    }
    for note in (note for note, holds in indexed.items() if holds):
        notes.say(note)
    counts: dict[str, Count] = {"words": words, "terms": lambda number, _: int(index.lengths[number])}
    if options.title_in_text:  # a title counts once
        return Source(lambda: (replace(document, title="") for document in index), counts)
    return Source(lambda: index, counts)


def _of_collection(parts: Collection, notes: Notes) -> Source:
    if not parts.sources:
        raise InputError("this dataset has no documents", got=parts.name)
    remarks = iter([notes])  # a second reading counts nothing

    def documents() -> Iterator[Document]:
        for located in locate_documents(parts.sources, next(remarks, Notes())):
            yield located.document

    queries, qrels, passages = (parts if part else None for part in (parts.queries, parts.qrels, parts.passage_qrels))
    counts: dict[str, Count] = {"words": words, "terms": _terms}
    return Source(documents, counts, queries, qrels, passages, parts.document_files)


def _terms(number: int, document: Document) -> int:
    """Return the terms of a document as the default index counts them."""
    return len(ANALYZERS["porter"](IndexOptions().indexed(document.title, document.text)))


def wordpieces(model: str) -> Count:
    """Return a function that counts the wordpieces of a document.

    Raises:
        InputError, MissingExtra: as `wordpiece_counter`.
    """
    from longrank.networks.wordpieces import wordpiece_counter

    count, options = wordpiece_counter(model), IndexOptions()
    return lambda _, document: count(options.indexed(document.title, document.text))
