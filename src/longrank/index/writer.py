"""Change an index: add, replace and delete documents, and merge segments.

A writer collects new segments and deletions in the work folder of the index. A commit puts them in their places and
replaces the manifest, in one step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from longrank.collections.documents import locate_documents
from longrank.engines import Local
from longrank.errors import InputError
from longrank.formats.records import CorpusOptions
from longrank.index.batches import batches
from longrank.index.folder import SegmentName, open_part, open_parts
from longrank.index.languages import LanguageReader, reading
from longrank.index.locking import building
from longrank.index.merge import merge
from longrank.index.options import IndexOptions, note_copied
from longrank.index.parts import Part, digest_of_parts, packed
from longrank.index.publishing import finish, note_stale_vectors, publish_segments, put_data, put_deletions
from longrank.index.rewriting import write_living
from longrank.index.segments import Segment
from longrank.index.sorted_lists import places_in
from longrank.index.tiers import Size, next_merge
from longrank.index.workers import write_segments
from longrank.storage import verify
from longrank.storage.files import writing_into
from longrank.text.analysis import ANALYZERS
from longrank.types import Notes, id_of


class IndexWriter:
    """Changes of an index that become visible together; made by `Index.writer`.

    Documents keep the order in which they were added. A replaced document counts as deleted and added again, so it
    moves to the end.

    Attributes:
        notes: counts remarks on accepted input.
    """

    def __init__(self, folder: Path, work: Path, notes: Notes) -> None:
        self._folder, self._work, self.notes = folder, work, notes
        self._parts = open_parts(folder)
        self._before = self._state()
        self._options: IndexOptions = self._parts[0].options
        if self._options.analyzer not in ANALYZERS:
            got = self._options.analyzer
            raise InputError("was built with an analyzer that this version lacks", path=folder, got=got)
        ANALYZERS[self._options.analyzer].check()
        self._fresh = (work / f"new-{i:06d}" for i in count())
        self._merge_all = self._ended = False

    def _check_open(self) -> None:
        if self._ended:
            what = "the changes were committed, or their block has ended"
            raise InputError(what, path=self._folder, fix="change the index inside `with index.writer() as writer:`")

    def __contains__(self, doc_id: object) -> bool:
        try:
            return self._find(id_of(doc_id, "doc_id")) is not None
        except InputError:
            return False

    def __len__(self) -> int:
        return sum(part.n_living for part in self._parts)

    def add(
        self,
        documents: Any,
        *,
        replace: bool = False,
        corpus: CorpusOptions | None = None,
        progress: Callable[[int], object] | None = None,
        workers: int = 1,
    ) -> int:
        """Add documents at the end; analyzer and indexed title are those of the index.

        Args:
            documents: as the source of `Index.build`.
            replace: True: a document whose id is in the index replaces that document. False: it is an error.
            corpus: options of reading the documents; fields, texts and metadata are those of the index.
            progress: called now and then with the number of documents just indexed.
            workers: as for `Index.build`.

        Returns:
            The number of documents that were replaced.

        Raises:
            InputError: a fault of the documents, no document, a doc_id twice, or in the index without `replace`;
                `corpus` has other fields, texts or metadata than the index and than its defaults; or the block of
                `Index.writer` has ended.
            MissingExtra, LongRankError: as `Index.build`.
        """
        self._check_open()
        known = self._options
        corpus = reading(known, corpus)
        note_copied(documents, self.notes, corpus)
        located = locate_documents(documents, self.notes, corpus)
        cut = batches(located, LanguageReader(self._options, self.notes).analyzer)
        tasks = ((next(self._fresh), batch, self._options) for batch in cut)
        segments = []
        for segment in write_segments(tasks, Local(workers)):
            if progress:
                progress(segment.n_docs)
            segments.append(segment)
        part = self._merged(sorted(segments))
        old = list(self._common(part))
        if old and not replace:
            _, number, doc_id = old[0]
            fix = "delete it first, or replace it (replace=True, --replace)"
            raise InputError("doc_id is in the index already", path=self._folder, got=doc_id, fix=fix)
        for other, number, _ in old:
            other.dead[number] = True
        self._parts.append(part)
        if known.expansions:
            what = (
                "documents added to an index of predicted queries, without any: build the index again to give them some"
            )
            self.notes.add(what, part.documents.sorted_ids[0].decode(), part.n_living)
        return len(old)

    def delete(self, doc_ids: Iterable[str], *, missing: str = "error") -> int:
        """Delete documents.

        Args:
            doc_ids: ids of documents.
            missing: ``error``: an id that the index lacks is an error; ``ignore``: it is counted in the notes.

        Returns:
            The number of deleted documents.

        Raises:
            InputError: an id that the index lacks, or another value of `missing`; nothing is deleted. Or the block of
                `Index.writer` has ended.
        """
        self._check_open()
        if isinstance(doc_ids, str | bytes | bytearray) or not isinstance(doc_ids, Iterable):
            raise InputError("ids of documents are a list", got=doc_ids, fix=f"give [{doc_ids!r}]")
        if missing not in ("error", "ignore"):
            raise InputError("`missing` must be error or ignore", got=missing)
        found: dict[str, tuple[Part, int]] = {}
        for doc_id in (id_of(value, "doc_id") for value in doc_ids):
            place = self._find(doc_id)
            if place is not None:
                found[doc_id] = place
            elif missing == "error":
                raise InputError("no such document in the index", path=self._folder, got=doc_id)
            else:
                self.notes.add("documents to delete that the index lacks", doc_id)
        for part, number in found.values():
            part.dead[number] = True
        return len(found)

    def merge(self) -> None:
        """Merge all segments when the changes are committed; the files are then those of a new build.

        Raises:
            InputError: the block of `Index.writer` has ended.
        """
        self._check_open()
        self._merge_all = True

    def commit(self, recording: Callable[[str], object] = lambda digest: None) -> None:
        """Make all changes visible in one step; `Index.writer` calls it at the end of its block.

        Nothing can be changed after it.

        Args:
            recording: called with the digest of the changed index, just before the changes become visible.

        Raises:
            InputError: no document would remain.
            IntegrityError: a segment to be merged is damaged; the index stays as it was.
            LongRankError: writing failed.
        """
        if not len(self):
            raise InputError("no document would remain", path=self._folder, fix="keep a document, or build a new index")
        self._ended = True
        self._parts = [part for part in self._parts if part.n_living]
        self._merge()
        if self._state() == self._before:
            return
        names = []
        for part in self._parts:
            data = part.folder
            if data.parent != self._folder:
                data = put_data(finish(part.folder, part.meta), self._folder)
            deleted = put_deletions(self._folder, packed(part.dead)) if part.dead.any() else ""
            names.append(SegmentName(data.name, deleted, part.is_shard))
        self._parts = [open_part(self._folder, name) for name in names]
        recording(digest_of_parts(self._parts))
        publish_segments(self._folder, names)
        note_stale_vectors(self._folder, self.notes)
        self._before, self._merge_all = self._state(), False  # so that the end of the block commits nothing

    def _merge(self) -> None:
        if self._merge_all and (len(self._parts) > 1 or self._parts[0].dead.any()):
            self._parts = [self._rewritten(self._parts)]
        while run := next_merge([Size(part.n_living, len(part.dead), part.is_shard) for part in self._parts]):
            self._parts[slice(*run)] = [self._rewritten(self._parts[slice(*run)])]

    def _rewritten(self, parts: list[Part]) -> Part:
        for part in parts:
            if part.folder.parent == self._folder:
                verify(part.folder)  # the copy gets checksums of its own
        rewritten = self._merged([write_living(part, next(self._fresh)) for part in parts])
        rewritten.is_shard = len(parts) == 1 and parts[0].is_shard
        return rewritten

    def _merged(self, segments: list[Segment]) -> Part:
        """Merge segments of the work folder into a segment of an index."""
        folder = next(self._fresh)
        return Part(folder, merge(segments, folder, self._options))

    def _common(self, part: Part) -> Iterator[tuple[Part, int, str]]:
        """Yield (segment, number, id) of the living documents whose ids a new segment has, too."""
        needles = part.documents.sorted_ids[:]
        for other in self._parts:
            places = places_in(other.documents.sorted_ids, needles)
            for needle, (place, held) in zip(needles, places, strict=True):
                if held and not other.dead[number := int(other.documents.id_order[place])]:
                    yield other, number, needle.decode()

    def _find(self, doc_id: str) -> tuple[Part, int] | None:
        for part in self._parts:
            number = part.documents.find(doc_id)
            if number is not None and not part.dead[number]:
                return part, number
        return None

    def _state(self) -> list[tuple[Path, bytes]]:
        return [(part.folder, np.packbits(part.dead).tobytes()) for part in self._parts]


@contextmanager
def writing(folder: Path, notes: Notes) -> Iterator[IndexWriter]:
    """Lock an index and yield its writer; commit at the end of the block, if no error left it.

    Raises:
        InputError, LongRankError: as `Index.writer`.
    """
    with writing_into(folder), building(folder) as work:
        writer = IndexWriter(folder, work, notes)
        try:
            yield writer
            writer.commit()
        finally:
            writer._ended = True
