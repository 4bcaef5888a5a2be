"""The texts of a real collection, and a digest of what an analyzer makes of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from longrank.collections.documents import locate_documents
from longrank.formats.queries import read_queries
from longrank.formats.records import CorpusOptions
from longrank.index import IndexOptions
from longrank.types import Notes

FIELDS = {"cacm": ("raw",)}  # of the others, title and text
COLLECTIONS = ("adi", "cacm", "cranfield", "qmsum", "scifact", "squad-dev-v1.1", "squad-nqg-sentences", "time")


def texts_of(folder: Path) -> dict[str, Iterator[str]]:
    """The texts of the documents, as they are indexed, and of the queries; each in the order of its file."""
    fields = FIELDS.get(folder.name, ("title", "text"))
    options = IndexOptions(index_title="title" in fields, fields=fields)
    documents = locate_documents([str(folder / "docs.jsonl.gz")], Notes(), CorpusOptions(fields=fields))
    queries = read_queries(folder / "queries.jsonl", Notes())
    return {
        "documents": (options.indexed(located.document.title, located.document.text) for located in documents),
        "queries": (query.text for query in queries),
    }


def digest(streams: Iterable[list[str]]) -> dict[str, int | str]:
    """How many texts and terms, and the SHA-256 of the terms in UTF-8, a space between, a line feed after each text."""
    texts = terms = 0
    sha256 = hashlib.sha256()
    for stream in streams:
        texts, terms = texts + 1, terms + len(stream)
        sha256.update((" ".join(stream) + "\n").encode())
    return {"texts": texts, "terms": terms, "sha256": sha256.hexdigest()}
