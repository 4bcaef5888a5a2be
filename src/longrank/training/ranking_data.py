"""Data of a document network's training: rankings, judgments and a teacher become samples; no torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from longrank.errors import InputError
from longrank.index import Index
from longrank.training.candidates import CandidateOptions, Sources
from longrank.training.loss_terms import check_reads, loss_fault, loss_kind
from longrank.training.samples import Samples, make_samples
from longrank.training.settings import DocumentTraining
from longrank.training.teacher_evidence import Taught, TeacherEvidence, check_taught, read_teacher_evidence
from longrank.types import Notes, Qrels, Query, Run


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
    settings: DocumentTraining, data: Data, read_teacher: Callable[[], TeacherEvidence] | None = None
) -> Material:
    """Draw the samples of a training, read its teacher, and check that the losses can learn from both.

    Args:
        settings: the whole training.
        data: queries, judgments and documents.
        read_teacher: returns the teacher's evidence; None: read it.

    Raises:
        InputError: as `make_samples` and `read_teacher_evidence`, a loss that does not fit, or a sampled document that
            the teacher lacks.
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
        evidence = read_teacher_evidence(settings, data.index, data.queries, set(data.train))
    else:
        evidence = read_teacher()
    notes.merge(evidence.notes)
    check_taught(samples.candidates, evidence.scores)
    return Material(samples, evidence.scores, notes)


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
