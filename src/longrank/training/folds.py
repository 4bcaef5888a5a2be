"""A training as users run it: once on all queries, or once for each fold, whose test queries are then reranked.

FOLDER/                one training (`longrank.training.run_folder`), or
FOLDER/folds.json      the folds,
FOLDER/s1/, s2/, ...   a training each, and in it test.run, the fold's test queries reranked by its best network,
FOLDER/test.run        the test queries of all folds together, which is what cross-validation reports
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.formats.folds import Fold, write_folds
from longrank.formats.trec import read_run, write_run
from longrank.index import Index
from longrank.ranking.pipeline import open_pipeline, rerank
from longrank.ranking.settings import Aggregate, Final, Passages, PipelineSettings, Scorer
from longrank.storage import check_writable, digest_of
from longrank.training.loop import train
from longrank.training.ranking_task import Data, RankingTask, open_task
from longrank.training.run_folder import MODEL
from longrank.training.settings import TrainingSettings
from longrank.types import Notes, Qrels, Query, Run

TEST_RUN, FOLDS = "test.run", "folds.json"
Progress = Callable[[str, int], Callable[[int], object]]
"""(fold, steps) -> what is called with the number of steps just done."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """What trainings of one command have in common.

    Attributes:
        settings: of each training.
        index: the documents.
        queries: query_id -> query, of all folds.
        qrels: all judgments.
        run: the first stage.
    """

    settings: TrainingSettings
    index: Index
    queries: Mapping[str, Query]
    qrels: Qrels
    run: Run

    def task(self, fold: Fold, notes: Notes) -> RankingTask:
        """Build what is trained on a fold; models are loaded now.

        Raises:
            InputError: as `open_task`; or it is to be validated, and the fold has no dev queries with judgments.
        """
        dev = [query_id for query_id in fold.dev if query_id in self.queries and query_id in self.qrels]
        if self.settings.loop.validate_every is not None and not dev:
            raise InputError(
                "validation needs dev queries",
                got="loop.validate_every",
                fix="give --folds or --make-folds, or unset it",
            )
        return open_task(self.settings, Data(self.index, self.queries, self.qrels, self.run, fold.train, dev), notes)

    def identity(self, fold: Fold, task: RankingTask) -> dict[str, Any]:
        """Return all that the weights depend on besides the loop's settings."""
        return {
            "training": self.settings.model_dump(exclude={"loop"}),
            "model": task.fingerprint,
            "collection": self.index.digest,
            "queries": digest_of([[query_id, self.queries[query_id].text] for query_id in sorted(self.queries)]),
            "qrels": digest_of(self.qrels),
            "first_stage": digest_of([list(row) for row in self.run.rows()]),
            "fold": digest_of(fold._asdict()),
        }


def train_once(experiment: Experiment, folder: Path, *, progress: Progress, notes: Notes, tensorboard: bool) -> None:
    """Train on all queries that are judged; no query is held out.

    Raises:
        InputError, LongRankError: as `Experiment.task` and `longrank.training.loop.train`.
    """
    fold = Fold(tuple(sorted(experiment.queries)), (), ())
    _train(experiment, fold, folder, "training", progress, notes, tensorboard)


def cross_validate(
    experiment: Experiment,
    folds: Mapping[str, Fold],
    folder: Path,
    *,
    only: Sequence[str] = (),
    progress: Progress,
    notes: Notes,
    tensorboard: bool,
) -> Run | None:
    """Train on each fold and rerank its test queries; go on where an earlier call stopped.

    Args:
        experiment: what is trained on what.
        folds: by name.
        folder: new, or of this cross-validation.
        only: names of the folds to do now; all, if none is named.
        progress: see `Progress`.
        notes: what was decided on the user's behalf.
        tensorboard: also write TensorBoard's log.

    Returns:
        The test queries of all folds reranked, also written; None while folds are left.

    Raises:
        InputError: a name that is no fold's, or folds that test a query twice; or as `Experiment.task` and `train`.
        LongRankError: as `train`.
    """
    _check_names(folds, only)
    check_writable(folder)
    folder.mkdir(exist_ok=True)
    write_folds(folds, folder / FOLDS)
    for name in only or folds:
        _train(experiment, folds[name], folder / name, name, progress, notes, tensorboard)
        _rerank_test(experiment, folds[name], folder / name, progress(f"{name}, test", len(folds[name].test)), notes)
    runs = [folder / name / TEST_RUN for name in folds]
    if not all(path.exists() for path in runs):
        return None
    pooled = Run("longrank", (row for path in runs for row in read_run(path, notes).rows()))
    write_run(pooled, folder / TEST_RUN)
    return pooled


def _train(  # noqa: PLR0917 - one training from what the callers have at hand
    experiment: Experiment, fold: Fold, folder: Path, name: str, progress: Progress, notes: Notes, tensorboard: bool
) -> None:
    task = experiment.task(fold, notes)
    train(
        task,
        experiment.settings.loop,
        folder,
        run=experiment.identity(fold, task),
        progress=progress(name, experiment.settings.loop.steps),
        notes=notes,
        tensorboard=tensorboard,
    )


def _rerank_test(
    experiment: Experiment, fold: Fold, folder: Path, progress: Callable[[int], object], notes: Notes
) -> None:
    """Rerank the test queries of a fold with what was trained, resumably; the evidence stays beside the run."""
    test = [experiment.queries[query_id] for query_id in fold.test if query_id in experiment.queries]
    first_stage = Run("first", (row for query in test for row in experiment.run.get(query.query_id)))
    pipeline = open_pipeline(experiment.index, _pipeline(experiment.settings), model=str(folder / MODEL), notes=notes)
    evidence = folder / f"{TEST_RUN}.evidence"
    run = rerank(pipeline, test, first_stage, evidence, tag="longrank", progress=progress, notes=notes)
    write_run(run, folder / TEST_RUN)


def _pipeline(settings: TrainingSettings) -> PipelineSettings:
    """Return the pipeline that reads as the training does."""
    read = settings.read
    options = {"network": settings.network.name, "max_tokens": read.max_tokens}
    options |= {} if read.max_query_tokens is None else {"max_query_tokens": read.max_query_tokens}
    return PipelineSettings(
        title=read.title,
        passages=Passages(preset=read.passages, options=read.options),
        scorer=Scorer(name="document-network", options=options),
        aggregate=Aggregate(name="document"),
        final=Final(depth=settings.validation.depth, block_queries=1),
    )


def _check_names(folds: Mapping[str, Fold], only: Sequence[str]) -> None:
    for name in only:
        if name not in folds:
            raise InputError("no such fold", got=name, fix=f"one of {', '.join(folds)}")
    tested = [query_id for fold in folds.values() for query_id in fold.test]
    if len(tested) != len(set(tested)):
        raise InputError("folds that test a query twice have no pooled test run", fix="choose one with --fold")
