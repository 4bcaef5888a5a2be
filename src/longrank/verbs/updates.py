"""Bring an index up to date with the files that it was built from: ``longrank index --update``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from longrank.collections.databases import is_address
from longrank.collections.documents import locate_in_files
from longrank.errors import InputError, LongRankError
from longrank.formats.corpora import Located
from longrank.index import Index
from longrank.index.folder import SOURCES
from longrank.index.sources import Sources, SourceState, read_sources, write_sources
from longrank.index.writer import IndexWriter
from longrank.storage.remote import changing
from longrank.types import Notes
from longrank.verbs.changed_documents import noting_replaced, other_than_stored
from longrank.verbs.emptied_sources import check_full_texts, check_not_emptied
from longrank.verbs.rows_digest import RowsDigest, digested
from longrank.verbs.source_states import (
    SizeAndTime,
    has_content,
    mark_unread,
    noting_visits,
    places_now,
    readable,
    states_now,
    unread,
)


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


def update(
    index: Index | str | Path,
    *,
    dry_run: bool = False,
    merge: bool = False,
    notes: Notes | None = None,
    progress: Callable[[int], object] | None = None,
    workers: int = 1,
    skipped: Callable[[Path, str], object] | None = None,
) -> Changes:
    """Bring an index up to date with the files and databases that it was built from, in one step.

    Files are compared by size and time of modification, and, if these differ, by content. The query of a database is
    run, and its documents are compared with those of the last time. Documents of vanished files
    are deleted. Documents of new and changed files are added; a document that is the same as before stays as it is.
    A file that cannot be opened is a note: its documents stay, and the next update tries again.

    Args:
        index: an index that `build_from_files` or ``longrank index`` built, or its folder or address. The record of
            files stays on the machine that built it.
        dry_run: True: compare the files only.
        merge: True: also merge all segments, as `Index.merge`.
        notes: counts remarks on accepted input.
        progress: called now and then with the number of documents just indexed.
        workers: as for `Index.build`.
        skipped: called with each new or changed file that is skipped, and the reason.

    Raises:
        InputError: no such index, no record of its files, a source is gone, a fault of a file, or another process
            is writing to the index.
        LongRankError: writing failed.
    """
    notes, left = Notes() if notes is None else notes, dict[str, str]()
    skipped = None if skipped is None else _once(skipped)
    with changing(index.location if isinstance(index, Index) else index, notes) as folder:
        options: dict[str, Any] = {"progress": progress, "workers": workers}
        changes = _updated(folder, left, dry_run=dry_run, merge=merge, notes=notes, skipped=skipped, **options)
    for path, fault in left.items():
        notes.add("files that cannot be opened, left as they are until the next update", f"{path}: {fault}")
    return changes


def _updated(
    folder: Path,
    left: dict[str, str],
    *,
    dry_run: bool,
    merge: bool,
    notes: Notes,
    skipped: Callable[[Path, str], object] | None,
    **options: Any,
) -> Changes:
    index, sources = Index(folder), _recorded(folder, skipped)
    sizes: dict[str, SizeAndTime] = {}
    now, beside = states_now(sources, folder, left, sizes)
    changes = _compared(sources.files, now)
    if dry_run:
        if not sources.is_of(index.digest):
            notes.say(
                "another command has changed the index since its last update: an update compares all files with it"
            )
        return changes
    if now == sources.files and sources.is_of(index.digest) and not merge:
        if sources.beside != beside:
            with suppress(LongRankError), index.writer(notes):  # an index that cannot be written to is up to date
                if _recorded(folder, skipped) == sources:
                    write_sources(folder / SOURCES, sources._replace(beside=beside))
        return changes
    with Index(folder).writer(notes) as writer:
        if (newest := _recorded(folder, skipped)) != sources:  # another update has ended meanwhile
            sources, (now, beside) = newest, states_now(newest, folder, left, sizes)
            changes = _compared(sources.files, now)
        index = Index(folder)
        if merge:
            writer.merge()
        read = _to_read(sources, changes, now, index, notes, left=left)
        if read or changes.vanished or merge:
            changes = _apply(writer, index, sources, changes, now, read=read, sizes=sizes, **options)
            begun = _begun(sources, [*read, *changes.vanished], now, index.digest)
            writer.commit(lambda digest: write_sources(folder / SOURCES, begun._replace(begun=digest)))
        with _telling_state("the index is up to date; the next update compares these files again"):
            write_sources(
                folder / SOURCES, sources._replace(files=now, digest=Index(folder).digest, begun="", beside=beside)
            )
    return changes


@contextmanager
def _telling_state(state: str) -> Iterator[None]:
    """Add to the message of a failed write what stands."""
    try:
        yield
    except LongRankError as error:
        raise LongRankError(f"{error}; {state}") from error


def _recorded(folder: Path, skipped: Callable[[Path, str], object] | None) -> Sources:
    """Return the record of an index, whose reading reports skipped files."""
    sources = read_sources(folder)
    files = replace(sources.corpus.files, skipped=skipped)
    return sources._replace(corpus=replace(sources.corpus, files=files))


def _once(skipped: Callable[[Path, str], object]) -> Callable[[Path, str], None]:
    """Return a report of skipped files that names each once: files are listed, and then read."""
    reported = set[Path]()

    def report(path: Path, reason: str) -> None:
        if path not in reported:
            reported.add(path)
            skipped(path, reason)

    return report


def _to_read(
    sources: Sources,
    changes: Changes,
    now: dict[str, SourceState],
    index: Index,
    notes: Notes,
    *,
    left: dict[str, str],
) -> Sequence[str]:
    """Return the files to read: new and changed files; all readable files, if another command has changed the index."""
    read = [*changes.new, *changes.changed]
    if sources.is_of(index.digest):
        return read
    if _changed_elsewhere(sources, index):
        notes.say("another command has changed the index since its last update: all files were compared with it")
    return readable(now, sources.corpus.files, left)


def _changed_elsewhere(sources: Sources, index: Index) -> bool:
    """Tell whether another command has changed the index; False if an update of an earlier version was killed."""
    return sources.digest != "" and not sources.is_of(index.digest)


def _begun(sources: Sources, touched: Iterable[str], now: dict[str, SourceState], digest: str) -> Sources:
    """Return the record of an update that a crash may leave on either side of its commit.

    The files of the update count as changed next time, and their documents of both states as theirs: a document of a
    file that vanishes before then is deleted, too, and a vanished file that is back is read. Those of an unchanged file
    are of its content in both states.

    Args:
        sources: the record before the update.
        touched: files that are read, and vanished files.
        now: the present files.
        digest: digest of the index before the update.
    """
    files = dict(sources.files)
    for path in touched:
        states = [states[path] for states in (files, now) if path in states]
        ids = tuple(dict.fromkeys(doc_id for state in states for doc_id in state.ids))
        same = len(states) == 2 and has_content(*states)
        files[path] = unread(states[0])._replace(ids=ids) if same else SourceState(path, -1, 0, "", ids)
    return sources._replace(files=files, digest=digest if sources.is_of(digest) else sources.digest)


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
    sizes: Mapping[str, SizeAndTime],
    **options: Any,
) -> Changes:
    """Delete and add documents; put the ids of read files into `now`, and the state of databases as they were read."""
    ids: dict[str, list[str]] = {path: [] for path in read}
    visited: dict[str, bool] = {}
    corpus = noting_visits(sources.corpus, visited, sizes, frozenset(map(Path, ids)))
    elsewhere = {doc_id: path for path in now if path not in ids for doc_id in now[path].ids}
    digests: dict[str, RowsDigest] = {}
    read_again = digested(locate_in_files(places_now(sources, index.path), writer.notes, corpus), digests)
    changed: set[str] = set()
    others = other_than_stored(_noted(read_again, ids, elsewhere), index, sources.corpus, changed)
    if _changed_elsewhere(sources, index):
        others = noting_replaced(others, index, sources, writer.notes)
    before, first = len(writer), next(others, None)
    replaced = writer.add(chain([first], others), replace=True, **options) if first is not None else 0
    added = len(writer) - before + replaced
    _keep(ids, visited, sources.files, now, writer)
    living = {doc_id for own in ids.values() for doc_id in own}
    gone = [
        doc_id
        for path in (*changes.vanished, *ids)
        for doc_id in (sources.files[path].ids if path in sources.files else ())
        if doc_id not in living and doc_id in writer
    ]
    if _changed_elsewhere(sources, index):  # such an id may be that of a document added by hand
        what = "documents deleted whose files are gone or hold other ids, also if another command has added them again"
        writer.notes.add(what, next(iter(gone), ""), len(gone))
    for path, own in ids.items():
        state = digests.get(path, RowsDigest()).state(path) if is_address(path) else now[path]
        now[path] = state._replace(ids=tuple(own))
    mark_unread(now, ids, visited, sources.files)
    check_not_emptied(sources, index.path, now)
    check_full_texts(sources, now, changed)
    return changes._replace(added=added, deleted=writer.delete(gone) + replaced)


def _keep(
    ids: dict[str, list[str]],
    visited: Mapping[str, bool],
    before: Mapping[str, SourceState],
    now: Mapping[str, SourceState],
    writer: IndexWriter,
) -> None:
    """Add to the ids of files that could not be read now, and have not changed, those of their documents.

    The cause lies outside such a file: a parser that had too little time, a command of ``--ocr`` that failed.
    """
    failed = [path for path in ids if path in before and not is_address(path) and not visited.get(path, False)]
    unchanged = [path for path in failed if has_content(before[path], now[path])]
    living = {doc_id for own in ids.values() for doc_id in own} if unchanged else ()
    for path in unchanged:
        kept = [doc_id for doc_id in before[path].ids if doc_id not in living and doc_id in writer]
        ids[path] += kept
        writer.notes.add("documents of files that could not be read now, which stay", path, len(kept))


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
