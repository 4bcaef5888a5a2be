"""Compare the documents of a database with those of the last time: by a digest of all of them, in their order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from longrank.collections.databases import is_address
from longrank.collections.documents import locate_in_files
from longrank.formats.corpora import Located
from longrank.formats.metadata import json_text
from longrank.formats.records import CorpusOptions
from longrank.index.sources import SourceState
from longrank.types import Notes


class RowsDigest:
    """Digest of the documents of a database, while they stream by."""

    def __init__(self) -> None:
        self._n_documents, self._sha256 = 0, hashlib.sha256()

    def add(self, located: Located) -> None:
        """Add the next document."""
        doc = located.document
        parts = [doc.doc_id, doc.title, doc.text, json_text(doc.metadata), located.expansion]
        parts += [f"{start} {end}" for start, end in doc.passages]
        raw = [part.encode("utf-8", "surrogatepass") for part in parts]
        self._sha256.update(b"".join(b"%d:%s" % (len(part), part) for part in raw) + b"\n")
        self._n_documents += 1

    def state(self, address: str) -> SourceState:
        """Return the state of the database for the record of sources: the documents in place of bytes, no time."""
        return SourceState(address, self._n_documents, 0, self._sha256.hexdigest())


def digested(documents: Iterable[Located], digests: dict[str, RowsDigest]) -> Iterator[Located]:
    """Yield documents; add those of databases to `digests`, by address."""
    path, digest = None, None
    for located in documents:
        if located.path != path:
            path = located.path
            digest = digests.setdefault(path, RowsDigest()) if is_address(path) else None
        if digest is not None:
            digest.add(located)
        yield located


def rows_state(address: str, corpus: CorpusOptions) -> SourceState:
    """Run the query of a database and return the present state of its documents.

    Raises:
        InputError, MissingExtra: as `longrank.collections.read_documents`; there may be no document.
    """
    digest = RowsDigest()
    for located in locate_in_files([address], Notes(), corpus):
        digest.add(located)
    return digest.state(address)
