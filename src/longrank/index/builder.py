"""Builds an index from a stream of documents in bounded memory.

documents (+ expansions) -> batches -> segments (in this or several processes) -> merged index -> one atomic step

Batches are cut by the size of what they index alone, and nothing in the result tells where they
were cut, so it depends neither on the number of processes nor on an earlier, interrupted build.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longrank.errors import InputError, LongRankError
from longrank.index.batches import batches
from longrank.index.expansions import store
from longrank.index.folder import building, publish
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
    documents: Iterable[Located],
    folder: Path | str,
    *,
    options: IndexOptions | None = None,
    expansions: Iterable[Expansion] | None = None,
    notes: Notes | None = None,
    progress: Callable[[int], None] | None = None,
    workers: int = 1,
) -> Index:
    """Index `documents` into `folder`; an index that is there already is replaced when all is done.

    Args:
        documents: each with the file and line it came from; read once.
        folder: absent, empty, or an index.
        options: how documents become terms.
        expansions: queries predicted for the documents, which are indexed with them; see `longrank.index.expansions`.
        notes: counts documents in which nothing is left to index, and what did not fit among the expansions.
        progress: called now and then with the number of documents just indexed; before that, with the
            number of expansions just read.
        workers: processes to use besides this one, which then only reads; a script that asks for
            more than 1 needs the usual ``if __name__ == "__main__"``.

    Raises:
        InputError: no document, a doc_id twice, an unknown analyzer, or a folder that is not ours;
            expansions of another collection, or whose ids can mean two documents; too many `original_copies`.
        LongRankError: writing failed.
    """
    options = options or IndexOptions()
    if options.analyzer not in ANALYZERS:
        raise InputError("unknown analyzer", got=options.analyzer, fix=f"one of {', '.join(sorted(ANALYZERS))}")
    if not 1 <= options.original_copies <= (1 if expansions is None else _MOST_COPIES):
        fix = f"1 to {_MOST_COPIES} where there are expansions, else 1"
        raise InputError("a document cannot be indexed so many times", got=options.original_copies, fix=fix)
    folder, notes = Path(folder), Notes() if notes is None else notes
    try:
        with building(folder) as work:
            stored = None if expansions is None else store(expansions, work / "expansions", progress)
            if stored:
                documents = stored.joined(documents, notes)
            tasks = ((work / f"segment-{i:06d}", batch, options) for i, batch in enumerate(batches(documents)))
            segments = _written(tasks, workers, progress)
            if stored:
                options = replace(options, expansions=stored.finish(notes))
            _finish(segments, work, folder, options)
    except OSError as error:
        raise LongRankError(f"cannot write {folder}: {error.strerror or error}") from error
    index = Index(folder)
    notes.add("documents without a term, which no query finds", count=index.n_docs - index.n_nonempty)
    return index


def _written(tasks: Iterator[Task], workers: int, progress: Callable[[int], None] | None) -> list[Segment]:
    segments = []
    for segment in write_segments(tasks, workers):
        if progress:
            progress(segment.n_docs)
        segments.append(segment)
    if not segments:
        raise InputError("no documents to index")
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
