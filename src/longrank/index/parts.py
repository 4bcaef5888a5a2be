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
from longrank.storage import MANIFEST, digest_of, open_manifest

_AT_ONCE = 1 << 14  # deleted documents whose terms are read at a time
_TF_TYPES = ("<u1", "<u2", "<u4")

Bools = NDArray[np.bool_]
Int64s = NDArray[np.int64]


class Part:
    """A segment with its deleted documents.

    Attributes:
        folder: its data folder.
        meta: the manifest of the data folder.
        options: the options of the build.
        dead: bool[D], True: the document is deleted.
        documents: all documents, deleted documents included.
        postings: terms and postings of all documents.
        forward: terms of each document.
        metadata: metadata of all documents; None if no document has any.
        is_shard: true for a part of an index that was built in parts; see `longrank.index.shards`.
    """

    def __init__(self, folder: Path, meta: dict[str, Any], dead: Bools | None = None) -> None:
        self.folder, self.meta = folder, meta
        if meta.get("tf_type") not in _TF_TYPES:
            what = f"counts of an unknown type ({meta.get('tf_type')!r}); build the index again"
            raise IntegrityError(f"{folder}: {what}")
        if not all(type(meta.get(name)) is int for name in ("n_nonempty", "total_terms")):
            raise IntegrityError(f"{folder}: its manifest has no number of terms; it is damaged: build the index again")
        try:
            self.options = IndexOptions.from_json(meta["options"])
        except (AttributeError, KeyError, TypeError) as error:
            what = f"its options cannot be read ({error}): it is damaged, or of a later version of LongRank"
            raise IntegrityError(f"{folder}: {what}") from None
        self.documents = Documents(folder)
        self.postings, self.forward = Postings(folder, meta["tf_type"]), Forward(folder, meta["tf_type"])
        path = folder / METADATA
        self.metadata = Metadata(path, len(self.documents)) if path.exists() else None
        self.is_shard = False
        self.dead = np.zeros(len(self.documents), np.bool_) if dead is None else dead

    @classmethod
    def open(cls, folder: Path) -> Part:
        """Open a segment of an index.

        Raises:
            InputError, IntegrityError: a file is missing, or of another size; another process may have removed it.
        """
        part = cls(folder, open_manifest(folder))
        if not (folder / MANIFEST).is_file():  # removed meanwhile: files that only some segments have seemed absent
            raise IntegrityError(f"{folder}: missing")
        return part

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

    def dfs(self, numbers: Int64s) -> Int64s:
        """Return the number of living documents with each of these terms of the segment."""
        dfs = self.postings.dfs(numbers)
        return dfs - self._lost[0][numbers] if self._lost else dfs

    def counts(self, numbers: Int64s) -> Int64s:
        """Return the occurrences of each of these terms of the segment in its living documents together."""
        counts = self.postings.counts(numbers)
        return counts - self._lost[1][numbers] if self._lost else counts

    def subtract_lost(self, numbers: Int64s, dfs: Int64s, counts: Int64s) -> None:
        """Subtract what deleted documents have of these terms of the segment; -1: a term that the segment lacks."""
        if self._lost:
            here = np.flatnonzero(numbers >= 0)
            dfs[here] -= self._lost[0][numbers[here]]
            counts[here] -= self._lost[1][numbers[here]]

    @cached_property
    def _lost(self) -> tuple[Int64s, Int64s] | None:
        """(documents with each term, occurrences of each term) of deleted documents, int64[T]; None: no deletion."""
        deleted, n = np.flatnonzero(self.dead), len(self.postings)
        if not len(deleted):
            return None
        dfs, counts = np.zeros((2, n), np.int64)
        for first in range(0, len(deleted), _AT_ONCE):
            terms, tfs = self.forward.gathered(deleted[first : first + _AT_ONCE])
            dfs += np.bincount(terms, minlength=n)
            counts += np.bincount(terms, tfs, minlength=n).astype(np.int64)
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
        IntegrityError: the file is missing or of another size.
    """
    try:
        bits = np.fromfile(path, np.uint8)
    except FileNotFoundError:
        raise IntegrityError(f"{path}: missing") from None
    if len(bits) != (n_docs + 7) // 8:
        raise IntegrityError(f"{path}: {len(bits)} bytes for {n_docs} documents; the file is damaged")
    return np.unpackbits(bits, count=n_docs).astype(np.bool_)
