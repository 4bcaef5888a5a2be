"""Data of a document network's training: rankings, judgments and a teacher become samples; no torch."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

from longrank.aggregation import find_aggregation, make_aggregator
from longrank.errors import InputError
from longrank.formats.evidence import read_evidence
from longrank.index import Index
from longrank.index.languages import digest_of_queries
from longrank.training.candidates import CandidateOptions, Candidates, Sources
from longrank.training.loss_terms import check_reads, loss_fault, loss_kind
from longrank.training.samples import Samples, make_samples
from longrank.training.settings import DocumentTraining, TeacherSettings
from longrank.types import Notes, Qrels, Query, Run

Taught: TypeAlias = Mapping[tuple[str, str], float]
"""(query_id, doc_id) -> the teacher's score."""


@dataclass(frozen=True, slots=True)
class Data:
    """Queries, judgments and documents of a training.

    Attributes:
        index: the documents.
        queries: query_id -> query.
        qrels: judgments to learn from and to validate by.
        run: the first stage.
        train: ids of the training queries.
        dev: ids of the validation queries.
        dropped: judgments that were sampled away.
        model_run: another run that negatives come from.
        doc_ids: all documents of the index, where negatives are random.
    """

    index: Index
    queries: Mapping[str, Query]
    qrels: Qrels
    run: Run
    train: Sequence[str]
    dev: Sequence[str]
    dropped: Qrels = field(default_factory=dict)
    model_run: Run | None = None
    doc_ids: Sequence[str] | None = None


class Material(NamedTuple):
    """Samples of a training, its teacher's scores by (query_id, doc_id) if it has a teacher, and remarks on both."""

    samples: Samples
    taught: Taught | None
    notes: Notes


def make_material(
    settings: DocumentTraining, data: Data, read_teacher: Callable[[Notes], Taught] | None = None
) -> Material:
    """Draw the samples of a training, read its teacher, and check that the losses can learn from both.

    Args:
        settings: the whole training.
        data: queries, judgments and documents.
        read_teacher: returns the teacher's scores and notes remarks; None: read its evidence.

    Raises:
        InputError: as `make_samples` and `taught_scores`, a loss that does not fit, or a sampled document that the
            teacher lacks.
    """
    notes, options = Notes(), settings.samples
    own = {"kind", "n_negatives", "model_run", "passages", "keep"}
    qrels = data.qrels if options.in_run else _judged_in_index(data, notes)
    samples = make_samples(
        options.kind,
        data.train,
        Sources(qrels, data.run, data.dropped, data.model_run, data.doc_ids),
        CandidateOptions(**options.model_dump(exclude=own)),
        seed=settings.loop.seed,
        notes=notes,
        n_negatives=options.n_negatives,
    )
    _check_losses(settings, len(samples[0].doc_ids))
    if settings.teacher is None or settings.teacher.evidence is None:
        return Material(samples, None, notes)
    if read_teacher is None:
        taught = taught_scores(settings, data.index, data.queries, set(data.train), notes)
    else:
        taught = read_teacher(notes)
    check_taught(samples.candidates, taught)
    return Material(samples, taught, notes)


def _judged_in_index(data: Data, notes: Notes) -> Qrels:
    """Return the training queries' judgments of documents in the index; qrels may be of a larger collection."""
    kept: dict[str, dict[str, int]] = {}
    for query_id in data.train:
        judged = data.qrels.get(query_id, {})
        kept[query_id] = {doc_id: grade for doc_id, grade in judged.items() if doc_id in data.index}
        lacking = next((doc_id for doc_id in judged if doc_id not in kept[query_id]), "")
        notes.add("judged documents that the index lacks, left out", lacking, len(judged) - len(kept[query_id]))
    return kept


def _check_losses(settings: DocumentTraining, width: int) -> None:
    """Refuse losses that need other samples than those of `width` documents, and a teacher without a loss.

    Raises:
        InputError: such losses or such a teacher; or a loss that is not of documents' scores or outputs.
    """
    check_reads(settings.loss, ("scores", "logits"), "document network")
    if fault := loss_fault(settings.loss, "documents", width, taught=True):
        raise InputError(fault, got=f"samples.kind = {settings.samples.kind}")
    taught = [term.name for term in settings.loss if loss_kind(term).needs == "teacher"]
    if taught and settings.teacher is None:
        raise InputError(f"the loss {taught[0]} needs a teacher", fix="set teacher.evidence or teacher.model")
    if settings.teacher is not None and not taught:
        names = ", ".join(term.name for term in settings.loss)
        raise InputError("no loss learns from the teacher", got=f"loss {names}", fix="add mse, margin-mse or kl")
    if settings.teacher is not None and settings.teacher.model is None:
        _check_evidence_suffices(settings)


def _check_evidence_suffices(settings: DocumentTraining) -> None:
    """Refuse losses of a teacher's own logits if the teacher is evidence.

    Raises:
        InputError: such a loss.
    """
    own = next((term.name for term in settings.loss if loss_kind(term).own_logits), None)
    if own is not None:
        raise InputError(
            f"the loss {own} needs the teacher's own logits, and evidence holds one score of a document",
            got="teacher.evidence",
            fix="set teacher.model, a document network; or learn the score by mse",
        )


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
        InputError: an unknown aggregator, an aggregator that needs options, no evidence file, or scores that a
            loss cannot learn.
        IntegrityError: the evidence is damaged or unfinished.
    """
    teacher = settings.teacher or TeacherSettings(evidence="")
    aggregate, path = make_aggregator(teacher.aggregator), Path(teacher.evidence or "")
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
    read, scores = dict[str, Query](), dict[tuple[str, str], float]()
    for document in evidence:
        query_id = document.query_id
        read[query_id] = queries.get(query_id, Query(query_id, ""))
        if query_id in query_ids:
            scores[query_id, document.doc_id] = aggregate(document)
    if header.get("queries") != digest_of_queries(read.values(), index.options):
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
    with_evidence = settings.teacher is None or settings.teacher.model is None
    for term in settings.loss:
        kind = loss_kind(term)
        if kind.reads != "logits" or kind.needs != "teacher":
            continue
        if kind.outputs == (2,) and n_outputs != 2:
            fix = "set network.options.outputs = 2; of networks of passage scores (maxp, ...), none has two"
            raise InputError(f"the loss {term.name} needs a network of two outputs", got=n_outputs, fix=fix)
        if kind.outputs != (2,) and n_outputs != 1 and with_evidence:
            what = f"the loss {term.name} needs a network of one output, since evidence holds one score of a document"
            raise InputError(what, got=n_outputs, fix="set network.options.outputs = 1")


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
