"""Read the evidence of a teacher, whose scores a document network learns; no torch."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from longrank.aggregation import find_aggregation, make_aggregator
from longrank.errors import InputError
from longrank.formats.evidence import LINEAGE, read_evidence
from longrank.index import Index
from longrank.index.languages import digest_of_queries
from longrank.storage import sha256_of, unchanged
from longrank.training.candidates import Candidates
from longrank.training.loss_terms import loss_kind
from longrank.training.settings import DocumentTraining, TeacherSettings
from longrank.types import Notes, Query

Taught: TypeAlias = Mapping[tuple[str, str], float]
"""(query_id, doc_id) -> the teacher's score."""


class TeacherEvidence(NamedTuple):
    """Scores of a teacher, remarks on them, the trainings of the teacher, and the SHA-256 of its evidence file."""

    scores: Taught
    notes: Notes
    lineage: Sequence[Mapping[str, str]]
    digest: str


def read_teacher_evidence(
    settings: DocumentTraining, index: Index, queries: Mapping[str, Query], query_ids: Container[str]
) -> TeacherEvidence:
    """Read a teacher's score of each document of some queries.

    Args:
        settings: the training; it has a teacher.
        index: the documents. Evidence of another index is matched by document ids, and noted.
        queries: query_id -> query. Evidence of other queries is matched by query ids, and noted.
        query_ids: the queries to read.

    Raises:
        InputError: an unknown aggregator, an aggregator that needs options, no evidence file, a file that changes
            meanwhile, or scores that a loss cannot learn.
        IntegrityError: the evidence is damaged or unfinished.
    """
    teacher = settings.teacher or TeacherSettings(evidence="")
    aggregate, path = make_aggregator(teacher.aggregator), Path(teacher.evidence or "")
    if not path.exists():
        fix = "rerank the training queries with the teacher, and --set teacher.evidence=ITS.run.evidence"
        raise InputError("the teacher's evidence: no such file", path=path, fix=fix)
    with unchanged([path]):
        digest, notes = sha256_of(path), Notes()
        header, evidence = read_evidence(path)
        _check(settings, header, path)
        read, scores = dict[str, Query](), dict[tuple[str, str], float]()
        for document in evidence:
            query_id = document.query_id
            read[query_id] = queries.get(query_id, Query(query_id, ""))
            if query_id in query_ids:
                scores[query_id, document.doc_id] = aggregate(document)
    if header.get("collection") != index.digest:
        notes.say("the teacher has read another index: its documents are matched by their ids")
    if header.get("queries") != digest_of_queries(read.values(), index.options):
        notes.say("the teacher has read other queries, or more than these: they are matched by their ids")
    return TeacherEvidence(scores, notes, header.get(LINEAGE, []), digest)


def _check(settings: DocumentTraining, header: Mapping[str, Any], path: Path) -> None:
    """Refuse evidence that does not give two outputs, if a loss learns both.

    Raises:
        InputError: such evidence.
    """
    aggregator = (settings.teacher or TeacherSettings(evidence="")).aggregator
    if learns_two_outputs(settings) and (header["unit"] != "logprob" or not find_aggregation(aggregator).picks):
        raise InputError(
            "a loss learns two outputs of the teacher, which the log-probability of a document or of one passage gives",
            path=path,
            got=f"unit {header['unit']}, aggregator {aggregator}",
            fix="a network of one output learns any score by mse",
        )


def learns_two_outputs(settings: DocumentTraining) -> bool:
    """Say whether a loss learns both outputs of a teacher; evidence holds the log-probability of the second."""
    return any(loss_kind(term).outputs == (2,) for term in settings.loss)


def check_taught(candidates: Iterable[Candidates], taught: Taught, path: str | None = None) -> None:
    """Refuse a teacher that lacks a document that may be sampled.

    Args:
        candidates: the documents that samples are drawn from.
        taught: the teacher's scores.
        path: the teacher's evidence, for the message.

    Raises:
        InputError: it lacks a document; names the first.
    """
    for query in candidates:
        for doc_ids in (query.positives, query.negatives):
            lacking = next((doc_id for doc_id in doc_ids if (query.query_id, doc_id) not in taught), None)
            if lacking is not None:
                raise InputError(
                    f"the teacher lacks document '{lacking}' of query '{query.query_id}', which may be drawn",
                    path=path,
                    fix="let samples.depth be at most the depth of the evidence, with in_run = true, negatives = run",
                )
