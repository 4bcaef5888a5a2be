"""Build an index of a stream of documents in bounded memory.

documents (+ expansions) -> batches -> segments (in this or several processes) -> merged index -> one atomic step

Batches are cut by the size of the documents alone, and the result does not depend on the cuts, on the number of
processes or on an earlier, interrupted build.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longrank.collections.documents import locate_documents
from longrank.errors import InputError, LongRankError
from longrank.index.batches import batches
from longrank.index.expansions import store
from longrank.index.folder import building, folder_path, publish
from longrank.index.merge import merge
from longrank.index.options import IndexOptions
from longrank.index.reader import Index
from longrank.index.segments import Segment
from longrank.index.workers import Task, write_segments
from longrank.text.analysis import ANALYZERS
from longrank.types import Notes

if TYPE_CHECKING:
    from longrank.formats.corpora import Located
    from longrank.formats.expansions import Expansion

_MOST_COPIES = 100


def build_index(
    documents: Any,
    folder: Path | str | None = None,
    *,
    options: IndexOptions | None = None,
    expansions: Iterable[Expansion] | None = None,
    notes: Notes | None = None,
    progress: Callable[[int], object] | None = None,
    workers: int = 1,
) -> Index:
    """Index documents as `Index.build`, whose options come from values instead of files.

    Args:
        documents: as the source of `Index.build`; read once.
        folder: as for `Index.build`.
        options: analyzer and fields.
        expansions: queries predicted for the documents, which are indexed with them; see `longrank.index.expansions`.
        notes: counts documents without terms, and expansions that fit no document.
        progress: as for `Index.build`.
        workers: as for `Index.build`.

    Raises:
        InputError, MissingExtra, LongRankError: as `Index.build`; expansions of another collection, or whose ids can
            mean two documents; too many `original_copies`.
    """
    if folder is None:
        return _temporary(
            documents, options=options, expansions=expansions, notes=notes, progress=progress, workers=workers
        )
    options = options or IndexOptions()
    if options.analyzer not in ANALYZERS:
        raise InputError("unknown analyzer", got=options.analyzer, fix=f"one of {', '.join(sorted(ANALYZERS))}")
    if not 1 <= options.original_copies <= (1 if expansions is None else _MOST_COPIES):
        fix = f"1 to {_MOST_COPIES} with expansions, else 1"
        raise InputError("original_copies is out of range", got=options.original_copies, fix=fix)
    folder, notes = folder_path(folder), Notes() if notes is None else notes
    located: Iterable[Located] = locate_documents(documents, notes)
    try:
        with building(folder) as work:
            stored = None if expansions is None else store(expansions, work / "expansions", progress)
            if stored:
                located = stored.joined(located, notes)
            tasks = ((work / f"segment-{i:06d}", batch, options) for i, batch in enumerate(batches(located)))
            segments = _written(tasks, workers, progress)
            if stored:
                options = replace(options, expansions=stored.finish(notes))
            _finish(segments, work, folder, options)
    except OSError as error:
        raise LongRankError(f"cannot write {folder}: {error.strerror or error}") from error
    index = Index(folder)
    notes.add("documents without a term, which no query finds", count=index.n_docs - index.n_nonempty)
    index.notes = notes
    return index


def _temporary(documents: Any, **options: Any) -> Index:
    """Build an index in a temporary folder, which is removed with the index, at the latest when Python ends."""
    folder = Path(tempfile.mkdtemp(prefix="longrank-index-"))
    try:
        index = build_index(documents, folder, **options)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(index, shutil.rmtree, folder, ignore_errors=True)
    return index


def _written(tasks: Iterator[Task], workers: int, progress: Callable[[int], object] | None) -> list[Segment]:
    segments = []
    for segment in write_segments(tasks, workers):
        if progress:
            progress(segment.n_docs)
        segments.append(segment)
    return sorted(segments)  # by their numbered folders


def _finish(segments: list[Segment], work: Path, folder: Path, options: IndexOptions) -> None:
    data = work / "data"
    data.mkdir()
    meta: dict[str, Any] = {
        "options": options.as_json(),
        "n_nonempty": sum(s.n_nonempty for s in segments),
        "total_terms": sum(s.n_tokens for s in segments),
        "tf_type": merge(segments, data),
    }
    publish(data, folder, meta)
