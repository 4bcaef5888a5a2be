"""Read relevance judgments (qrels) from a file, a collection, ir_datasets or values in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from longrank.collections.collection import IRDS, Collection, places
from longrank.errors import InputError
from longrank.formats.ids import check_id
from longrank.formats.trec import MAX_GRADE, REPEATED, note_judgments
from longrank.formats.trec import read_qrels as read_file
from longrank.types import Notes, Qrels, columns_of, id_of, is_frame

_HERE = Path("qrels")  # the place that messages name for values in memory
_FIX = "judgments are a file, a collection, irds:ID, query id -> doc id -> grade, or a table of qid, docno, label"


class Judgments(dict[str, dict[str, int]]):
    """query_id -> doc_id -> grade; `notes` counts remarks on accepted input."""

    def __init__(self, qrels: Mapping[str, dict[str, int]], notes: Notes) -> None:
        super().__init__(qrels)
        self.notes = notes

    def __repr__(self) -> str:
        return f"Judgments(queries={len(self)}, judgments={sum(map(len, self.values()))})"


def read_qrels(source: Any, notes: Notes | None = None) -> Judgments:
    """Read relevance judgments.

    Args:
        source: a file, a collection folder, a name of the catalogue or ``irds:ID``; or a mapping
            query id -> doc id -> grade, or a table with columns ``qid``, ``docno`` and ``label``.
        notes: counts remarks on accepted input; the result carries it.

    Raises:
        InputError: no judgment, an unusable value or id, a grade that is no integer from -127 to 127, two grades
            for one document and query, or a fault of the file.
        MissingExtra: ir_datasets is needed and not installed.

    Example:
        >>> read_qrels({"q1": {"d1": 1}})
        {'q1': {'d1': 1}}
    """
    notes = Notes() if notes is None else notes
    if isinstance(source, Judgments):
        return source
    if isinstance(source, str | Path | Collection):
        return read_judgments(places(source, "qrels"), notes)
    qrels: dict[str, dict[str, int]] = {}
    rows = (
        (_id(query_id, "query id"), _id(doc_id, "doc_id"), _grade(grade)) for query_id, doc_id, grade in _rows(source)
    )
    _add(qrels, rows, _HERE, notes)
    if not qrels:
        raise InputError("there is no judgment", got=source if isinstance(source, Mapping) else None, fix=_FIX)
    note_judgments(qrels, _HERE, notes)
    return Judgments(qrels, notes)


def read_judgments(sources: Iterable[str], notes: Notes) -> Judgments:
    """Read the judgments of several files, or of ``irds:ID``, as if they were one file.

    Raises:
        InputError, MissingExtra: as `read_qrels`.
    """
    qrels: dict[str, dict[str, int]] = {}
    for source in sources:
        for query_id, judged in _read(source, notes).items():
            if query_id not in qrels:
                qrels[query_id] = dict(judged)
                continue
            _add(qrels, ((query_id, *judgment) for judgment in judged.items()), Path(source), notes)
    return Judgments(qrels, notes)


def _read(source: str, notes: Notes) -> Qrels:
    if source.startswith(IRDS):
        from longrank.collections.irds import irds_qrels

        return irds_qrels(source.removeprefix(IRDS))
    return read_file(Path(source), notes)


def _add(qrels: dict[str, dict[str, int]], rows: Iterable[tuple[str, str, int]], place: Path, notes: Notes) -> None:
    for query_id, doc_id, grade in rows:
        judged = qrels.setdefault(query_id, {})
        known = judged.get(doc_id)
        if known not in (None, grade):
            what = f"document {doc_id} has two grades for query {query_id}: {known} and {grade}"
            raise InputError(what, path=place, fix="keep one of the two judgments")
        if known is not None:
            notes.add(REPEATED, str(place))
        judged[doc_id] = grade


def _rows(source: Any) -> Iterator[tuple[Any, Any, Any]]:
    if is_frame(source):
        yield from columns_of(source, ("qid", "query_id"), ("docno", "doc_id"), ("label", "relevance", "grade"))
        return
    if not isinstance(source, Mapping):
        raise InputError(f"no judgments can be read from a {type(source).__name__}", got=source, fix=_FIX)
    for query_id, judged in source.items():
        if not isinstance(judged, Mapping):
            raise InputError(f"judgments of query {query_id} are not a mapping", got=judged, fix=_FIX)
        yield from ((query_id, doc_id, grade) for doc_id, grade in judged.items())


def _id(value: Any, kind: str) -> str:
    return check_id(id_of(value, kind), kind, _HERE)


def _grade(value: Any) -> int:
    whole = isinstance(value, Integral) or (isinstance(value, Real) and float(value).is_integer())  # 1.0 after a merge
    if not whole or isinstance(value, bool) or abs(int(value)) > MAX_GRADE:
        raise InputError(f"grade is not an integer from -{MAX_GRADE} to {MAX_GRADE}", path=_HERE, got=value)
    return int(value)
