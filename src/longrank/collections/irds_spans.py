"""Datasets of ir_datasets that judge stretches of a document: TREC Genomics 2006 and 2007 (``highwire``).

A document comes in the stretches that a run of the track may return, its passages. The judges marked stretches of their
own, as (start, length) in the bytes of the source. A judged stretch gives its grade to each passage that it overlaps,
and the highest grade to the document: a document is relevant if a stretch of it is (Hersh et al., TREC 2006).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from longrank.formats.passage_qrels import PassageJudgment
from longrank.types import Notes


class Stretch(NamedTuple):
    """A judged stretch of a document: bytes from `start` on, and its grade."""

    query_id: str
    doc_id: str
    start: int
    length: int
    grade: int


def has_spans(dataset: Any) -> bool:
    """Tell whether the judgments of a dataset are of stretches of documents."""
    if not dataset.has_qrels():
        return False
    fields = getattr(dataset.qrels_cls(), "_fields", ()) if hasattr(dataset, "qrels_cls") else ()
    return {"start", "length"} <= set(fields)


def text_and_passages(spans: Sequence[Any]) -> dict[str, Any]:
    """Return ``text`` and ``passages`` of a document that comes in spans; spans without a word are left out."""
    texts = [span.text for span in _filled(spans)]
    passages, start = [], 0
    for text in texts:
        passages.append([start, start + len(text)])
        start += len(text) + 1
    return {"text": "\n".join(texts), "passages": passages}


def highest_grades(stretches: Iterable[Stretch]) -> dict[str, dict[str, int]]:
    """Return query_id -> doc_id -> the highest grade of a stretch of the document."""
    qrels: dict[str, dict[str, int]] = {}
    for query_id, doc_id, _, _, grade in stretches:
        judged = qrels.setdefault(query_id, {})
        judged[doc_id] = max(grade, judged.get(doc_id, grade))
    return qrels


def passage_judgments(
    stretches: Iterable[Stretch], spans_of: Callable[[str], Sequence[Any] | None], path: Path, notes: Notes
) -> list[PassageJudgment]:
    """Return the judgments of passages, by document, query and passage.

    Args:
        stretches: the judged stretches.
        spans_of: doc_id -> its spans, each with start, length and text; None: there is no such document.
        path: the place that messages name.
        notes: counts judged stretches that lie in no passage.
    """
    by_document: dict[str, list[Stretch]] = {}
    for stretch in stretches:
        by_document.setdefault(stretch.doc_id, []).append(stretch)
    judgments = []
    for doc_id, judged in sorted(by_document.items()):
        grades = _grades(judged, _filled(spans_of(doc_id) or ()), notes)
        judgments += [PassageJudgment(q, doc_id, n, grade, path, None) for (q, n), grade in sorted(grades.items())]
    return judgments


def _grades(judged: Iterable[Stretch], spans: Sequence[Any], notes: Notes) -> Mapping[tuple[str, int], int]:
    """Return (query_id, passage number) -> the highest grade of a stretch that overlaps the passage."""
    grades: dict[tuple[str, int], int] = {}
    for stretch in judged:
        end = stretch.start + stretch.length
        numbers = [n for n, span in enumerate(spans) if span.start < end and stretch.start < span.start + span.length]
        notes.add("judged stretches that lie in no passage", f"document {stretch.doc_id}", not numbers)
        for number in numbers:
            key = (stretch.query_id, number)
            grades[key] = max(stretch.grade, grades.get(key, stretch.grade))
    return grades


def _filled(spans: Sequence[Any]) -> list[Any]:
    return [span for span in spans if span.text.strip()]
