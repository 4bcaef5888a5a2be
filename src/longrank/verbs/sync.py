"""Keep an index equal to folders of files and databases: ``longrank sync``."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import NamedTuple

from longrank.collections.databases import is_address, shown_source
from longrank.collections.documents import places_of
from longrank.errors import InputError, MissingExtra
from longrank.formats.records import CorpusOptions
from longrank.index.folder import place_of, sources_record
from longrank.index.sources import read_sources
from longrank.storage import MANIFEST
from longrank.storage.remote import exists, local
from longrank.types import Notes
from longrank.verbs.recorded_build import build_from_files
from longrank.verbs.source_states import absolute, recorded
from longrank.verbs.updates import Changes, update

Watch = Callable[..., Iterator[set[tuple[object, str]]]]

_DEBOUNCE = 1000  # milliseconds: a burst of changes is one update
_PAUSE = 1000  # milliseconds between looks at the clock
_SCAN = 60.0  # seconds between scans without an event: network folders may send none


def sync(
    sources: Sequence[str | Path],
    index: Path | str,
    *,
    notes: Notes | None = None,
    progress: Callable[[int], object] | None = None,
    workers: int = 1,
) -> Changes:
    """Build an index of files, folders and databases; or, if it exists, bring it up to date with them, in one step.

    The options of an existing index stay: build it with ``longrank index`` for other options than the defaults.

    Args:
        sources: files, folders, patterns such as ``docs/*.jsonl``, and addresses of databases.
        index: folder of the index, or its address.
        notes: counts remarks on accepted input.
        progress: called now and then with the number of documents just indexed.
        workers: processes that analyse text.

    Raises:
        InputError: the index was built from other sources or lies inside a source, a source is gone, a fault of a file,
            or another process is writing to the index.
        LongRankError: writing failed.
    """
    place, notes = place_of(index), Notes() if notes is None else notes
    places = _checked(sources, place)
    if (place / MANIFEST).exists() if isinstance(place, Path) else exists(place):
        _refuse_other(place, [name for source in sources for name in recorded(str(source))], places)
        return update(place, notes=notes, progress=progress, workers=workers)
    built = build_from_files(
        sources, place, corpus=CorpusOptions(), notes=notes, progress=progress or (lambda n: None), workers=workers
    )
    return Changes(sorted(read_sources(built.path).files), [], [], added=built.n_docs)


def _checked(sources: Sequence[str | Path], index: Path | str) -> list[str]:
    """Return the absolute paths of the sources, and addresses of databases as a record names them."""
    given = [str(source) for source in sources]
    places = [absolute(place) for place in places_of(given)]
    named = {absolute(source) for source in given}
    own = index.resolve() if isinstance(index, Path) else None
    matched = (place for place in places if place not in named)  # maybe the index itself, or a link to nothing
    apart = {place for place in matched if not Path(place).exists() or Path(place).resolve() == own}
    places = [place for place in places if place not in apart]
    for place in places:
        if is_address(place):
            continue
        if not (Path(place).is_file() or Path(place).is_dir()):
            what = "is no file and no folder" if Path(place).exists() else "no such file or folder"
            raise InputError(what, path=place, fix="give files, folders or addresses of databases")
        if isinstance(index, Path) and index.resolve().is_relative_to(Path(place).resolve()):
            raise InputError(f"the index lies inside its source {place}", path=index, fix="put it beside the source")
    return places


def _refuse_other(index: Path | str, names: Sequence[str], places: Sequence[str]) -> None:
    """Refuse an index of other sources; earlier versions recorded the files that a pattern matched."""
    folder = local(index)
    if sources_record(folder) is None:
        fix = f"build it again: {_call('longrank index', names, index)}; documents added later are then lost"
        raise InputError("the index has no record of its source files", path=index, fix=fix)
    built_from = read_sources(folder).places
    if sorted(built_from) not in (sorted(names), sorted(places)):
        fix = f"{_call('longrank sync', built_from, index)}, or choose another index"
        raise InputError("the index was built from other sources", path=index, got=", ".join(names), fix=fix)


def _call(command: str, places: Sequence[str], index: Path | str) -> str:
    return f"{command} {shlex.join(places)} -o {shlex.quote(str(index))}"


def check_watch(sources: Sequence[str | Path]) -> None:
    """Check that sources can be watched.

    Raises:
        InputError: a source is a database.
        MissingExtra: watchfiles is not installed.
    """
    for source in map(str, sources):
        if is_address(source):
            fix = "leave --watch out, and repeat the command by cron or a systemd timer"
            raise InputError("a database cannot be watched", got=shown_source(source), fix=fix)
    load_watch()


def watched(sources: Sequence[str | Path]) -> Iterator[None]:
    """Yield when files of the sources may have changed: soon after an event, and every minute; never ends.

    The first yield comes within a second, so that no change between a sync and this call is missed.

    Args:
        sources: files and folders.

    Raises:
        MissingExtra: watchfiles is not installed.
        OSError: the system cannot watch the files, such as too many of them.
    """
    places = [Path(place) for place in places_of([str(source) for source in sources])]
    events: SimpleQueue[bool | Exception] = SimpleQueue()
    stop, last = Event(), -_SCAN
    for watching in _watches(places):
        Thread(target=_put_events, args=(load_watch(), watching, events, stop), daemon=True).start()
    try:
        while True:
            event = events.get()
            while not events.empty() and not isinstance(event, Exception):  # the rest of a burst
                event = events.get() or event
            if isinstance(event, Exception):
                raise event
            if event or time.monotonic() - last >= _SCAN:
                yield
                last = time.monotonic()
    finally:
        stop.set()


class _Watching(NamedTuple):
    """Paths to watch, with all that is below them or without, and the files whose events count; None: all files."""

    paths: Sequence[Path]
    recursive: bool
    files: frozenset[str] | None = None


def _watches(places: Sequence[Path]) -> Iterator[_Watching]:
    """Yield what to watch for some folders and files.

    A file is watched by its folder, too: editors replace a file, and the events of the old one end.
    """
    folders, files = [path for path in places if path.is_dir()], [path for path in places if not path.is_dir()]
    if folders:
        yield _Watching(folders, recursive=True)
    if files:
        paths = [*files, *{path.absolute().parent for path in files}]
        yield _Watching(paths, recursive=False, files=frozenset(map(_event_path, files)))


def _event_path(path: Path) -> str:
    """Return the path of a file as events are compared by: systems report linked folders and letter case otherwise."""
    return os.path.normcase(path.parent.resolve() / path.name)


def _put_events(watch: Watch, watching: _Watching, events: SimpleQueue[bool | Exception], stop: Event) -> None:
    """Put True after each burst of changes, and False every second; in a thread, since a wait there takes signals.

    Events are of the folders that stood at the paths when the watch began, so it begins again after a folder is
    replaced by another. Files that are not there then are watched by their folder alone.
    """
    folders = [path for path in watching.paths if path.is_dir()]
    options = {"debounce": _DEBOUNCE, "rust_timeout": _PAUSE, "yield_on_timeout": True, "stop_event": stop}
    replaced, before = False, _identities(folders)
    try:
        while True:
            paths = [path for path in watching.paths if path.exists()]
            for changes in watch(*paths, watch_filter=None, recursive=watching.recursive, **options):
                counted = (watching.files is None or _event_path(Path(path)) in watching.files for _, path in changes)
                changed = any(counted) or replaced  # before this watch began
                now = _identities(folders)
                replaced = now != before and None not in now
                events.put(changed or replaced)
                if replaced:
                    before = now
                    break
            else:
                return
    except Exception as error:  # raised again in the other thread
        events.put(error)


def _identities(paths: Iterable[Path]) -> list[tuple[int, int] | None]:
    """Return device and number of each folder; None: it is away."""
    found: list[tuple[int, int] | None] = []
    for path in paths:
        try:
            status = path.stat()
            found.append((status.st_dev, status.st_ino))
        except OSError:
            found.append(None)
    return found


def load_watch() -> Watch:
    """Return ``watchfiles.watch``.

    Raises:
        MissingExtra: watchfiles is not installed.
    """
    try:
        from watchfiles import watch
    except ImportError:
        raise MissingExtra("watching files", "watch") from None
    found: Watch = watch
    return found
