"""Build an index of a stream of documents in bounded memory.

documents (+ expansions) -> batches -> segments (by workers) -> merged index, or shards -> one atomic step

Batches are cut by the size of the documents alone, and the result does not depend on the cuts, on the number of
processes or on an earlier, interrupted build.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longrank.collections.documents import locate_documents
from longrank.engines import Engine
from longrank.errors import InputError
from longrank.index.batches import batches
from longrank.index.compressed_texts import zstandard
from longrank.index.expansions import store
from longrank.index.languages import LanguageReader
from longrank.index.locking import building
from longrank.index.merge import merge
from longrank.index.options import IndexOptions
from longrank.index.publishing import finish, publish
from longrank.index.segments import Segment
from longrank.index.shards import at_least, check_shards, write_shards
from longrank.index.workers import Task, write_segments
from longrank.storage.files import writing_into
from longrank.text.analysis import check_analyzer
from longrank.types import Notes

if TYPE_CHECKING:
    from longrank.formats.corpora import Located
    from longrank.formats.expansions import Expansion
    from longrank.index.sources import Recording

_MOST_COPIES = 100


def write_index(
    documents: Any,
    folder: Path,
    *,
    options: IndexOptions,
    expansions: Iterable[Expansion] | None,
    notes: Notes,
    progress: Callable[[int], object] | None,
    engine: Engine,
    shards: int,
    recording: Recording | None,
) -> None:
    """Write an index; the arguments and errors are those of `longrank.index.build_index`."""
    check_analyzer(options.analyzer)
    check_shards(shards)
    if options.compressed:
        zstandard()
    if not 1 <= options.original_copies <= (_MOST_COPIES if options.index_only or expansions is not None else 1):
        fix = f"1 to {_MOST_COPIES} with expansions or fields for the index only, else 1"
        raise InputError("`original_copies` is out of range", got=options.original_copies, fix=fix)
    located: Iterable[Located] = locate_documents(documents, notes)
    with writing_into(folder), building(folder.absolute()) as work:  # workers may have another current folder
        stored = None if expansions is None else store(expansions, work / "expansions", progress)
        if stored:
            located = stored.joined(located, notes)
        reader = LanguageReader(options, notes)
        cut = batches(reader.checked(located), reader.analyzer)
        cut = cut if shards == 1 else at_least(cut, shards)
        tasks = ((work / f"segment-{i:06d}", batch, options) for i, batch in enumerate(cut))
        segments = _written(tasks, engine, progress)
        if stored:
            options = replace(options, expansions=stored.finish(notes))
        if shards == 1:
            finished = [finish(work / "data", merge(segments, work / "data", options))]
        else:
            finished = write_shards(segments, shards, work, options, engine)
        publish(finished, folder, notes, recording)


def _written(tasks: Iterator[Task], engine: Engine, progress: Callable[[int], object] | None) -> list[Segment]:
    segments = []
    for segment in write_segments(tasks, engine):
        if progress:
            progress(segment.n_docs)
        segments.append(segment)
    return sorted(segments)  # by their numbered folders
