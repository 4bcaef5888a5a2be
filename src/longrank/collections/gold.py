"""Read gold passages and answers, from a file, a collection or values in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from longrank.collections.collection import IRDS, Collection, places
from longrank.collections.judgments import read_judgments
from longrank.errors import InputError
from longrank.formats.answers import checked_answers
from longrank.formats.answers import read_answers as read_answer_file
from longrank.formats.passage_qrels import PassageJudgment, read_passage_judgments
from longrank.formats.queries import is_jsonl
from longrank.formats.spans import pair_of
from longrank.types import Notes, id_of

_ANSWERS, _SPANS = Path("answers"), Path("spans")  # the places that messages name for values in memory


def read_answers(source: Any, notes: Notes | None = None) -> dict[str, tuple[str, ...]]:
    """Read the texts that answer queries; any text of a query answers it.

    Args:
        source: a JSONL file of queries with a field ``answers``, or a collection; or a mapping query id -> texts.
        notes: counts remarks on accepted input.

    Returns:
        query_id -> texts; only queries that have answers.

    Raises:
        InputError: answers that are no list of texts, an empty answer, or a fault of the file.

    Example:
        >>> read_answers({"q1": ["1973", "October 1973"]})
        {'q1': ('1973', 'October 1973')}
    """
    notes = Notes() if notes is None else notes
    if isinstance(source, str | Path | Collection):
        files = [place for place in places(source, "queries") if not place.startswith(IRDS) and is_jsonl(Path(place))]
        return {query_id: texts for file in files for query_id, texts in read_answer_file(Path(file), notes).items()}
    if not isinstance(source, Mapping):
        fix = "answers are a JSONL file of queries, a collection, or query id -> texts"
        raise InputError(f"no answers can be read from a {type(source).__name__}", got=source, fix=fix)
    answers = {id_of(query_id, "query id"): checked_answers(texts, _ANSWERS) for query_id, texts in source.items()}
    return {query_id: texts for query_id, texts in answers.items() if texts}


def read_gold_spans(source: Any, notes: Notes | None = None, *, grade: int = 1) -> list[PassageJudgment]:
    """Read judgments of passages.

    Args:
        source: a file in a form of `longrank.formats.passage_qrels`, or a collection; or a mapping query id -> doc id
            -> (start, end) pairs.
        notes: counts remarks on accepted input.
        grade: grade of spans in memory.

    Raises:
        InputError: spans that are no pairs of integers, or a fault of the file.
    """
    notes = Notes() if notes is None else notes
    if isinstance(source, str | Path | Collection):
        return [row for place in places(source, "passage_qrels") for row in _judgments_in(place, notes)]
    return [
        PassageJudgment(id_of(query_id, "query id"), id_of(doc_id, "doc_id"), _span(span), grade, _SPANS, None)
        for query_id, doc_id, span in _rows(source)
    ]


def read_passage_qrels(source: str | Path, notes: Notes) -> dict[str, dict[str, int]]:
    """Read judgments of passages as if the passages were documents.

    Args:
        source: a file in TREC format, a collection folder, a name of the catalogue or ``irds:ID``.
        notes: counts remarks on accepted input.

    Returns:
        query_id -> passage id -> grade; from ir_datasets, a passage id is ``doc_id#number``.

    Raises:
        InputError: the collection judges no passages, or a fault of the file.
    """
    parts = places(source, "passage_qrels")
    qrels = dict(read_judgments([place for place in parts if not place.startswith(IRDS)], notes))
    for place in parts:
        for row in _judgments_in(place, notes) if place.startswith(IRDS) else ():
            qrels.setdefault(row.query_id, {})[f"{row.doc_id}#{row.passage}"] = row.grade
    return qrels


def _judgments_in(place: str, notes: Notes) -> list[PassageJudgment]:
    if place.startswith(IRDS):
        from longrank.collections.irds import irds_passage_judgments

        return irds_passage_judgments(place.removeprefix(IRDS), notes)
    return read_passage_judgments(Path(place), notes)


def _rows(source: Any) -> Iterator[tuple[Any, Any, Any]]:
    try:
        for query_id, documents in source.items():
            for doc_id, spans in documents.items():
                yield from ((query_id, doc_id, span) for span in spans)
    except (AttributeError, TypeError):
        fix = "gold spans are a file, a collection, or query id -> doc id -> (start, end) pairs"
        raise InputError("is no mapping of gold spans", path=_SPANS, got=source, fix=fix) from None


def _span(span: Any) -> tuple[int, int]:
    pair = pair_of(span)
    if pair is None:
        raise InputError("a gold span is no (start, end) pair", path=_SPANS, got=span)
    return pair
