"""Methods of an index that change its folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from longrank.index.writer import IndexWriter, writing
from longrank.storage.remote import changing
from longrank.types import Notes


class Changeable:
    """An index whose folder can be changed.

    Attributes:
        path: its folder, absolute; of an index in an object store, a copy in the cache folder.
        place: its folder as it was given, or its address in an object store.
        notes: counts remarks on accepted input.
    """

    path: Path
    place: Path | str
    notes: Notes
    _origin: Self | None = None

    def __init__(self, path: Path | str) -> None:
        raise NotImplementedError

    @property
    def location(self) -> Path | str:
        """Its folder, absolute, or its address in an object store."""
        return self.path if isinstance(self.place, Path) else self.place

    @contextmanager
    def writer(self, notes: Notes | None = None) -> Iterator[IndexWriter]:
        """Lock the index, and yield a writer; its changes become visible together when the block ends.

        The changes apply to the newest state of the index; if it is in an object store, they are uploaded at the end.
        This object, and any other open index, stays as it is: open the index again to see them. An error inside the
        block leaves the index as it was.

        Args:
            notes: counts remarks on accepted input.

        Raises:
            InputError: another process is writing to the index, or the index cannot be written to.
            LongRankError: writing failed.

        Example:
            >>> from longrank.index import Index
            >>> index = Index.build([("d1", "Dogs bark."), ("d2", "Cats purr.")])
            >>> with index.writer() as writer:
            ...     writer.add([("d3", "Cows moo.")])
            ...     writer.delete(["d1"])
            >>> [document.doc_id for document in Index(index.path)]
            ['d2', 'd3']
        """
        notes = self.notes if notes is None else notes
        with changing(self.location, notes) as folder, writing(folder, notes) as writer:
            yield writer

    def add(self, documents: Any, **options: Any) -> Self:
        """Add documents, and return the changed index; arguments and errors of `IndexWriter.add` and `writer`."""
        with self.writer() as writer:
            writer.add(documents, **options)
        return self.opened_again()

    def delete(self, doc_ids: Iterable[str], **options: Any) -> Self:
        """Delete documents, and return the changed index; arguments and errors of `IndexWriter.delete` and `writer`."""
        with self.writer() as writer:
            writer.delete(doc_ids, **options)
        return self.opened_again()

    def merge(self) -> Self:
        """Merge all segments, and return the index, whose files equal those of a new build of its documents.

        Raises:
            InputError, LongRankError: as `writer`.
        """
        with self.writer() as writer:
            writer.merge()
        return self.opened_again()

    def opened_again(self) -> Self:
        """Return the index in its newest state; raises as the class."""
        index = type(self)(self.location)
        index._origin = self  # a temporary folder lives as long as its index
        return index
