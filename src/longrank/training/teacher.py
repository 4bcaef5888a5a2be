"""A teacher's scores: read from an evidence file, checked against the losses and the samples; no torch."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from longrank.aggregation import find_aggregation, make_aggregator
from longrank.errors import InputError
from longrank.formats.evidence import read_evidence
from longrank.index import Index
from longrank.storage import digest_of
from longrank.training.candidates import Candidates
from longrank.training.loss_terms import loss_kind
from longrank.training.settings import DocumentTraining, TeacherSettings
from longrank.types import Notes, Query

Taught: TypeAlias = Mapping[tuple[str, str], float]
"""(query_id, doc_id) -> the teacher's score."""


def learns_two_outputs(settings: DocumentTraining) -> bool:
    """Say whether a loss learns both outputs of a teacher; evidence holds the log-probability of the second."""
    return any(loss_kind(term).outputs == (2,) for term in settings.loss)


def taught_scores(
    settings: DocumentTraining, index: Index, queries: Mapping[str, Query], query_ids: Container[str], notes: Notes
) -> Taught:
    """Read a teacher's score of each document of some queries.

    Args:
        settings: the training; it has a teacher.
        index: the documents. Evidence of another index is matched by document ids, and noted.
        queries: query_id -> query. Evidence of other queries is matched by query ids, and noted.
        query_ids: the queries to read.
        notes: see above.

    Raises:
        InputError: an unknown aggregator, one that needs options, no evidence file, or scores that a loss cannot learn.
        IntegrityError: the evidence is damaged or unfinished.
    """
    teacher = settings.teacher or TeacherSettings(evidence="")
    aggregate, path = make_aggregator(teacher.aggregator), Path(teacher.evidence)
    if not path.exists():
        fix = "rerank the training queries with the teacher, and --set teacher.evidence=ITS.run.evidence"
        raise InputError("the teacher's evidence: no such file", path=path, fix=fix)
    header, evidence = read_evidence(path)
    if header.get("collection") != index.digest:
        notes.say("the teacher has read another index: its documents are matched by their ids")
    if learns_two_outputs(settings) and (header["unit"] != "logprob" or not find_aggregation(teacher.aggregator).picks):
        raise InputError(
            "a loss learns two outputs of the teacher, which the log-probability of a document or of one passage gives",
            path=path,
            got=f"unit {header['unit']}, aggregator {teacher.aggregator}",
            fix="a network of one output learns any score by mse",
        )
    texts, scores = dict[str, str](), dict[tuple[str, str], float]()
    for document in evidence:
        query_id = document.query_id
        texts[query_id] = queries[query_id].text if query_id in queries else ""
        if query_id in query_ids:
            scores[query_id, document.doc_id] = aggregate(document)
    if header.get("queries") != digest_of([list(pair) for pair in texts.items()]):
        notes.say("the teacher has read other queries, or more than these: they are matched by their ids")
    return scores


def check_outputs(settings: DocumentTraining, n_outputs: int) -> None:
    """Refuse losses of outputs that the network or its teacher does not have.

    Args:
        settings: the training.
        n_outputs: outputs of the network for a document, 1 or 2.

    Raises:
        InputError: such a loss.
    """
    for term in settings.loss:
        kind = loss_kind(term)
        if kind.reads != "logits" or kind.needs != "teacher":
            continue
        if kind.outputs == (2,) and n_outputs != 2:
            fix = "set network.options.outputs = 2; of networks of passage scores (maxp, ...), none has two"
            raise InputError(f"the loss {term.name} needs a network of two outputs", got=n_outputs, fix=fix)
        if kind.outputs != (2,) and n_outputs != 1:
            what = f"the loss {term.name} needs a network of one output, since evidence holds one score of a document"
            raise InputError(what, got=n_outputs, fix="set network.options.outputs = 1")


def check_taught(candidates: Iterable[Candidates], taught: Taught) -> None:
    """Refuse a teacher that lacks a document that may be sampled.

    Args:
        candidates: the documents that samples are drawn from.
        taught: the teacher's scores.

    Raises:
        InputError: it lacks a document; names the first.
    """
    for query in candidates:
        for doc_ids in (query.positives, query.negatives):
            lacking = next((doc_id for doc_id in doc_ids if (query.query_id, doc_id) not in taught), None)
            if lacking is not None:
                raise InputError(
                    f"the teacher lacks document '{lacking}' of query '{query.query_id}', which may be drawn",
                    fix="let samples.depth be at most the depth of the evidence, with in_run = true, negatives = run",
                )
