"""Build an index with a record of its source files, and update it when files change: ``longrank index --update``."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from longrank.collections.collection import IRDS, is_folder
from longrank.collections.databases import is_address, shown_source
from longrank.collections.documents import locate_documents, locate_in_files, places_of
from longrank.collections.files import files_of
from longrank.collections.patterns import absolute_pattern, is_pattern, matching
from longrank.errors import InputError, LongRankError
from longrank.formats.corpora import Located
from longrank.formats.records import CorpusOptions
from longrank.index import Index
from longrank.index.languages import keeping
from longrank.index.sources import Sources, SourceState, read_sources, write_sources
from longrank.index.writer import IndexWriter
from longrank.storage.remote import changing
from longrank.types import Document, Notes
from longrank.verbs.rows_digest import RowsDigest, digested, rows_state

_IDS = 1 << 14  # ids read at a time


class Changes(NamedTuple):
    """Result of an update.

    Attributes:
        new: files that the index did not know.
        changed: files with other content.
        vanished: files that are gone.
        added: documents added, replaced documents included.
        deleted: documents deleted, replaced documents included.
    """

    new: list[str]
    changed: list[str]
    vanished: list[str]
    added: int = 0
    deleted: int = 0


def build_from_files(
    sources: Iterable[str | Path], folder: Path | str, *, corpus: CorpusOptions, notes: Notes, **options: Any
) -> Index:
    """Build an index as `Index.build`, and record the sources if all are files, folders and databases.

    Args:
        sources: files, folders, databases, collections or ``irds:ID``.
        folder: as for `Index.build`.
        corpus: format, fields and encoding of the documents.
        notes: counts remarks on accepted input.
        options: further options of `Index.build`.

    Raises:
        InputError, MissingExtra, LongRankError: as `Index.build`.
    """
    with changing(folder, notes, anew=True) as local:
        _build(sources, local, corpus=corpus, notes=notes, **options)
    index = Index(folder)
    index.notes = notes
    return index


def _build(sources: Iterable[str | Path], folder: Path, *, corpus: CorpusOptions, notes: Notes, **options: Any) -> None:
    corpus = keeping(corpus, options.get("analyzer_field", ""))
    given = [str(source) for source in sources]
    places, names = places_of(given), tuple(name for source in given for name in recorded(source))
    files = _listed(places, corpus)
    runs: list[tuple[str, int]] = []
    digests: dict[str, RowsDigest] = {}
    visited: dict[str, bool] = {}
    located = locate_documents(list(places), notes, _telling(corpus, visited))
    index = Index.build(_counted(digested(located, digests), runs), folder, corpus=corpus, notes=notes, **options)
    if files is not None:
        _mark_unread(files, files, visited, {})
        files |= {path: digest.state(path) for path, digest in digests.items()}
        end = 0
        for path, n in runs:
            state = files.get(absolute(path))
            if state is not None:
                cuts = [*range(end, end + n, _IDS), end + n]
                ids = (doc_id for a, b in pairwise(cuts) for doc_id in index.doc_ids(np.arange(a, b)))
                files[state.path] = state._replace(ids=(*state.ids, *ids))
            end += n
        with _telling_state("the index is valid, but updates need this record: build the index again"):
            write_sources(folder, Sources(names, corpus, files, index.digest))


def _telling(corpus: CorpusOptions, visited: dict[str, bool], only: frozenset[Path] | None = None) -> CorpusOptions:
    """Return options with which `visited` gets the files that are read, and whether they could be read.

    Args:
        corpus: the options.
        visited: absolute path -> False: the file was skipped.
        only: the files to read; None: all.
    """

    def visit(path: Path, whole: bool) -> None:
        visited[absolute(str(path))] = whole

    return replace(corpus, files=replace(corpus.files, visited=visit, only=only))


def _mark_unread(
    files: dict[str, SourceState], paths: Iterable[str], visited: Mapping[str, bool], before: Mapping[str, SourceState]
) -> None:
    """Mark files that the next update reads: they were away when documents were read, or could not be read.

    A file that could not be read in two updates counts as read: the cause lies in its content.

    Args:
        files: files as they were listed; gets the marks.
        paths: the files to read.
        visited: files that were read, and whether they could be read.
        before: the record of the last update.
    """
    for path in [path for path in paths if not is_address(path) and not visited.get(path, False)]:
        mark = f"unread {files[path].sha256}"
        if path not in visited or path not in before or before[path].sha256 != mark:
            files[path] = SourceState(path, -1, 0, mark, files[path].ids)


@contextmanager
def _telling_state(state: str) -> Iterator[None]:
    """Add to the message of a failed write what stands."""
    try:
        yield
    except LongRankError as error:
        raise LongRankError(f"{error}; {state}") from error


def absolute(place: str) -> str:
    """Return the absolute path of a file or folder, or the address of a database, as a record names it."""
    if is_address(place):
        return shown_source(place)
    return os.path.abspath(place) if place else place  # noqa: PTH100 - links stay links


def recorded(source: str) -> tuple[str, ...]:
    """Return the names of a source in a record; a pattern stays a pattern, since later files may match it."""
    if not is_address(source) and is_pattern(source):
        return (absolute_pattern(source),)
    return tuple(map(absolute, places_of([source])))


def _places_now(sources: Sources, index: Path) -> list[str]:
    """Return the sources with the files and folders that match patterns now, without the index itself.

    A file or folder of the last time is no pattern, even if it is gone.
    """
    places: list[str] = []
    for place in sources.places:
        if (
            is_address(place)
            or not is_pattern(place)
            or any(Path(file).is_relative_to(place) for file in sources.files)
        ):
            places.append(place)
        else:
            places += [path for path in matching(place) if Path(path).resolve() != index.resolve()]
    return places


def _listed(places: Iterable[str], corpus: CorpusOptions) -> dict[str, SourceState] | None:
    """Return the present state of all files of the sources; None if there is a pipe, a dataset or a fault.

    The build, which reads the files, reports faults.
    """
    places = [place for place in places if not is_address(place)]
    if any(place.startswith(IRDS) or not (Path(place).is_file() or is_folder(Path(place))) for place in places):
        return None
    quiet = replace(corpus, files=replace(corpus.files, skipped=None, visited=None))
    try:
        files = [
            (absolute(str(file.path)), format) for place in places for file, format in files_of(place, quiet, Notes())
        ]
        return {path: _state(Path(path), format, None) for path, format in files}
    except (InputError, OSError):
        return None


def _counted(documents: Iterator[Located], runs: list[tuple[str, int]]) -> Iterator[Located]:
    """Yield documents; count them in `runs`, file by file."""
    for located in documents:
        if runs and runs[-1][0] == located.path:
            runs[-1] = (located.path, runs[-1][1] + 1)
        else:
            runs.append((located.path, 1))
        yield located


def update(
    index: Index | str | Path,
    *,
    dry_run: bool = False,
    notes: Notes | None = None,
    progress: Callable[[int], object] | None = None,
    workers: int = 1,
) -> Changes:
    """Bring an index up to date with the files and databases that it was built from, in one step.

    Files are compared by size and time of modification, and, if these differ, by content. The query of a database is
    run, and its documents are compared with those of the last time. Documents of vanished files
    are deleted. Documents of new and changed files are added; a document that is the same as before stays as it is.

    Args:
        index: an index that `build_from_files` or ``longrank index`` built, or its folder or address. The record of
            files stays on the machine that built it.
        dry_run: True: compare the files only.
        notes: counts remarks on accepted input.
        progress: called now and then with the number of documents just indexed.
        workers: as for `Index.build`.

    Raises:
        InputError: no such index, no record of its files, a source is gone, a fault of a file, or another process
            is writing to the index.
        LongRankError: writing failed.
    """
    notes = Notes() if notes is None else notes
    with changing(index.location if isinstance(index, Index) else index, notes) as folder:
        return _updated(folder, dry_run=dry_run, notes=notes, progress=progress, workers=workers)


def _updated(
    folder: Path, *, dry_run: bool, notes: Notes, progress: Callable[[int], object] | None, workers: int
) -> Changes:
    index, sources = Index(folder), read_sources(folder)
    now = _now(sources, folder)
    changes = _compared(sources.files, now)
    if dry_run:
        if sources.digest not in (None, index.digest):
            notes.say(
                "another command has changed the index since its last update: an update compares all files with it"
            )
        return changes
    if now == sources.files and sources.digest in (None, index.digest):
        return changes
    with Index(folder).writer(notes) as writer:
        if (newest := read_sources(folder)) != sources:  # another update has ended meanwhile
            sources, now = newest, _now(newest, folder)
            changes = _compared(sources.files, now)
        index = Index(folder)
        read = _to_read(sources, changes, now, index, notes)
        if read or changes.vanished:
            changes = _apply(writer, index, sources, changes, now, read=read, progress=progress, workers=workers)
            write_sources(folder, _begun(sources, read, now))
            writer.commit()
        with _telling_state("the index is up to date; the next update compares these files again"):
            write_sources(folder, sources._replace(files=now, digest=Index(folder).digest))
    return changes


def _to_read(
    sources: Sources, changes: Changes, now: dict[str, SourceState], index: Index, notes: Notes
) -> Sequence[str]:
    """Return the files to read: new and changed files; all, if another command has changed the index meanwhile.

    Without stored texts, documents cannot be compared: then all files of which the index lacks a document.
    """
    read = [*changes.new, *changes.changed]
    if sources.digest in (None, index.digest):
        return read
    if sources.digest:
        notes.say("another command has changed the index since its last update: all files were compared with it")
    if sources.corpus.index_only:
        lacking = (path for path, state in now.items() if any(doc_id not in index for doc_id in state.ids))
        return sorted({*read, *lacking})
    return sorted(now)


def _begun(sources: Sources, read: Iterable[str], now: dict[str, SourceState]) -> Sources:
    """Return the record of an update that a crash may leave on either side of its commit.

    The files of the update count as changed next time, and their documents of both states as theirs: a document of a
    file that vanishes before then is deleted, too.
    """
    files = dict(sources.files)
    for path in read:
        before = files[path].ids if path in files else ()
        files[path] = SourceState(path, -1, 0, "", tuple(dict.fromkeys((*before, *now[path].ids))))
    return sources._replace(files=files, digest="")


def _now(sources: Sources, index: Path) -> dict[str, SourceState]:
    """Return the present state of the sources' files; ids are those of the record."""
    folders = [place for place in _places_now(sources, index) if not is_address(place)]
    listed = [(file.path, format) for place in folders for file, format in files_of(place, sources.corpus, Notes())]
    known = sources.files
    states: dict[str, SourceState] = {}
    for path, format in listed:
        with suppress(FileNotFoundError, NotADirectoryError):  # gone since it was listed
            states[str(path)] = _state(path, format, known.get(str(path)))
    for place in filter(is_address, sources.places):
        states[place] = rows_state(place, sources.corpus)
        if place in known:
            states[place] = states[place]._replace(ids=known[place].ids)
    return states


def _state(path: Path, format: str, known: SourceState | None) -> SourceState:
    """Return the present state of a file; of the table of a CORD-19 release, with the states of its full texts."""
    if format != "cord19":
        return SourceState.of(path) if known is None else known.now()
    table, texts = SourceState.of(path), hashlib.sha256()
    for text in sorted(path.parent.rglob("*.json")):
        status = text.stat()
        texts.update(f"{text.relative_to(path.parent)} {status.st_size} {status.st_mtime_ns}\n".encode())
    ids = () if known is None else known.ids
    return table._replace(mtime_ns=-1, sha256=f"{table.sha256} {texts.hexdigest()}", ids=ids)


def _compared(before: dict[str, SourceState], now: dict[str, SourceState]) -> Changes:
    return Changes(
        new=sorted(now.keys() - before.keys()),
        changed=sorted(path for path in now.keys() & before.keys() if now[path].sha256 != before[path].sha256),
        vanished=sorted(before.keys() - now.keys()),
    )


def _apply(
    writer: IndexWriter,
    index: Index,
    sources: Sources,
    changes: Changes,
    now: dict[str, SourceState],
    *,
    read: Iterable[str],
    **options: Any,
) -> Changes:
    """Delete and add documents; put the ids of read files into `now`."""
    ids: dict[str, list[str]] = {path: [] for path in read}
    visited: dict[str, bool] = {}
    corpus = _telling(sources.corpus, visited, frozenset(map(Path, ids)))
    elsewhere = {doc_id: path for path in now if path not in ids for doc_id in now[path].ids}
    read_again = _noted(locate_in_files(_places_now(sources, index.path), writer.notes, corpus), ids, elsewhere)
    others = _others(read_again, index, sources.corpus)
    before, first = len(writer), next(others, None)
    replaced = writer.add(chain([first], others), replace=True, **options) if first is not None else 0
    added = len(writer) - before + replaced
    living = {doc_id for own in ids.values() for doc_id in own}
    gone = [
        doc_id
        for path in (*changes.vanished, *ids)
        for doc_id in (sources.files[path].ids if path in sources.files else ())
        if doc_id not in living and doc_id in writer
    ]
    for path, own in ids.items():
        now[path] = now[path]._replace(ids=tuple(own))
    _mark_unread(now, ids, visited, sources.files)
    return changes._replace(added=added, deleted=writer.delete(gone) + replaced)


def _noted(documents: Iterator[Located], ids: dict[str, list[str]], elsewhere: dict[str, str]) -> Iterator[Located]:
    """Yield documents; note their ids by file, and in `elsewhere`, which begins with those of unchanged files."""
    for located in documents:
        doc_id = located.document.doc_id
        if doc_id in elsewhere:
            what = f"doc_id occurs twice, first in {elsewhere[doc_id]}"
            raise InputError(what, path=located.path, line=located.line, got=doc_id)
        elsewhere[doc_id] = located.path
        ids[located.path].append(doc_id)
        yield located


def _others(documents: Iterator[Located], index: Index, corpus: CorpusOptions) -> Iterator[Located]:
    """Yield the documents that the index lacks or holds with other content."""
    return (located for located in documents if corpus.index_only or not _is_stored(located.document, index))


def _is_stored(document: Document, index: Index) -> bool:
    if document.doc_id not in index:
        return False
    stored = index.document(document.doc_id)
    parts = (stored.title, stored.text, stored.passages, _exact(index.metadata(document.doc_id)))
    return parts == (document.title, document.text, document.passages, _exact(document.metadata))


def _exact(metadata: Mapping[str, Any]) -> str:
    """Return metadata as text, since 1, 1.0 and true are equal as values, and different to a filter."""
    return json.dumps(metadata, sort_keys=True)
