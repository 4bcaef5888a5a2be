"""MAPFuse with MAPs of other queries: of a held-out set, or of the training part of each fold.

MAPFuse (`longrank.fusion.mapfuse`) weighs each system by its mean average precision (MAP). MAPs of the fused queries
would use their judgments.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from longrank.errors import InputError
from longrank.evaluation.measures import evaluate, summarise
from longrank.formats.folds import Fold
from longrank.fusion import mapfuse
from longrank.types import Notes, Qrels, Run, ScoredDoc


def mean_average_precision(run: Run, qrels: Qrels, query_ids: Collection[str]) -> float:
    """Return the MAP of a run over the judged queries of `query_ids`; a query that it lacks counts 0.

    Raises:
        InputError: no query has judgments, or the run has no judged query.
    """
    judged = {query_id: qrels[query_id] for query_id in query_ids if query_id in qrels}
    if not judged:
        raise InputError("no held-out query has judgments, so there is no MAP", about=("heldout",))
    return summarise("AP", evaluate(judged, run, ["AP"])["AP"].values())


def heldout_maps(heldout: Sequence[Run], qrels: Qrels, fused: Sequence[Run]) -> list[float]:
    """Return the MAP of each system on held-out queries.

    Args:
        heldout: the systems' runs on the held-out queries.
        qrels: judgments of the held-out queries.
        fused: runs of the same systems to fuse, in the same order.

    Raises:
        InputError: another number of runs, or a fused query is also held out.
    """
    if len(heldout) != len(fused):
        raise InputError(
            f"{len(heldout)} held-out runs for {len(fused)} runs to fuse",
            about=("heldout",),
            fix="give the run of each system on the held-out queries, in the same order",
        )
    seen = set(qrels).union(*heldout)
    leak = next((query_id for run in fused for query_id in run if query_id in seen), None)
    if leak is not None:
        raise InputError(
            "a fused query is among the held-out queries",
            about=("heldout",),
            got=leak,
            fix="give other queries, or cross-validate with --folds",
        )
    return [mean_average_precision(run, qrels, qrels.keys()) for run in heldout]


def mapfuse_folds(runs: Sequence[Run], folds: Mapping[str, Fold], qrels: Qrels, *, tag: str, notes: Notes) -> Run:
    """Fuse the test queries of each fold with the MAPs of its training and development queries.

    Args:
        runs: two or more.
        folds: name -> fold.
        qrels: judgments of all queries.
        tag: tag of the new run.
        notes: counts queries that no fold tests, which are left out; queries of folds without judgments, and judged
            queries that a run lacks, which count 0 in its MAP.

    Raises:
        InputError: a fold tests a query that it trains on, two folds test the same query, or no fold tests a query of
            the runs.
    """
    check_folds(folds)
    fold_of = {query_id: name for name, fold in folds.items() for query_id in fold.test}
    queries = list(dict.fromkeys(query_id for run in runs for query_id in run))
    if not fold_of.keys() & set(queries):
        raise InputError(
            "the folds test no query of the runs",
            about=("folds",),
            got=next(iter(queries), None),
            fix="compare their ids",
        )
    for query_id in queries:
        if query_id not in fold_of:
            notes.add("queries that no fold tests, left out", query_id)
    _note_learned(runs, folds, qrels, notes)
    fused = {name: _fuse_fold(runs, name, folds[name], qrels, tag=tag) for name in dict.fromkeys(fold_of.values())}

    def rows() -> Iterator[ScoredDoc]:
        for query_id in queries:
            if query_id in fold_of:
                yield from fused[fold_of[query_id]][query_id]

    return Run(tag, rows())


def _note_learned(runs: Sequence[Run], folds: Mapping[str, Fold], qrels: Qrels, notes: Notes) -> None:
    learned = dict.fromkeys(query_id for fold in folds.values() for query_id in (*fold.train, *fold.dev))
    for query_id in learned:
        notes.add("queries of folds without judgments, left out of the MAPs", query_id, query_id not in qrels)
    for number, run in enumerate(runs, 1):
        lacking = [query_id for query_id in learned if query_id in qrels and query_id not in run]
        what = f"judged queries of folds that run {number} lacks, which count 0 in its MAP"
        notes.add(what, next(iter(lacking), ""), len(lacking))


def check_folds(folds: Mapping[str, Fold]) -> None:
    """Refuse folds that train on their test queries, or test a query twice.

    Raises:
        InputError: as `mapfuse_folds`.
    """
    tested: dict[str, str] = {}
    for name, fold in folds.items():
        if leak := set(fold.test) & {*fold.train, *fold.dev}:
            raise InputError(f"fold '{name}' tests a query that it also trains on", about=("folds",), got=min(leak))
        for query_id in fold.test:
            if tested.setdefault(query_id, name) != name:
                raise InputError(
                    f"folds '{tested[query_id]}' and '{name}' both test query '{query_id}'", about=("folds",)
                )


def _fuse_fold(runs: Sequence[Run], name: str, fold: Fold, qrels: Qrels, *, tag: str) -> Run:
    maps = [mean_average_precision(run, qrels, (*fold.train, *fold.dev)) for run in runs]
    if not any(maps):
        what = f"no run has a relevant document for the training queries of fold '{name}', so all MAPs are 0"
        raise InputError(what, about=("folds", "qrels"))
    tested = [Run(run.tag, (row for query_id in fold.test for row in run.get(query_id))) for run in runs]
    return mapfuse(tested, tag=tag, maps=maps)
