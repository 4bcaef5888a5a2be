"""Train a document network once on all queries, or once per fold, and rerank the folds' test queries.

FOLDER/                a training (`longrank.training.run_folder`), or
FOLDER/folds.json      the folds,
FOLDER/s1/, s2/, ...   a training per fold, and its test.run: the test queries reranked by the fold's best network,
FOLDER/test.run        the test queries of all folds, to evaluate
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.evaluation.folds import make_folds
from longrank.formats.folds import Fold, read_folds, write_folds
from longrank.formats.trec import read_run, write_run
from longrank.ranking.pipeline import open_pipeline, rerank
from longrank.ranking.settings import Aggregate, Final, Passages, PipelineSettings, Scorer
from longrank.storage.workplace import check_own, create
from longrank.training.experiment import Experiment
from longrank.training.loop import check_loop, identity_of, note_best, train
from longrank.training.ranking_task import RankingTask
from longrank.training.ranks import Ranks
from longrank.training.run_folder import FOLDS, MODEL, TEST_RUN, check_alike, seal_test_run, seal_training
from longrank.training.settings import DocumentTraining
from longrank.training.together import Together
from longrank.training.updates import with_precision
from longrank.types import Notes, Qrels, Query, Run

FOLD_SEED = 42
_NAME = re.compile(r"[\w][\w.-]*")
_MAY_DIFFER = (  # among folds: the initial network and the teacher
    "processes.",
    "run.fold.",
    "run.lineage.",
    "run.model.",
    "run.teacher.",
    "network.model.",
    "teacher.",
)
Progress = Callable[[str, int], Callable[[int], object]]
"""(fold, steps) -> a function that is called with the number of steps just done."""


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
        InputError: no query is judged, a field that a query lacks, an option without a number of folds, or a file
            without folds.
    """
    judged = [query for query_id, query in queries.items() if query_id in qrels]
    if not judged:
        raise InputError(
            "no query is judged",
            about=("qrels",),
            got=next(iter(qrels), None),
            fix="check that queries and qrels use the same ids",
        )
    for query_id in sorted(qrels.keys() - queries.keys()):
        notes.add("judged topics that are not among the queries, left out", query_id)
    if isinstance(folds, int):
        groups = None if group_by is None else _groups(judged, group_by)
        return make_folds([query.query_id for query in judged], folds, FOLD_SEED if seed is None else seed, groups)
    for option, value in (("group_by", group_by), ("fold_seed", seed)):
        if value is not None:
            raise InputError(f"`{option}` belongs to folds that are made", got=value)
    return read_folds(Path(folds), notes) if isinstance(folds, str | Path) else folds


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
    _train(experiment, task, run, folder, advance, notes, tensorboard)


def cross_validate(
    experiment: Experiment,
    folder: Path,
    *,
    only: Sequence[str] = (),
    progress: Progress,
    notes: Notes,
    tensorboard: bool,
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
    loop = with_precision(experiment.settings.loop, ranks.device.type)
    names = _chosen(folds, only)
    _check_folder(folder, folds)
    experiment.check(names)
    _about_dev(experiment, names, notes)
    for name in names:
        remarks = Notes()
        task = experiment.task(name, remarks)  # nothing is written before the first task is checked
        check_loop(loop, ranks, task.network, tensorboard=tensorboard)
        run = experiment.identity(name, task)
        for other in folds:
            if other != name:
                check_alike(folder / other, identity_of(loop, run, ranks), _MAY_DIFFER)
        if ranks.first:
            create(folder)
            write_folds(folds, folder / FOLDS)
        ranks.wait()
        _train(experiment, task, run, folder / name, progress(name, loop.steps), remarks, tensorboard)
        test = progress(f"{name}, test", len(folds[name].test)) if ranks.first else lambda n: None
        _rerank_test(experiment, folds[name], folder / name, test, remarks)
        notes.merge(remarks, name)
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
    runs = [read_run(folder / name / TEST_RUN, Notes()) for name in folds]
    pooled = Run("longrank", (row for run in runs for row in run.rows()))
    write_run(pooled, folder / TEST_RUN)
    seal_training(folder)
    return pooled


def _train(  # noqa: PLR0917 - all are needed, and the callers are below
    experiment: Experiment,
    task: RankingTask,
    run: Mapping[str, Any],
    folder: Path,
    progress: Callable[[int], object],
    notes: Notes,
    tensorboard: bool,
) -> None:
    begin = partial(experiment.use_cache, task)  # makes a file, so nothing is refused afterwards
    options: dict[str, Any] = {"run": run, "progress": progress, "notes": notes, "tensorboard": tensorboard}
    record = train(task, experiment.settings.loop, folder, begin=begin, **options)
    note_best(record, experiment.settings.validation.measure, notes)


def _rerank_test(
    experiment: Experiment, fold: Fold, folder: Path, progress: Callable[[int], object], notes: Notes
) -> None:
    """Rerank the test queries of a fold with its network, resumably; the evidence stays beside the run.

    All processes score; the first process writes. A finished run is left as it is, so the weights may be deleted.

    Raises:
        InputError: the weights are missing.
    """
    ranks = Ranks()
    if ranks.object_of_first((folder / TEST_RUN).exists()):
        if ranks.first:
            seal_test_run(folder)
        return
    if not any((folder / MODEL).glob("*.safetensors")):
        raise InputError(
            "the weights of a finished training are missing", path=folder, fix="delete the folder to train again"
        )
    test = [experiment.queries[query_id] for query_id in fold.test]
    first_stage = Run("first", (row for query in test for row in experiment.run.get(query.query_id)))
    pipeline = open_pipeline(
        experiment.index,
        _pipeline(experiment.settings),
        model=str(folder / MODEL),
        notes=notes,
        score_cache=experiment.score_cache,
    )
    together = Together(ranks, pipeline)
    if not ranks.first:
        together.help()
        return
    evidence = folder / f"{TEST_RUN}.evidence"
    try:
        run = rerank(
            pipeline, test, first_stage, evidence, tag="longrank", score=together, progress=progress, notes=notes
        )
    finally:
        together.end()
    write_run(run, folder / TEST_RUN)
    seal_training(folder)


def _pipeline(settings: DocumentTraining) -> PipelineSettings:
    """Return a pipeline with the passages and lengths of the training."""
    read = settings.read
    options = {"network": settings.network.name, "max_tokens": read.max_tokens}
    options |= {} if read.max_query_tokens is None else {"max_query_tokens": read.max_query_tokens}
    return PipelineSettings(
        title=read.title,
        passages=Passages(preset=read.passages, options=read.options),
        scorer=Scorer(name="document-network", options=options),
        aggregate=Aggregate(name="document"),
        final=Final(depth=settings.test.depth or settings.validation.depth, block_queries=1),
    )


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


def _check_folder(folder: Path, folds: Mapping[str, Fold]) -> None:
    """Refuse a folder that cannot be written to, or that holds something else than a training over these folds.

    Raises:
        InputError: such a folder.
    """
    begun = (folder / FOLDS).exists()
    check_own(folder, "training over folds", begun=begun)
    if begun and read_folds(folder / FOLDS, Notes()) != folds:
        raise InputError("was begun with other folds", path=folder, fix="give the same folds, or choose a new folder")
