"""A segment of an index, opened: its files never change, and deleted documents are marked beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.errors import IntegrityError
from longrank.index.documents import Documents
from longrank.index.metadata import NAME as METADATA
from longrank.index.metadata import Metadata
from longrank.index.options import IndexOptions
from longrank.index.postings import Forward, Postings
from longrank.storage import digest_of

_AT_ONCE = 1 << 14  # deleted documents whose terms are read at a time

Bools = NDArray[np.bool_]
Int64s = NDArray[np.int64]


class Part:
    """A segment with its deleted documents.

    Attributes:
        folder: its data folder.
        meta: the manifest of the data folder.
        dead: bool[D], True: the document is deleted.
        documents: all documents, deleted documents included.
        postings: terms and postings of all documents.
        forward: terms of each document.
        metadata: metadata of all documents; None if no document has any.
    """

    def __init__(self, folder: Path, meta: dict[str, Any], dead: Bools | None = None) -> None:
        self.folder, self.meta = folder, meta
        self.documents = Documents(folder)
        self.postings, self.forward = Postings(folder, meta["tf_type"]), Forward(folder, meta["tf_type"])
        path = folder / METADATA
        self.metadata = Metadata(path, len(self.documents)) if path.exists() else None
        self.dead = np.zeros(len(self.documents), np.bool_) if dead is None else dead

    @property
    def options(self) -> IndexOptions:
        """The options of the build."""
        return IndexOptions.from_json(self.meta["options"])

    @property
    def digest(self) -> str:
        """SHA-256 over the content of the segment, without the deletions."""
        return digest_of(self.meta)

    @property
    def n_living(self) -> int:
        """Documents that are not deleted."""
        return len(self.dead) - int(np.count_nonzero(self.dead))

    @property
    def n_nonempty(self) -> int:
        """Living documents with at least one term."""
        return int(self.meta["n_nonempty"]) - int(np.count_nonzero(self.documents.lengths[self.dead]))

    @property
    def total_terms(self) -> int:
        """Occurrences of terms in living documents."""
        return int(self.meta["total_terms"]) - int(self.documents.lengths[self.dead].sum(dtype=np.int64))

    @cached_property
    def living_counts(self) -> tuple[Int64s, Int64s]:
        """(documents with each term, occurrences of each term) of the living documents, int64[T]."""
        numbers = np.arange(len(self.postings))
        dfs, counts = self.postings.dfs(numbers), self.postings.counts(numbers)
        deleted = np.flatnonzero(self.dead)
        for first in range(0, len(deleted), _AT_ONCE):
            vectors = [self.forward.of(number) for number in deleted[first : first + _AT_ONCE].tolist()]
            terms = np.concatenate([terms for terms, _ in vectors])
            tfs = np.concatenate([tfs for _, tfs in vectors])
            dfs -= np.bincount(terms, minlength=len(dfs))
            counts -= np.bincount(terms, tfs, minlength=len(dfs)).astype(np.int64)
        return dfs, counts


def digest_of_parts(parts: Sequence[Part]) -> str:
    """Return the SHA-256 over the content of an index; of a single segment without deletions: its own digest."""
    if len(parts) == 1 and not parts[0].dead.any():
        return parts[0].digest
    return digest_of([[part.digest, hashlib.sha256(packed(part.dead)).hexdigest()] for part in parts])


def packed(dead: Bools) -> bytes:
    """Return deletions as bytes for a file: one bit per document, the first document in the highest bit."""
    return np.packbits(dead).tobytes()


def unpacked(path: Path, n_docs: int) -> Bools:
    """Read the deletions of a segment.

    Raises:
        IntegrityError: the file is of another size.
    """
    bits = np.fromfile(path, np.uint8)
    if len(bits) != (n_docs + 7) // 8:
        raise IntegrityError(f"{path}: {len(bits)} bytes for {n_docs} documents; the file is damaged")
    return np.unpackbits(bits, count=n_docs).astype(np.bool_)
