"""Read relevance judgments (qrels) from a file, a collection, ir_datasets or values in memory."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from longrank.collections.collection import IRDS, open_collection, places
from longrank.collections.collection import Collection as Collected
from longrank.errors import InputError
from longrank.formats.ids import check_id
from longrank.formats.trec import MAX_GRADE, REPEATED, note_judgments, read_grades
from longrank.types import Notes, columns_of, id_of, is_frame

_HERE = Path("qrels")  # the place that messages name for values in memory
EARLIER = "documents judged in earlier rounds count: `residual` of evaluate leaves out those of judged-before.txt"
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
    if isinstance(source, str | Path | Collected):
        if earlier_of(source):
            notes.say(EARLIER)
        return read_judgments(places(source, "qrels"), notes)
    qrels = _joined([(_HERE, _checked(_rows(source), _HERE))], notes)
    if not qrels:
        raise InputError("there is no judgment", got=source if isinstance(source, Mapping) else None, fix=_FIX)
    return Judgments(qrels, notes)


def earlier_of(source: Any) -> tuple[str, ...]:
    """Return the files of judgments of earlier rounds of a collection; none of other sources."""
    if not isinstance(source, str | Path | Collected) or places(source, "qrels") == (str(source),):
        return ()
    return open_collection(source).judged_before


def read_judgments(sources: Sequence[str], notes: Notes) -> Judgments:
    """Read the judgments of several files, or of ``irds:ID``, as if they were one file.

    Raises:
        InputError, MissingExtra: as `read_qrels`.
    """
    qrels = _joined([(Path(source), _rows_of(source, notes)) for source in sources], notes)
    if sources and not qrels:
        raise InputError("holds no judgment", path=sources[0])
    return Judgments(qrels, notes)


def note_topics(qrels: Collection[str], queries: Container[str], notes: Notes) -> None:
    """Count the judged topics that are not among the queries."""
    for query_id in sorted(query_id for query_id in qrels if query_id not in queries):
        notes.add("judged topics that are not among the queries, left out", query_id)


def _joined(parts: Sequence[tuple[Path, Iterable[tuple[str, str, int]]]], notes: Notes) -> dict[str, dict[str, int]]:
    """Join the judgments of several places."""
    qrels: dict[str, dict[str, int]] = {}
    for place, rows in parts:
        for query_id, doc_id, grade in rows:
            judged = qrels.setdefault(query_id, {})
            if doc_id not in judged:
                judged[doc_id] = grade
                continue
            if judged[doc_id] != grade:
                what = f"document {doc_id} has two grades for query {query_id}: {judged[doc_id]} and {grade}"
                raise InputError(what, path=place, fix="keep one of the two judgments")
            notes.add(REPEATED, str(place))
    note_judgments(qrels, Path(", ".join(str(place) for place, _ in parts)), notes)
    return qrels


def _rows_of(source: str, notes: Notes) -> Iterator[tuple[str, str, int]]:
    if source.startswith(IRDS):
        from longrank.collections.irds import irds_judgments

        yield from _checked(irds_judgments(source.removeprefix(IRDS)), Path(source))
        return
    for query_id, judged in read_grades(Path(source), notes).items():
        yield from ((query_id, doc_id, grade) for doc_id, grade in judged.items())


def _checked(rows: Iterable[tuple[Any, Any, Any]], place: Path) -> Iterator[tuple[str, str, int]]:
    for query_id, doc_id, grade in rows:
        yield _id(query_id, "query id", place), _id(doc_id, "doc_id", place), _grade(grade, place)


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


def _id(value: Any, kind: str, place: Path) -> str:
    return check_id(id_of(value, kind), kind, place)


def _grade(value: Any, place: Path) -> int:
    whole = isinstance(value, Integral) or (isinstance(value, Real) and float(value).is_integer())  # 1.0 after a merge
    if not whole or isinstance(value, bool) or abs(int(value)) > MAX_GRADE:
        raise InputError(f"grade is not an integer from -{MAX_GRADE} to {MAX_GRADE}", path=place, got=value)
    return int(value)
