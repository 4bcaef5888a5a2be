"""Refuse updates of a folder of files that has become a collection, and of a collection whose documents are gone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from longrank.collections.collection import is_folder
from longrank.collections.files import holds_no_documents, is_about, named_files
from longrank.collections.patterns import absolute_path
from longrank.errors import InputError
from longrank.formats.cord19 import METADATA
from longrank.formats.records import CorpusOptions
from longrank.index.sources import Sources, SourceState

_OF_COLLECTIONS = ("docs.jsonl", "corpus.jsonl", METADATA)  # files of documents, beside which others are not read
_SHARD = re.compile(r"data-\d{5}-of-\d{5}\.arrow")  # of a saved dataset


def beside_documents(folders: Iterable[str], corpus: CorpusOptions) -> tuple[str, ...]:
    """Return the files and folders beside the documents of collections, which are not read, by their paths, sorted."""
    beside: list[str] = []
    for folder in folders:
        read = {file.path.name for file, _ in named_files(Path(folder), corpus)} if is_folder(Path(folder)) else ()
        with suppress(OSError):
            beside += [str(path) for path in Path(folder).iterdir() if read and path.name not in read]
    return tuple(sorted(beside))


def check_kinds(folders: Iterable[str], sources: Sources, states: Mapping[str, SourceState]) -> None:
    """Refuse a folder of files that has become a collection, of which other files are not read, and the reverse.

    Args:
        folders: the sources without databases.
        sources: the record of the last update.
        states: the files that would be read now.

    Raises:
        InputError: a folder that is a collection now (a file of queries beside ``corpus.jsonl`` makes one), or a
            collection whose documents are gone: its queries and judgments would be read as documents.
    """
    for place in (place for place in folders if is_folder(Path(place))):
        now = named_files(Path(place), sources.corpus)
        if not now:
            _check_documents(Path(place), sources, states)
        if now and absolute_path(str(now[0][0].path)) in sources.files:  # it was one at the last update, too
            continue
        others = (name for name in sources.files.keys() - states.keys() if Path(name).is_relative_to(place))
        left = (name for name in sorted(others) if now and Path(name).is_file())
        again = now and now[0][1] == "arrow"  # a dataset that is saved again leaves old files
        if (other := next((name for name in left if not (again and name.endswith(".arrow"))), None)) is not None:
            what = f"is a collection now, of which only {now[0][0].path.name} is read"
            fix = f"move {now[0][0].path.name}, or the queries beside it, elsewhere, or build the index again"
            raise InputError(what, path=place, got=f"{other}, read at the last update", fix=fix)


def _check_documents(place: Path, sources: Sources, states: Mapping[str, SourceState]) -> None:
    """Refuse a collection whose files of documents are all away, if files beside them would be read now.

    Raises:
        InputError: names the first file.
    """
    before = sorted(name for name in sources.files if Path(name).is_relative_to(place))
    if not before or any(name in states or not _is_of_collection(Path(name), place) for name in before):
        return
    if _reads_beside(place, [sources.files[name] for name in before], states, sources.beside):
        fix = "put the file back, or build the index again"
        raise InputError("the documents of this collection are gone", path=before[0], fix=fix)


def _is_of_collection(path: Path, place: Path) -> bool:
    """Tell whether a file holds the documents of a collection: by its name, or as a shard of a dataset."""
    named = path.parent == place and path.name.removesuffix(".gz") in _OF_COLLECTIONS
    return named or _SHARD.fullmatch(path.name) is not None


def _reads_beside(
    place: Path, gone: Iterable[SourceState], states: Mapping[str, SourceState], beside: tuple[str, ...] | None
) -> bool:
    """Tell whether queries, judgments or other files are read now that lay beside the documents of a collection.

    New files hold the documents under other names or in another format. A README alone holds none.
    """
    here = [path for path in map(Path, states) if path.is_relative_to(place)]
    beside_queries = (path.parent == place and holds_no_documents(path) for path in here)
    if any(beside_queries) or any(path.parent == place / "qrels" for path in here):  # qrels/ is of BEIR
        return True
    renamed = {state.sha256 for state in gone} <= {state.sha256 for state in states.values()}
    if not here or renamed:
        return False
    others = [path for path in here if not is_about(path)]
    if beside is None or not others:  # a record of an earlier version
        return True
    lay = {Path(name) for name in beside}
    return any(not lay.isdisjoint((path, *path.parents)) for path in others)
