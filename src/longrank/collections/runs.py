"""Read runs from a file or values in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.formats.ids import check_ids
from longrank.formats.trec import read_run as read_file
from longrank.types import Notes, Run, is_frame

_HERE = Path("run")  # the place that messages name for values in memory
_FIX = "a run is a file, a Run, query id -> doc id -> score, or a table of qid, docno, score"


def read_run(source: Any, notes: Notes | None = None) -> Run:
    """Read a run.

    Args:
        source: a TREC file, ``.gz`` or not; a `Run`; a mapping query id -> doc id -> score; or a table with columns
            ``qid``, ``docno`` and ``score``.
        notes: counts remarks on accepted input; the result carries it.

    Raises:
        InputError: an empty run, an unusable value or id, a score that is no finite number, a document twice for a
            query, or a fault of the file.

    Example:
        >>> read_run({"q1": {"d1": 2.0, "d2": 3.0}})["q1"][0].doc_id
        'd2'
    """
    notes = Notes() if notes is None else notes
    if isinstance(source, Run):
        return source
    if isinstance(source, str | Path):
        if not str(source):
            raise InputError("the name of the run file is empty")
        run = read_file(Path(source), notes)
    elif is_frame(source):
        run = Run.from_frame(source)
    else:
        run = Run.from_values("longrank", _rows(source))
    if not len(run):
        raise InputError("the run is empty", fix=_FIX)
    if not isinstance(source, str | Path):
        check_ids(list(run), "query id", _HERE)
        check_ids([row.doc_id for row in run.rows()], "doc_id", _HERE)
        run.note_rankings(run.notes, f"the run '{run.tag}' in memory")
        notes.merge(run.notes)
    run.notes = notes
    return run


def _rows(source: Any) -> Iterator[tuple[Any, Any, Any]]:
    if not isinstance(source, Mapping):
        raise InputError(f"no run can be read from a {type(source).__name__}", got=source, fix=_FIX)
    for query_id, scores in source.items():
        if not isinstance(scores, Mapping):
            raise InputError(f"the ranking of query {query_id} is not a mapping", got=scores, fix=_FIX)
        yield from ((query_id, doc_id, score) for doc_id, score in scores.items())
