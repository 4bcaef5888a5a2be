"""Present state of an index's sources: files and folders, patterns, tables of CORD-19, and databases."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from glob import glob, has_magic
from pathlib import Path
from typing import NamedTuple, TypeAlias

from longrank.collections.collection import IRDS, is_folder
from longrank.collections.databases import is_address, shown_source
from longrank.collections.documents import places_of
from longrank.collections.files import files_of
from longrank.collections.patterns import (
    absolute_path,
    absolute_paths,
    absolute_pattern,
    is_pattern,
    matches,
    matching,
)
from longrank.errors import InputError
from longrank.formats.cord19 import is_cord19
from longrank.formats.records import CorpusOptions, FileOptions
from longrank.index.sources import Sources, SourceState
from longrank.types import Notes
from longrank.verbs.collection_changes import beside_documents, check_kinds
from longrank.verbs.full_texts import NO_TEXTS, digest_of_texts
from longrank.verbs.out_of_reach import GONE, link_above, listing_fault, opening_fault
from longrank.verbs.rows_digest import rows_state

SizeAndTime: TypeAlias = tuple[int, int, str] | None
"""Size of a file, its time of modification in nanoseconds, and for a CORD-19 table the state of its full texts.

None: the file is away. Inodes are left out, since some network disks change them.
"""

_UNREAD = "unread "


class Present(NamedTuple):
    """Present state of an index's sources.

    Attributes:
        files: the states of the files and databases.
        beside: files and folders beside the documents of collections, which are not read (`beside_documents`).
    """

    files: dict[str, SourceState]
    beside: tuple[str, ...]


def absolute(place: str) -> str:
    """Return the absolute path of a file or folder, or the address of a database, as a record names it."""
    if is_address(place):
        return shown_source(place)
    return absolute_path(place) if place else place


def recorded(source: str) -> tuple[str, ...]:
    """Return the names of a source in a record; a pattern stays a pattern, since later files may match it."""
    if not is_address(source) and is_pattern(source):
        return (absolute_pattern(source),)
    return tuple(map(absolute, places_of([source])))


def places_now(sources: Sources, index: Path) -> list[str]:
    """Return the sources with the files and folders that match patterns now, without the index itself.

    Links whose target is away do not count among matches, as in a folder.
    """
    places: list[str] = []
    for place in sources.places:
        if stands_for_matches(place, sources):
            there = filter(os.path.exists, sorted(glob(place, recursive=True)) or matching(place))  # noqa: PTH207
            matched = (path for path in there if Path(path).resolve() != index.resolve())
            places += dict.fromkeys(map(absolute, matched))
        else:
            places.append(place)
    return places


def stands_for_matches(place: str, sources: Sources) -> bool:
    """Tell whether a source is a pattern; a file or folder of the last time is none, even if it is gone.

    A file may have the pattern as its name, and be a match or new: then the files that only the pattern finds tell.
    """
    if is_address(place) or not has_magic(place):
        return False
    if is_pattern(place) and not any(Path(file).is_relative_to(place) for file in sources.files):
        return True
    others = (Path(file) for file in sources.files if not any(map(Path(file).is_relative_to, sources.places)))
    return any(matches(str(path).lstrip("/"), [place]) for file in others for path in (file, *file.parents))


def states_of(
    places: Iterable[str], corpus: CorpusOptions, notes: Notes, sizes: dict[str, SizeAndTime]
) -> dict[str, SourceState] | None:
    """Return the present state of all files of the sources; None if there is a pipe, a dataset or a fault, a note.

    A file that cannot be opened has no state: it is new to the next update. The build, which reads the files, reports
    faults. `sizes` gets size and time of each file.
    """
    places = [place for place in places if not is_address(place)]
    if any(place.startswith(IRDS) or not (Path(place).is_file() or is_folder(Path(place))) for place in places):
        return None
    quiet = replace(corpus, files=replace(corpus.files, skipped=None, visited=None))
    name = absolute_paths()
    try:
        files = [(name(file.path), format) for place in places for file, format in files_of(place, quiet, Notes())]
    except (InputError, OSError) as error:
        notes.say(f"the index has no record of its files and cannot be updated: {error}")
        return None
    states = {}
    for path, format in files:
        with suppress(OSError):
            sizes[path] = _size_and_time(Path(path))
            states[path] = _state(Path(path), format, None)
    return states


def states_now(sources: Sources, index: Path, left: dict[str, str], sizes: dict[str, SizeAndTime]) -> Present:
    """Return the present state of the sources; ids are those of the record. `sizes` gets sizes and times of files.

    A file that cannot be opened has the state of the record, or none if it is new; `left` gets its path and the fault.

    Raises:
        InputError: a source is gone, cannot be listed or is a collection now; with `strict`, a file cannot be opened.
    """
    folders = [place for place in places_now(sources, index) if not is_address(place)]
    listed = [
        (str(file.path), format) for place in folders for file, format in files_of(place, sources.corpus, Notes())
    ]
    known = sources.files
    states: dict[str, SourceState] = {}
    listing: dict[str, OSError | None] = {}
    for path, format in listed:
        try:
            sizes[path] = _size_and_time(Path(path))
            states[path] = _state(Path(path), format, known.get(path))
        except GONE:  # since it was listed
            continue
        except OSError as error:
            _leave(path, error, sources.corpus.files, left)
            if path in known:
                states[path] = known[path]
    check_kinds(folders, sources, states)
    patterns = [place for place in sources.places if stands_for_matches(place, sources)]
    roots = set(folders)
    for path in known.keys() - states.keys():  # a format that the content tells is unknown if that cannot be read
        if fault := opening_fault(path) or listing_fault(path, patterns, listing) or link_above(path, roots):
            _leave(path, fault, sources.corpus.files, left)
            states[path] = known[path]
    for place in filter(is_address, sources.places):
        states[place] = rows_state(place, sources.corpus)
        if place in known:
            states[place] = states[place]._replace(ids=known[place].ids)
    return Present(states, beside_documents(folders, sources.corpus))


def readable(states: dict[str, SourceState], files: FileOptions, left: dict[str, str]) -> list[str]:
    """Return the sorted paths of the files that can be opened; mark the others for the next update, and add to `left`.

    Raises:
        InputError: with `strict`, a file cannot be opened.
    """
    paths = []
    for path, state in sorted(states.items()):
        if error := opening_fault(path):
            _leave(path, error, files, left)
            states[path] = unread(state)
        else:
            paths.append(path)
    return paths


def _leave(path: str, error: OSError, files: FileOptions, left: dict[str, str]) -> None:
    reason = error.strerror or str(error)
    if files.strict:
        raise InputError(f"cannot be read: {reason}", path=path) from None
    left[path] = reason


def _state(path: Path, format: str, known: SourceState | None) -> SourceState:
    """Return the present state of a file; of the table of a CORD-19 release, with the states of its full texts."""
    if format != "cord19":
        return SourceState.of(path) if known is None else known.now()
    table, ids = SourceState.of(path), () if known is None else known.ids
    return table._replace(mtime_ns=-1, sha256=f"{table.sha256} {digest_of_texts(path.parent)}", ids=ids)


def lost_full_texts(before: SourceState, now: SourceState) -> bool:
    """Tell whether all full texts of a CORD-19 release are gone that were there before."""
    had_some = " " in before.sha256.removeprefix(_UNREAD) and not before.sha256.endswith(f" {NO_TEXTS}")
    return had_some and now.sha256.endswith(f" {NO_TEXTS}")


def noting_visits(
    corpus: CorpusOptions,
    visited: dict[str, bool],
    sizes: Mapping[str, SizeAndTime],
    only: frozenset[Path] | None = None,
) -> CorpusOptions:
    """Return options with which `visited` gets the files that are read, and whether they could be read.

    Args:
        corpus: the options.
        visited: absolute path -> False: the file was skipped. A file that has changed since it was listed, and may have
            been read with other content, is left out.
        sizes: sizes and times of the files when they were listed.
        only: the files to read; None: all.
    """

    changed = set[str]()
    name_of = absolute_paths()

    def visit(path: Path, whole: bool) -> None:
        name = name_of(path)
        if name not in changed and _size_and_time(path) == sizes.get(name):
            visited[name] = whole
        else:  # for another source that reads it, too
            changed.add(name)
            visited.pop(name, None)

    return replace(corpus, files=replace(corpus.files, visited=visit, only=only))


def mark_unread(
    files: dict[str, SourceState], paths: Iterable[str], visited: Mapping[str, bool], before: Mapping[str, SourceState]
) -> None:
    """Mark files that the next update reads: they were away or changed when documents were read, or could not be read.

    A file that could not be read in two updates counts as read: the cause lies in its content. A file that a command of
    ``--ocr`` failed for is not among those visited.

    Args:
        files: files as they were listed; gets the marks.
        paths: the files to read.
        visited: files that were read, and whether they could be read.
        before: the record of the last update.
    """
    for path in [path for path in paths if not is_address(path) and not visited.get(path, False)]:
        marked = unread(files[path])
        if path not in visited or path not in before or before[path].sha256 != marked.sha256:
            files[path] = marked


def has_content(before: SourceState, now: SourceState) -> bool:
    """Tell whether a file has the content of a record; False after an update that was killed, whose record has none."""
    return before.sha256.removeprefix(_UNREAD) == now.sha256.removeprefix(_UNREAD)


def _size_and_time(path: Path) -> SizeAndTime:
    """Return the marks of a file by which a change of it, or of the full texts of a CORD-19 table, is noticed."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, digest_of_texts(path.parent) if is_cord19(path) else ""


def unlisted(path: str) -> SourceState:
    """Return the state of a file that appeared after the files were listed, and was read; it is read again."""
    return unread(SourceState(path, -1, 0, ""))


def unread(state: SourceState) -> SourceState:
    """Return the state of a file that counts as changed in the next update."""
    return SourceState(state.path, -1, 0, f"{_UNREAD}{state.sha256.removeprefix(_UNREAD)}", state.ids)
