"""Train a document network once on all queries, or once per fold, and rerank the folds' test queries.

FOLDER/                a training (`longrank.training.run_folder`), or
FOLDER/folds.json      the folds,
FOLDER/s1/, s2/, ...   a training per fold, and its test.run: the test queries reranked by the fold's best network,
FOLDER/test.run        the test queries of all folds, to evaluate
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from longrank.collections.judgments import note_topics
from longrank.engines import Engine
from longrank.errors import InputError
from longrank.evaluation.folds import make_folds
from longrank.formats.folds import Fold, open_folds
from longrank.formats.trec import read_run, write_run
from longrank.storage import digest_of
from longrank.storage.workplace import check_own
from longrank.training.experiment import Experiment
from longrank.training.one_fold import MAY_DIFFER, FoldTraining, Progress, check_folds, train_on
from longrank.training.ranks import Ranks
from longrank.training.run_folder import FOLDS, TEST_RUN, begun_here, check_one_training, seal_training
from longrank.types import Notes, Qrels, Query, Run

FOLD_SEED = 42
_NAME = re.compile(r"[\w][\w.-]*")


def folds_of(
    queries: Mapping[str, Query],
    qrels: Qrels,
    folds: int | str | Path | Mapping[str, Fold] | None,
    *,
    group_by: str | None,
    seed: int | None,
    notes: Notes,
) -> Mapping[str, Fold] | None:
    """Return folds of the judged queries; None if there are to be none.

    Args:
        queries: query_id -> query.
        qrels: judgments; topics without a query are counted.
        folds: a number of folds to make, a file, folds by name, or None.
        group_by: with a number: field of the queries; queries of equal value stay in one fold.
        seed: with a number: seed of the draw; None: `FOLD_SEED`.
        notes: counts topics that are left out.

    Raises:
        InputError: no query is judged, a field that a query lacks, an option without a number of folds, or as
            `open_folds`.
    """
    judged = [query for query_id, query in queries.items() if query_id in qrels]
    if not judged:
        raise InputError(
            "no query is judged",
            about=("qrels",),
            got=next(iter(qrels), None),
            fix="check that queries and qrels use the same ids",
        )
    note_topics(qrels, queries, notes)
    if isinstance(folds, int):
        groups = None if group_by is None else _groups(judged, group_by)
        return make_folds([query.query_id for query in judged], folds, FOLD_SEED if seed is None else seed, groups)
    for option, value in (("group_by", group_by), ("fold_seed", seed)):
        if value is not None:
            raise InputError(f"`{option}` belongs to folds that are made", got=value)
    if folds is None:
        return None
    opened = open_folds(folds, notes)
    listed = {query_id for fold in opened.values() for query_id in (*fold.train, *fold.dev, *fold.test)}
    for query in judged:
        notes.add("judged queries in no list of the folds, left out", query.query_id, query.query_id not in listed)
    return opened


def _groups(queries: Sequence[Query], field: str) -> dict[str, str]:
    """Return query_id -> value of the field."""
    lacking = next((query.query_id for query in queries if field not in query.fields), None)
    if lacking is not None:
        fields = sorted({name for query in queries for name in query.fields})
        fix = f"fields: {', '.join(fields) or 'none'}"
        raise InputError(f"query '{lacking}' has no field to group by", about=("queries",), got=field, fix=fix)
    return {query.query_id: query.fields[field] for query in queries}


def train_once(experiment: Experiment, folder: Path, *, progress: Progress, notes: Notes, tensorboard: bool) -> None:
    """Train on all judged queries: the only fold of an experiment without folds.

    Raises:
        InputError, LongRankError: as `Experiment.check`, `Experiment.task` and `longrank.training.loop.train`.
    """
    (name,) = experiment.folds
    experiment.check([name])
    task = experiment.task(name, notes)
    run, advance = experiment.identity(name, task), progress(name, experiment.settings.loop.steps)
    train_on(experiment, task, run, folder, advance, notes, tensorboard)


def cross_validate(
    experiment: Experiment,
    folder: Path,
    *,
    only: Sequence[str] = (),
    progress: Progress,
    notes: Notes,
    tensorboard: bool,
    engine: Engine | None = None,
) -> Run | None:
    """Train on each fold and rerank its test queries; resume where an earlier call stopped.

    Under torchrun, every process calls this with the same arguments; all score, and the first process writes.

    Args:
        experiment: data, settings and folds.
        folder: new, or of this cross-validation.
        only: names of the folds to train now; empty: all.
        progress: see `Progress`.
        notes: collects remarks.
        tensorboard: also write TensorBoard's log.
        engine: trains on the folds, each by a worker; None: this process, one after the other.

    Returns:
        The test queries of all folds reranked, also written; None while folds are left, if folds share test queries,
        and in all processes but the first.

    Raises:
        InputError: an unknown fold, a name that cannot name a folder, folds that share test queries, or a folder of
            something else, of other folds or of other settings; or as `Experiment.check`, `Experiment.task` and
            `train`.
        LongRankError: as `train`.
    """
    folds, ranks = experiment.folds, Ranks()
    names = _chosen(folds, only)
    _check_folder(folder, folds)
    training = FoldTraining(experiment, folder, tensorboard, networks=experiment.check(names))
    _about_dev(experiment, names, notes)
    if engine is None:
        for name in names:
            notes.merge(training.fold(name, progress), name)
    else:
        replace(training, threads=torch.get_num_threads()).by(engine, names, progress, notes)
    pooled = _pooled(folder, folds, notes) if ranks.first else None
    ranks.wait()
    return pooled


def _about_dev(experiment: Experiment, names: Sequence[str], notes: Notes) -> None:
    """Note dev queries that a training without validation does not use."""
    folds = [experiment.folds[name] for name in names]
    if experiment.settings.loop.validate_every is None and any(set(fold.dev) - set(fold.train) for fold in folds):
        notes.say(
            "there is no validation (no loop.validate_every), so dev queries are not used; to learn from them, move "
            "them to the train lists of the --folds file"
        )


def _pooled(folder: Path, folds: Mapping[str, Fold], notes: Notes) -> Run | None:
    """Join the test runs of all folds; None if runs are missing or folds share test queries."""
    left = [name for name in folds if not (folder / name / TEST_RUN).exists()]
    if left:
        notes.say(f"folds left to train: {', '.join(left)}")
    if left or _tested_twice(folds) is not None:
        return None
    check_one_training(folder, {name: digest_of(fold._asdict()) for name, fold in folds.items()}, MAY_DIFFER)
    runs = [read_run(folder / name / TEST_RUN, Notes()) for name in folds]
    pooled = Run("longrank", (row for run in runs for row in run.rows()))
    write_run(pooled, folder / TEST_RUN)
    seal_training(folder)
    return pooled


def _chosen(folds: Mapping[str, Fold], only: Sequence[str]) -> list[str]:
    """Return the folds to train now, in their order.

    Raises:
        InputError: an unknown fold, a name that cannot name a folder, or all of several folds that share test queries.
    """
    for name in only:
        if name not in folds:
            raise InputError("no such fold", got=name, fix=f"one of {', '.join(folds)}")
    for name in folds:
        if not _NAME.fullmatch(name) or name in (FOLDS, TEST_RUN):
            raise InputError(
                "a fold's name must be usable as a folder's name",
                about=("folds",),
                got=name,
                fix="use letters and digits",
            )
    twice = _tested_twice(folds)
    if twice is not None and not only:
        raise InputError(
            "folds share test queries, so there is no joint test run",
            about=("folds",),
            got=twice,
            fix="choose folds with --fold",
        )
    return [name for name in folds if not only or name in only]


def _tested_twice(folds: Mapping[str, Fold]) -> str | None:
    """Return a query that two folds test; None if there is none."""
    seen: set[str] = set()
    for fold in folds.values():
        if shared := seen.intersection(fold.test):
            return min(shared)
        seen.update(fold.test)
    return None


def _has_begun(folder: Path) -> bool:
    """Tell whether a folder is that of a training over folds; a user's file of folds, too, is called folds.json."""
    if not (folder / FOLDS).exists():
        return False
    others = [path for path in folder.iterdir() if path.name[0] != "." and path.name != FOLDS]
    return all(map(_is_empty, others)) or any(map(begun_here, others))


def _is_empty(path: Path) -> bool:
    """Tell whether a path is a folder with nothing but hidden files, as a kill leaves the folder of a fold."""
    return path.is_dir() and all(below.name[0] == "." for below in path.iterdir())


def _check_folder(folder: Path, folds: Mapping[str, Fold]) -> None:
    """Refuse a folder that cannot be written to, or that holds something else than a training over these folds.

    Raises:
        InputError: such a folder.
    """
    check_own(folder, "training over folds", begun=_has_begun(folder))
    check_folds(folder, folds)
