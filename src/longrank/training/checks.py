"""What a training must have before it begins, so that nothing is found missing after hours of it; no torch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from longrank.errors import InputError
from longrank.formats.folds import Fold
from longrank.index import Index
from longrank.training.candidates import Candidates
from longrank.training.loss_terms import check_reads, loss_fault, loss_kind
from longrank.training.settings import DocumentTraining
from longrank.types import Qrels, Run

_NO_VALIDATION = "leave validation out: --set loop.validate_every= (and loop.patience=)"


def check_losses(settings: DocumentTraining, width: int) -> None:
    """Refuse losses that want other instances than the samples are, and a teacher too few or too many.

    Args:
        settings: the training.
        width: documents of an instance.

    Raises:
        InputError: as said; or a loss that is not of documents' scores or outputs.
    """
    check_reads(settings.loss, ("scores", "logits"), "document network")
    taught = any(loss_kind(term).needs == "teacher" for term in settings.loss)
    if fault := loss_fault(settings.loss, "documents", width, taught=settings.teacher is not None):
        raise InputError(fault, got=f"samples.kind = {settings.samples.kind}", fix="set samples.kind or teacher.evidence")
    if not taught and settings.teacher is not None:
        names = ", ".join(term.name for term in settings.loss)
        raise InputError("no loss learns from the teacher", got=f"loss {names}", fix="add mse, margin-mse or kl")


def check_outputs(settings: DocumentTraining, n_outputs: int) -> None:
    """Refuse losses of outputs that the network, or its teacher, does not have.

    Args:
        settings: the training.
        n_outputs: what the network gives for a document, 1 or 2.

    Raises:
        InputError: as said.
    """
    for term in settings.loss:
        kind = loss_kind(term)
        if kind.reads != "logits" or kind.needs != "teacher":
            continue
        if kind.outputs == (2,) and n_outputs != 2:
            fix = "set network.options.outputs = 2; of networks of passage scores (maxp, ...), none has two"
            raise InputError(f"the loss {term.name} needs a network of two outputs", got=n_outputs, fix=fix)
        if kind.outputs != (2,) and n_outputs != 1:
            raise InputError(
                f"the loss {term.name} needs a network of one output, since evidence holds one score of a document",
                got=n_outputs,
                fix="set network.options.outputs = 1",
            )


def check_fold(name: str, fold: Fold, known: Collection[str], qrels: Qrels, run: Run, *, validates: bool) -> None:
    """Refuse a fold with unknown queries, without any to train on or with those in dev, or with nothing to rank.

    Args:
        name: of the fold.
        fold: the fold.
        known: ids of the query file.
        qrels: the judgments.
        run: the first stage.
        validates: whether the training is validated on its dev queries.

    Raises:
        InputError: as said.
    """
    unknown = [query_id for part in fold for query_id in part if query_id not in known]
    if unknown:
        raise InputError(f"fold '{name}' names {len(unknown)} queries that the query file lacks", got=unknown[0])
    if not fold.train:
        raise InputError(
            f"fold '{name}' has no queries to train on", fix="make three folds or more, or raise judgments.rate"
        )
    both = sorted(set(fold.train) & set(fold.dev))
    if both and validates:
        raise InputError(
            f"fold '{name}' validates on {len(both)} of the queries that it trains on",
            got=both[0],
            fix="keep them apart",
        )
    if validates:
        _check_dev(name, fold, qrels, run)
    if fold.test and not any(query_id in run for query_id in fold.test):
        raise InputError(f"the run has none of the test queries of fold '{name}'", got=fold.test[0])


def _check_dev(name: str, fold: Fold, qrels: Qrels, run: Run) -> None:
    """Refuse dev queries that cannot choose: all weights would be equally good, and the first ones be kept."""
    judged = [query_id for query_id in fold.dev if query_id in qrels and query_id in run]
    if not judged:
        raise InputError(
            "validation needs dev queries that are judged and in the run",
            got=f"fold '{name}' has none" if fold.test else "no folds",
            fix=f"give --folds or --make-folds, or {_NO_VALIDATION}",
        )
    if not any(grade > 0 for query_id in judged for grade in qrels[query_id].values()):
        raise InputError(
            f"no dev query of fold '{name}' has a relevant document: nothing can be chosen by them",
            fix=f"give other folds, raise judgments.rate, or {_NO_VALIDATION}",
        )


def check_documents(run: Run, query_ids: Iterable[str], index: Index, what: str) -> None:
    """Refuse a run with documents that the index lacks, as reranking does; `what` names it.

    Raises:
        InputError: it has.
    """
    found = {row.doc_id for query_id in query_ids for row in run.get(query_id)}
    absent = sorted(doc_id for doc_id in found if doc_id not in index)
    if absent:
        some = ", ".join(absent[:5])
        raise InputError(
            f"documents of {what} that are not in the index: {len(absent)} ({some})", fix="is it the run's index?"
        )


def check_taught(candidates: Iterable[Candidates], taught: Mapping[tuple[str, str], float]) -> None:
    """Refuse a teacher that says nothing of a document that may be sampled.

    Args:
        candidates: what is sampled from.
        taught: (query_id, doc_id) -> score.

    Raises:
        InputError: it lacks one; names the first.
    """
    for one in candidates:
        for doc_ids in (one.positives, one.negatives):
            lacking = next((doc_id for doc_id in doc_ids if (one.query_id, doc_id) not in taught), None)
            if lacking is not None:
                raise InputError(
                    f"the teacher's evidence lacks document {lacking!r} of query {one.query_id!r}, which may be drawn",
                    fix="let samples.depth be at most the depth of the evidence, with in_run = true, negatives = run",
                )
