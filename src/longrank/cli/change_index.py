"""``longrank index --add, --delete, --update, --merge``: change an index."""

from __future__ import annotations

import codecs
import os
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from longrank.cli import console
from longrank.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from longrank.formats.records import CorpusOptions
    from longrank.index import Index
    from longrank.types import Notes


def _linked_files(places: Iterable[str]) -> list[str]:
    """Return the links below some folders: an output may not take the place of a file that is read through a link."""
    paths = (Path(parent, name) for place in places for parent, _, files in os.walk(place) for name in files)
    return [str(path) for path in paths if path.is_symlink()]


class Actions(NamedTuple):
    """Changes that the command line asks for."""

    add: bool = False
    replace: bool = False
    delete: Path | None = None
    update: bool = False
    dry_run: bool = False
    merge: bool = False

    @property
    def any(self) -> bool:
        """True if an index is to be changed."""
        return bool(self.add or self.delete or self.update or self.merge)

    def inputs(self, sources: list[str], report: Path) -> list[str]:
        """Return the files and folders that a command reads: those of its sources, and the index that it changes.

        Raises:
            InputError: a pattern among the sources matches the report, which the next update would read.
            InputError, IntegrityError: as `paths_of`, `read_manifest` and `read_sources`.
        """
        from longrank.collections.databases import is_address
        from longrank.collections.documents import paths_of
        from longrank.collections.patterns import would_match
        from longrank.errors import InputError
        from longrank.index.folder import read_manifest
        from longrank.index.sources import read_sources
        from longrank.storage.remote import local

        read: Iterable[str] = sources[:-1] if self.any else sources
        later: Iterable[str] = ()
        if self.any:
            folder = local(sources[-1])
            read_manifest(folder)
            with nullcontext() if self.update else suppress(InputError):  # an index may have no record
                later = read_sources(folder).places
        read, later = (later, ()) if self.update else (read, later)
        known = later if report.exists() else (*read, *later)  # files of the patterns of `read` are inputs, below
        pattern = next((source for source in known if not is_address(source) and would_match(source, report)), None)
        if pattern is not None:
            raise InputError("lies among the files of a pattern", path=report, got=pattern, fix="choose another report")
        there = [source for source in later if is_address(source) or Path(source).exists()]
        places = paths_of([*read, *there])
        linked = _linked_files(places) if report.exists() else ()
        return [*places, *linked, *(sources[-1:] if self.any else ())]

    def check(self, sources: list[str], output: Path | None, n_shards: int) -> None:
        """Refuse actions that do not fit together.

        Raises:
            InputError: names the options.
        """
        from longrank.errors import InputError

        if self.replace and not self.add:
            raise InputError("--replace needs --add", fix="longrank index --add --replace SOURCE... INDEX")
        if self.dry_run and not self.update:
            raise InputError("--dry-run needs --update", fix="longrank index --update --dry-run INDEX")
        if not self.any:
            return
        if n_shards > 1:
            raise InputError("--shards builds a new index", got=n_shards, fix="changes keep the shards of an index")
        if output is not None:
            raise InputError("-o builds a new index", fix="leave -o out to change an index")
        if self.update and (self.add or self.delete):
            raise InputError("--update stands alone", fix="add and delete documents in another command")
        if self.add and len(sources) < 2:
            raise InputError("--add needs a source and an index", fix="longrank index --add SOURCE... INDEX")
        if not self.add and len(sources) != 1:
            raise InputError("one index is needed", got=" ".join(sources), fix="give the INDEX alone")


_STORED = ("analyzer", "analyzer_field", "original_copies", "fields", "index_only", "title_in_text", "metadata")
"""Options of an index that it stores."""


def check_build_options(path: Path, given: Mapping[str, Any]) -> None:
    """Refuse options of a new index that an existing index does not have: they would change nothing.

    Args:
        path: the existing index.
        given: options of builds that stand on the command line, and their values.

    Raises:
        InputError: names the option.
    """
    from longrank.errors import InputError
    from longrank.index import Index
    from longrank.index.languages import comparable

    index = Index(path)
    existing = {name: getattr(index.options, name) for name in _STORED}
    n_shards = max(1, sum(part.is_shard for part in index.parts))
    existing |= {"compress": index.options.compressed, "shards": n_shards, "engine": "local"}
    if given.get("metadata") is not None and (field := index.options.analyzer_field):
        given = {**given, "metadata": (*given["metadata"], field)}
    for name, value in given.items():
        if name not in existing or comparable(name, value) != comparable(name, existing[name]):
            option = f"--{name.replace('_', '-')}"
            raise InputError(
                f"{option} is for a new index", path=path, fix=f"leave it out, or build the index with {option}"
            )


_READING = (
    *("format", "encoding", "encoding_errors", "max_uncompressed", "max_ratio", "ignore_passages"),
    *("include", "exclude", "strict", "ocr", "report"),
)


def check_options(path: Path, of_builds: Mapping[str, Any], given: Mapping[str, Any], actions: Actions) -> None:
    """Refuse options that would have no effect on an existing index.

    Args:
        path: the existing index.
        of_builds: options of builds that stand on the command line, and their values.
        given: all options that stand on the command line.
        actions: the changes.

    Raises:
        InputError: names the option.
    """
    from longrank.errors import InputError

    check_build_options(path, of_builds)
    if actions.dry_run and given.keys() & {"vectors", "sparse"}:
        raise InputError("--dry-run changes nothing, so it stores no vectors", path=path, fix="leave one of them out")
    if not actions.add:
        _check_reading_options(path, given, actions)


def _check_reading_options(path: Path, given: Mapping[str, Any], actions: Actions) -> None:
    """Refuse options of reading documents where none are read, or an update reads them as the build did.

    Raises:
        InputError: names the option.
    """
    from longrank.errors import InputError

    reports = actions.update and not actions.dry_run
    names = [name for name in _READING if name in given and not (name == "report" and reports)]
    of_build = _read_by_build(path) if actions.update and names else {}
    for name in names:
        if name not in of_build or _comparable(name, of_build[name]) != _comparable(name, given[name]):
            option, fix = f"--{name.replace('_', '-')}", "leave it out"
            what = f"{option} is for a new index and for --add"
            if name == "report":
                what = f"{option} is for commands that read documents"
            elif actions.update:
                what = f"{option} is not as in the build, and an update reads documents as the build did"
                fix = f"leave it out, or build the index with {option}"
            raise InputError(what, path=path, fix=fix)


def _comparable(name: str, value: Any) -> Any:
    """Return an option's value in a form that equals that of the same option written in another way."""
    if name in ("include", "exclude"):
        return set(value)
    if name == "encoding":
        with suppress(LookupError):
            return codecs.lookup(value).name
    return value


def _read_by_build(path: Path) -> dict[str, Any]:
    """Return the options that documents were read with, and their values."""
    from longrank.index.folder import place_of
    from longrank.index.sources import read_sources
    from longrank.storage.remote import local

    corpus = read_sources(local(place_of(path))).corpus
    text, files = corpus.text, corpus.files
    return {
        **{"format": corpus.format, "encoding": text.encoding, "encoding_errors": text.errors},
        **{"max_uncompressed": text.limits.max_uncompressed, "max_ratio": text.limits.max_ratio},
        **{"ignore_passages": corpus.ignore_passages, "include": list(files.include), "exclude": list(files.exclude)},
        **{"strict": files.strict, "ocr": files.ocr},
    }


def change(sources: list[str], actions: Actions, corpus: CorpusOptions, workers: int, notes: Notes) -> Index:
    """Change the index that is the last of the sources; print counts, and return the index."""
    from longrank.index import Index
    from longrank.index.languages import reading

    path = Path(sources[-1])
    corpus = reading(Index(path).options, corpus)
    with console.progress("indexing", None, "documents") as advance:
        options = {"progress": advance, "workers": workers}
        if actions.update:
            counts = _updated(path, actions, {**options, "skipped": corpus.files.skipped}, notes)
        else:
            counts = _changed(path, sources[:-1], actions, {**options, "corpus": corpus}, notes)
    for name, count in counts.items():
        print(f"{name}\t{count}")
    index = Index(path)
    if actions.dry_run:
        return index
    print(f"documents\t{index.n_docs}\nsegments\t{len(index.parts)}\ndigest\t{index.digest}")
    return index


def _changed(path: Path, sources: list[str], actions: Actions, options: dict[str, Any], notes: Notes) -> dict[str, int]:
    from longrank.collections.documents import places_of
    from longrank.collections.files import check_patterns
    from longrank.index import Index

    counts = {}
    if actions.add:
        check_patterns(places_of(sources), options["corpus"])
    with Index(path).writer(notes) as writer:
        if actions.delete is not None:
            counts["deleted"] = writer.delete(_ids(actions.delete, notes))
        if actions.add:
            before = len(writer)
            counts["replaced"] = writer.add(sources, replace=actions.replace, **options)
            counts["added"] = len(writer) - before
        if actions.merge:
            writer.merge()
    return counts


def _ids(path: Path, notes: Notes) -> list[str]:
    """Read a file with one doc_id on each line."""
    from longrank.formats.lines import read_lines

    return [text for line in read_lines(path, notes) if (text := line.text.strip(" \t\r"))]


def _updated(path: Path, actions: Actions, options: dict[str, Any], notes: Notes) -> dict[str, int]:
    from longrank.verbs.updates import update

    changes = update(path, dry_run=actions.dry_run, merge=actions.merge, notes=notes, **options)
    for kind, paths in (("new", changes.new), ("changed", changes.changed), ("vanished", changes.vanished)):
        for name in paths:
            print(f"{kind}\t{printable(name)}")  # a query may have several lines
    if actions.dry_run:
        return {}
    return {"added": changes.added, "deleted": changes.deleted}
