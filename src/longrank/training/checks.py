"""Check folds and runs before a training begins, not after hours of it; no torch."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from longrank.errors import InputError
from longrank.formats.folds import Fold
from longrank.index import Index
from longrank.types import Qrels, Run

_NO_VALIDATION = "leave validation out: --set loop.validate_every= (and loop.patience=)"


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
