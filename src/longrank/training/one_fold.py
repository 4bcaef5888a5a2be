"""Train a document network on one fold and rerank its test queries: a task of an engine."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

import torch

from longrank.engines import Engine, changed, in_order, opening_here
from longrank.errors import InputError
from longrank.formats.folds import Fold, read_folds, write_folds
from longrank.formats.trec import write_run
from longrank.index.shared import SharedIndex
from longrank.ranking.pipeline import open_pipeline, rerank
from longrank.ranking.settings import Aggregate, Final, Passages, PipelineSettings, Scorer
from longrank.storage.locks import lock_in_turn
from longrank.storage.workplace import create
from longrank.training.experiment import Experiment
from longrank.training.loop import check_loop, identity_of, note_best, train
from longrank.training.ranking_task import RankingTask
from longrank.training.ranks import Ranks
from longrank.training.run_folder import (
    FOLDS,
    MODEL,
    TEST_RUN,
    begun_run,
    check_alike,
    seal_test_run,
    seal_training,
)
from longrank.training.settings import DocumentTraining
from longrank.training.together import Together
from longrank.training.updates import with_precision
from longrank.types import Notes, Run

MAY_DIFFER = (  # among folds: the initial network, the teacher, and a first stage that is tuned for each fold
    "processes.",
    "run.first_stage.",
    "run.fold.",
    "run.learned.",
    "run.lineage.",
    "run.model.",
    "run.teacher.",
    "network.model.",
    "teacher.",
)
_NOTED = {"first_stage": "first stage", "model": "initial network", "teacher": "teacher"}
Progress = Callable[[str, int], Callable[[int], object]]
"""(fold, steps) -> a function that is called with the number of steps just done."""


@dataclass(frozen=True)
class FoldTraining:
    """A function of the names of folds, which trains and tests them; interrupted work goes on from its checkpoint.

    Attributes:
        experiment: data, settings and folds.
        folder: folder of all folds.
        tensorboard: also write TensorBoard's log.
        networks: fingerprints of the initial network and of the teacher that a fold must begin with.
        threads: PyTorch's CPU threads of a worker, on which the last bits of weights depend; None: as they are.
    """

    experiment: Experiment
    folder: Path
    tensorboard: bool
    networks: tuple[str, str | None]
    threads: int | None = None

    def __reduce__(self) -> tuple[type[_Unopened], tuple[object, ...]]:
        """Pickle without the open index, which every process opens, and without the vectors kept in memory."""
        experiment = {each.name: getattr(self.experiment, each.name) for each in fields(Experiment)}
        del experiment["kept"]
        experiment["index"] = SharedIndex.of(self.experiment.index)
        return _Unopened, (experiment, self.folder, self.tensorboard, self.networks, self.threads)

    def __call__(self, name: str) -> Notes:
        """Train on a fold in a worker; return the remarks.

        Raises:
            InputError: the worker's node does not see the folder; or as `fold`.
        """
        if not self.folder.is_dir():
            what = f"the node {platform.node()} does not see the folder of the training"
            raise InputError(
                what, path=self.folder.absolute(), fix="choose a folder of a file system that all nodes share"
            )
        if self.threads is not None:
            torch.set_num_threads(self.threads)
        return self.fold(name, lambda name, steps: lambda n: None)

    def fold(self, name: str, progress: Progress) -> Notes:
        """Train on a fold and rerank its test queries; return the remarks.

        Raises:
            Changed: the initial network or the teacher is another than `networks`.
            InputError, LongRankError: as `Experiment.task` and `longrank.training.loop.train`.
        """
        experiment, folder, ranks, remarks = self.experiment, self.folder, Ranks(), Notes()
        task, run = self.checked(name, remarks)
        if (run["model"], run["teacher"]) != self.networks:
            what = "the initial network, or the teacher, changed since this command opened it"
            raise changed(experiment.settings.network.model, what)
        if ranks.first:
            _begin(folder, experiment.folds)
        ranks.wait()
        advance = progress(name, experiment.settings.loop.steps)
        train_on(experiment, task, run, folder / name, advance, remarks, self.tensorboard)
        fold = experiment.folds[name]
        test = progress(f"{name}, test", len(fold.test)) if ranks.first else lambda n: None
        _rerank_test(experiment, fold, folder / name, test, remarks)
        return remarks

    def checked(self, name: str, notes: Notes) -> tuple[RankingTask, dict[str, Any]]:
        """Return the task of a fold and its identity; nothing is written.

        Raises:
            InputError: settings that do not fit the network or the machine, or a folder with folds of other settings.
        """
        experiment, ranks = self.experiment, Ranks()
        loop = with_precision(experiment.settings.loop, ranks.device.type)
        task = experiment.task(name, notes)
        check_loop(loop, ranks, task.network, tensorboard=self.tensorboard)
        run = experiment.identity(name, task)
        for other in experiment.folds:
            if other != name:
                check_alike(self.folder / other, identity_of(loop, run, ranks), MAY_DIFFER)
                then = begun_run(self.folder / other)
                for key, part in _NOTED.items():
                    notes.add(f"folds with another {part}", other, int(bool(then) and then.get(key) != run[key]))
        return task, run

    def by(self, engine: Engine, names: Sequence[str], progress: Progress, notes: Notes) -> None:
        """Train on folds by the workers of an engine; `notes` takes their remarks, in the order of the folds.

        Raises:
            InputError: as `checked`, of the first fold, before a worker begins.
        """
        self.checked(names[0], Notes())
        _begin(self.folder, self.experiment.folds)
        advance = progress("folds", len(names))
        for name, remarks in zip(names, in_order(_counted(engine.each(self, names), advance)), strict=True):
            notes.merge(remarks, name)


def check_folds(folder: Path, folds: Mapping[str, Fold]) -> None:
    """Refuse a folder that was begun with other folds.

    Raises:
        InputError: such a folder.
    """
    if (folder / FOLDS).exists() and read_folds(folder / FOLDS, Notes()) != folds:
        raise InputError("was begun with other folds", path=folder, fix="give the same folds, or choose a new folder")


def _begin(folder: Path, folds: Mapping[str, Fold]) -> None:
    """Write the folds; another command may have begun the folder since it was checked.

    Raises:
        InputError: the folder was begun with other folds.
    """
    create(folder)
    with lock_in_turn(folder / f".{FOLDS}.lock"):
        check_folds(folder, folds)
        if not (folder / FOLDS).exists():  # a user's own file of these folds stays as it is
            write_folds(folds, folder / FOLDS)


@dataclass
class _Unopened:
    """A `FoldTraining` that travelled; the index is opened by the first fold, whose errors reach the command."""

    experiment: dict[str, Any]
    folder: Path
    tensorboard: bool
    networks: tuple[str, str | None]
    threads: int | None
    _opened: FoldTraining | None = field(default=None, init=False)

    def __call__(self, name: str) -> Notes:
        """Train on a fold, as `FoldTraining`."""
        if self._opened is None:
            with opening_here():
                experiment = Experiment(**{**self.experiment, "index": self.experiment["index"].open()})
            self._opened = FoldTraining(experiment, self.folder, self.tensorboard, self.networks, self.threads)
        return self._opened(name)


def _counted(numbered: Iterator[tuple[int, Notes]], advance: Callable[[int], object]) -> Iterator[tuple[int, Notes]]:
    for number, remarks in numbered:
        advance(1)
        yield number, remarks


def train_on(  # noqa: PLR0917 - all are needed
    experiment: Experiment,
    task: RankingTask,
    run: Mapping[str, Any],
    folder: Path,
    progress: Callable[[int], object],
    notes: Notes,
    tensorboard: bool,
) -> None:
    """Train on one fold, resumably; see `longrank.training.loop.train`."""
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
