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
from longrank.training.teacher import Taught, check_taught, taught_scores
from longrank.types import Notes, Qrels, Query, Run


@dataclass(frozen=True, slots=True)
class Data:
    """Queries, judgments and documents that one training learns from and is validated on.

    Attributes:
        index: the documents.
        queries: query_id -> query.
        qrels: judgments to learn from and to validate by.
        run: the first stage.
        train: ids of the training queries.
        dev: ids of the validation queries.
        dropped: judgments that sampling took away.
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
        data: what samples are drawn from.
        read_teacher: returns the teacher's scores, and notes remarks; default: reads them.

    Raises:
        InputError: as `make_samples` and `taught_scores`, a loss that does not fit, or a sampled document that the
            teacher lacks.
    """
    notes, options = Notes(), settings.samples
    candidate_options = CandidateOptions(
        relevance_level=options.relevance_level,
        depth=options.depth,
        in_run=options.in_run,
        negatives=options.negatives,
        ranks=None if options.ranks is None else (options.ranks[0], options.ranks[1]),
        unjudged=options.unjudged,
        dropped=options.dropped,
    )
    qrels = data.qrels if options.in_run else _judged_in_index(data, notes)
    samples = make_samples(
        options.kind,
        data.train,
        Sources(qrels, data.run, data.dropped, data.model_run, data.doc_ids),
        candidate_options,
        seed=settings.loop.seed,
        notes=notes,
        n_negatives=options.n_negatives,
    )
    _check_losses(settings, len(samples[0].doc_ids))
    if settings.teacher is None:
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
        raise InputError(f"the loss {taught[0]} needs a teacher", fix="set teacher.evidence")
    if settings.teacher is not None and not taught:
        names = ", ".join(term.name for term in settings.loss)
        raise InputError("no loss learns from the teacher", got=f"loss {names}", fix="add mse, margin-mse or kl")
