"""Compare the documents of files with those that an index holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from longrank.formats.corpora import Located
from longrank.formats.records import CorpusOptions
from longrank.index import Index
from longrank.index.sources import Sources
from longrank.types import Document, Notes


def other_than_stored(
    documents: Iterator[Located], index: Index, corpus: CorpusOptions, changed: set[str]
) -> Iterator[Located]:
    """Yield the documents that the index lacks or holds with other content; `changed` gets the files of the latter."""
    for located in documents:
        if corpus.index_only or not _is_stored(located.document, index):
            if located.document.doc_id in index:
                changed.add(located.path)
            yield located


def noting_replaced(documents: Iterator[Located], index: Index, sources: Sources, notes: Notes) -> Iterator[Located]:
    """Yield documents; count those that replace a document of another command, whose id no file had."""
    known = {doc_id for state in sources.files.values() for doc_id in state.ids}
    for located in documents:
        doc_id = located.document.doc_id
        if doc_id in index and doc_id not in known:
            notes.add("documents that another command had added, replaced by documents of files with their ids", doc_id)
        yield located


def _is_stored(document: Document, index: Index) -> bool:
    if document.doc_id not in index:
        return False
    stored = index.document(document.doc_id)
    parts = (stored.title, stored.text, stored.passages, _exact(index.metadata(document.doc_id)))
    return parts == (document.title, document.text, document.passages, _exact(document.metadata))


def _exact(metadata: Mapping[str, Any]) -> str:
    """Return metadata as text, since 1, 1.0 and true are equal as values, and different to a filter."""
    return json.dumps(metadata, sort_keys=True)
