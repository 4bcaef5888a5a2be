"""A finished index: statistics, postings and documents, all memory-mapped and read-only."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.collections.documents import locate_documents
from longrank.engines import Engine, open_engine
from longrank.errors import InputError
from longrank.formats.expansions import Expansion, read_expansions
from longrank.formats.lines import TextOptions
from longrank.formats.records import CorpusOptions
from longrank.index.arrays import Array
from longrank.index.builder import write_index
from longrank.index.changeable import Changeable
from longrank.index.documents import Slots
from longrank.index.filters import Filter, note_other_kinds
from longrank.index.folder import VECTORS, open_parts, place_of, read_manifest
from longrank.index.languages import Languages, keeping
from longrank.index.living import Readers, readers_of
from longrank.index.living_metadata import Stored, metadata_of
from longrank.index.options import IndexOptions, note_copied
from longrank.index.parts import Part, digest_of_parts
from longrank.index.sources import Recording
from longrank.storage import MANIFEST
from longrank.storage.remote import changing, local
from longrank.text.analysis import ANALYZERS, Analyzer
from longrank.types import Document, Notes, Query, headings_of
from longrank.types.frames import id_of
from longrank.types.pages import HEADINGS


class Index(Changeable):
    """An index: postings, statistics and documents. Documents have ids, and numbers from 0 in the order of reading.

    Attributes:
        path: its folder, absolute; of an index in an object store, a copy in the cache folder.
        place: its folder as it was given, or its address in an object store.
        notes: counts remarks of the build.
        options: the options of the build.
        analyzer: the analysis chain of documents and queries; of documents without a language in a mixed index.
        digest: SHA-256 over the content; builds of equal documents with equal options give equal digests.
        parts: the segments, in the order of their documents.
        n_docs: documents.
        n_nonempty: documents with at least one term; N in BM25.
        total_terms: occurrences of terms.
        inverted: terms and their postings, by number; terms are numbered in their sorted order.
        stored: metadata of the documents; None if no document has any.
    """

    def __init__(self, path: Path | str, *, parts: Sequence[Part] | None = None) -> None:
        """Open the index in the folder `path`, or at an address such as ``s3://bucket/name``.

        The files of an address are fetched into the cache folder, as far as their content is not there yet.
        `parts`: the segments of an earlier state of the folder; None: its newest state.

        Raises:
            InputError: no such folder, or not an index; no connection, bucket or rights, or too little space.
            MissingExtra: s3fs is not installed.
            IntegrityError: a file is missing or of another size, or another version wrote it.
        """
        self.place = place_of(path)
        path = local(self.place)
        read_manifest(path)  # its errors name the path as it was given
        self.path = path = path.absolute()  # the working folder may change
        self.notes = Notes()
        self.parts = open_parts(path) if parts is None else list(parts)
        self.options = self.parts[0].options
        if self.options.analyzer not in ANALYZERS:
            raise InputError("was built with an analyzer that this version lacks", path=path, got=self.options.analyzer)
        self.digest = digest_of_parts(self.parts)
        self.n_nonempty = sum(part.n_nonempty for part in self.parts)
        self.total_terms = sum(part.total_terms for part in self.parts)
        readers: Readers = readers_of(self.parts)
        self._documents, self.inverted, self._forward = readers
        self.n_docs = len(self._documents)
        self.stored = metadata_of(self.parts)

    @classmethod
    def open(cls, index: Index | Path | str) -> Index:
        """Open the index in a folder; an index that is open is returned. Raises as the constructor."""
        return index if isinstance(index, Index) else cls(index)

    @classmethod
    def build(
        cls,
        source: Any,
        folder: Path | str | None = None,
        *,
        corpus: CorpusOptions | None = None,
        analyzer: str = "porter",
        analyzer_field: str = "",
        expansions: str | Path | Sequence[str | Path] = (),
        original_copies: int = 1,
        compress: bool = False,
        notes: Notes | None = None,
        progress: Callable[[int], object] | None = None,
        shards: int = 1,
        workers: int | None = None,
        engine: str | Engine | None = None,
        resources: Mapping[str, float] | str | None = None,
        recording: Recording | None = None,
    ) -> Index:
        """Build an index of documents.

        Args:
            source: a file, a folder, a collection or ``irds:ID``, or a list of these; or an iterable of `Document`,
                mappings with an id, or (id, text) pairs; or a table with a column ``docno``.
            folder: absent, empty, or an index, which is replaced when all is done; or an address such as
                ``s3://bucket/name``, to which the index is uploaded. None: a temporary folder, which is removed with
                the returned index.
            corpus: format, fields and encoding of the documents. The title is always kept, and indexed if it is
                among the fields.
            analyzer: a name in `longrank.text.analysis.ANALYZERS`.
            analyzer_field: metadata field that names the language of each document (``de``, ``pt-BR``, ``german``);
                `analyzer` is for documents without it. Empty: `analyzer` is for all.
            expansions: JSONL files of queries predicted for the documents (doc2query), see
                `longrank.formats.expansions`; they are indexed with the documents, but are no part of the text.
            original_copies: the weight of a document's own text, where a predicted query counts once.
            compress: True: texts are stored compressed, in about a third of the bytes.
            notes: counts remarks on accepted input; the index carries it.
            progress: called now and then with the number of documents just indexed; before that, with the number
                of expansions just read.
            shards: segments of the index, which workers write side by side; 1 to 256. Searches find the same.
            workers: processes to use besides this one, which then only reads; a script that asks for more than 1
                needs the usual ``if __name__ == "__main__"``.
            engine: where the workers run: as of `longrank.engines.open_engine`, as are `workers` and `resources`.
            resources: resources that each worker of a cluster holds, e.g. ``{"CPU": 2}``.
            recording: called with the digest of the index and its ids by the numbers of documents, just before the
                index becomes visible; returns the record of its sources for updates, or None. None: it has none.

        Raises:
            InputError: a fault of a source or an expansion, no document, a doc_id twice, an unknown analyzer or
                language, a language field that no document has, or a folder of something else.
            MissingExtra: an extra for HTML, ir_datasets or compressed texts is needed and not installed.
            LongRankError: writing failed.

        Example:
            >>> len(Index.build([("d1", "Dogs bark."), ("d2", "Cats purr.")]))
            2
        """
        corpus = keeping(corpus or CorpusOptions(), analyzer_field)
        notes = Notes() if notes is None else notes
        note_copied(source, notes, corpus)
        paths = [expansions] if isinstance(expansions, str | Path) else expansions
        predicted = read_expansions(list(map(Path, paths)), notes, TextOptions(limits=corpus.text.limits))
        options = IndexOptions(
            analyzer,
            "title" in corpus.fields and not corpus.title_in_text,
            corpus.fields,
            original_copies,
            index_only=corpus.index_only,
            title_in_text=corpus.title_in_text,
            metadata=corpus.metadata,
            analyzer_field=analyzer_field,
            compressed=compress,
        )
        return build_index(
            locate_documents(source, notes, corpus),
            folder,
            options=options,
            expansions=predicted if paths else None,
            notes=notes,
            progress=progress,
            shards=shards,
            workers=workers,
            engine=engine,
            resources=resources,
            recording=recording,
        )

    def __repr__(self) -> str:
        vectors = f", vectors={self.vectors}" if self.vectors else ""
        return f"Index({str(self.place)!r}, documents={self.n_docs}, terms={self.n_terms}{vectors})"

    @property
    def vectors(self) -> list[str]:
        """The names of the passage vectors that are stored with the index."""
        return sorted(path.parent.name for path in (self.path / VECTORS).glob(f"*/{MANIFEST}"))

    @property
    def analyzer(self) -> Analyzer:
        """The analysis chain of documents and queries; of documents without a language in a mixed index."""
        return ANALYZERS[self.options.analyzer]

    @cached_property
    def _languages(self) -> Languages:
        return Languages(self.options, self.stored, self.n_docs)

    def document_analyzer(self, doc_id: str) -> Analyzer:
        """Return the analyzer of a document, or of a part of it, whose id ends with a blank and the document's id.

        Another text has the analyzer of documents without a language.
        """
        try:
            return self._languages.of_document(self._documents.number(doc_id.rpartition(" ")[2]))
        except KeyError:
            return self.analyzer

    def query_terms(self, query: Query) -> Counter[str]:
        """Return the terms of a query with their numbers of occurrences.

        A mixed index analyses a query by the language in the query's field of the same name as the documents' language
        field. Without it, the query has the terms of all languages of the documents, each with its largest number.

        Raises:
            InputError: the query's language is none.
        """
        return self._languages.query_terms(query)

    @property
    def n_terms(self) -> int:
        """Distinct terms."""
        return len(self.inverted)

    @property
    def lengths(self) -> NDArray[np.uint32]:
        """Terms per document, uint32[D]."""
        return self._documents.lengths

    @property
    def id_ranks(self) -> NDArray[np.uint32]:
        """The place of each document in sorted ids, uint32[D]."""
        return self._documents.id_ranks

    @property
    def id_order(self) -> NDArray[np.uint32]:
        """The documents in the order of their ids, uint32[D]."""
        return self._documents.id_order

    @property
    def slots(self) -> Slots:
        """The slots of documents, in which search adds up scores."""
        return self._documents.slots

    @property
    def avgdl(self) -> float:
        """Mean number of terms of the documents that have any; 0 if none has."""
        return self.total_terms / self.n_nonempty if self.n_nonempty else 0.0

    @cached_property
    def empty_ranks(self) -> NDArray[np.int64]:
        """The `id_ranks` of the documents without terms, ascending."""
        return np.sort(self.id_ranks[self.lengths == 0]).astype(np.int64)

    def __len__(self) -> int:
        return self.n_docs

    def __iter__(self) -> Iterator[Document]:
        """Yield all documents, in the order of reading."""
        return self.documents()

    def __contains__(self, doc_id: object) -> bool:
        try:
            self.number(doc_id)  # type: ignore[arg-type]
        except (KeyError, InputError):
            return False
        return True

    def document(self, doc_id: str, *, metadata: bool = True) -> Document:
        """Return a document.

        Args:
            doc_id: its id.
            metadata: False: leave its metadata out, which take about as long to read as a text.

        Raises:
            KeyError: no such document.
        """
        number = self.number(doc_id)
        return self._completed(number, self._documents.at(number), metadata=metadata)

    def documents(self, *, metadata: bool = True) -> Iterator[Document]:
        """Yield all documents, in the order of reading; `metadata` as of `document`."""
        return (self._completed(number, document, metadata=metadata) for number, document in enumerate(self._documents))

    def _completed(self, number: int, document: Document, *, metadata: bool) -> Document:
        """Return a document with its headings and, if asked for, its metadata."""
        if self.stored is None or not (metadata or self._has_headings):
            return document
        stored = self.stored.of(number)
        return replace(document, metadata=stored if metadata else {}, headings=headings_of(stored))

    @cached_property
    def _has_headings(self) -> bool:
        return self.stored is not None and HEADINGS in self.stored.fields

    def metadata(self, doc_id: str) -> dict[str, Any]:
        """Return the other fields of a document's record as JSON values, or raise KeyError."""
        number = self.number(doc_id)
        return {} if self.stored is None else self.stored.of(number)

    def stored_metadata(self) -> Stored:
        """Return the metadata of all documents.

        Raises:
            InputError: there is none.
        """
        if self.stored is None:
            fix = "no document has other fields than title and text, or an earlier version built it; build it again"
            raise InputError("the index holds no metadata", about=("index",), fix=fix)
        return self.stored

    def mask(self, filter: Filter, notes: Notes | None = None) -> NDArray[np.bool_]:
        """Return bool[D], True for the documents that match a filter; not to be changed.

        Args:
            filter: the filter.
            notes: says if no document matches, or every one: then a value is often misspelt; counts documents whose
                field holds values of other kinds than the filter's.

        Raises:
            InputError: a field that no document has, or values of another type than the documents'.
        """
        stored = self.stored_metadata()
        mask = stored.mask(filter)
        if notes is not None:
            note_other_kinds(filter, stored, notes)
            if mask.all() or not mask.any():
                notes.say(f"{'every' if mask.any() else 'no'} document matches the filter")
        return mask

    def doc_id(self, number: int) -> str:
        """Return the id of the document with this number."""
        return self._documents.doc_id(number)

    def doc_ids(self, numbers: NDArray[np.integer]) -> list[str]:
        """Return the ids of the documents with these numbers."""
        return self._documents.doc_ids(numbers)

    def number(self, doc_id: str) -> int:
        """Return the number of a document.

        Raises:
            KeyError: no such document.
            InputError: neither a string nor an integer.
        """
        return self._documents.number(id_of(doc_id, "doc_id"))

    def terms(self) -> Iterator[str]:
        """Yield all terms, sorted."""
        return iter(self.inverted)

    def df(self, term: str) -> int:
        """Return the number of documents with the term."""
        return self.inverted.df(term)

    def count(self, term: str) -> int:
        """Return the occurrences of the term in the collection."""
        return self.inverted.count(term)

    def postings(self, term: str) -> tuple[NDArray[np.uint32], Array]:
        """Return (document numbers ascending, occurrences in each), unsigned integers [df]."""
        return self.inverted.of(term)

    def term_number(self, term: str) -> int | None:
        """Return the place of a term among all sorted terms; None if no document has it."""
        return self.inverted.number(term)

    def terms_at(self, numbers: NDArray[np.integer]) -> list[str]:
        """Return the terms with these numbers."""
        return self.inverted.strings(numbers)

    def spelled(self, numbers: NDArray[np.integer]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return (the UTF-8 bytes of these terms, one after another; their offsets, int64[n + 1])."""
        return self.inverted.spelled(numbers)

    def dfs(self, numbers: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the number of documents with each of the terms with these numbers."""
        return self.inverted.dfs(numbers)

    def vector(self, number: int) -> tuple[NDArray[np.uint32], Array]:
        """Return (term numbers ascending, occurrences) of the document with this number, both [distinct terms]."""
        return self._forward.of(number)


def build_index(
    documents: Any,
    folder: Path | str | None = None,
    *,
    options: IndexOptions | None = None,
    expansions: Iterable[Expansion] | None = None,
    notes: Notes | None = None,
    progress: Callable[[int], object] | None = None,
    shards: int = 1,
    workers: int | None = None,
    engine: str | Engine | None = None,
    resources: Mapping[str, float] | str | None = None,
    recording: Recording | None = None,
) -> Index:
    """Index documents as `Index.build`, whose options come from values instead of files.

    Args:
        documents: as the source of `Index.build`; read once.
        folder: as for `Index.build`.
        options: analyzer and fields.
        expansions: queries predicted for the documents, which are indexed with them; see `longrank.index.expansions`.
        notes: counts documents without terms, and expansions that fit no document.
        progress: as for `Index.build`.
        shards, workers, engine, resources, recording: as for `Index.build`.

    Raises:
        InputError, MissingExtra, LongRankError: as `Index.build`; expansions of another collection, or whose ids can
            mean two documents; too many `original_copies`.
    """
    notes = Notes() if notes is None else notes
    place = Path(tempfile.mkdtemp(prefix="longrank-index-")) if folder is None else place_of(folder)
    try:
        with (
            changing(place, notes, anew=True) as path,
            open_engine(engine, workers=workers, resources=resources) as opened,
        ):
            write_index(
                documents,
                path,
                options=options or IndexOptions(),
                expansions=expansions,
                notes=notes,
                progress=progress,
                engine=opened,
                shards=shards,
                recording=recording,
            )
        index = Index(place)
    except BaseException:
        if folder is None:
            shutil.rmtree(place, ignore_errors=True)
        raise
    if folder is None:  # removed with the index, at the latest when Python ends
        weakref.finalize(index, _remove, place, os.getpid())
    notes.add("documents without a term, which no query finds", count=index.n_docs - index.n_nonempty)
    index.notes = notes
    return index


def _remove(place: Path | str, process: int) -> None:
    """Remove the folder of a temporary index in the process that built it; a forked process only used it."""
    if os.getpid() == process:
        shutil.rmtree(place, ignore_errors=True)
