"""Trainings of document networks over folds: documents, queries, judgments, a first stage.

Judgments are sampled once for all folds, where settings ask for it: a query has the same ones in each fold. Trainings
learn from these and choose by them; test queries are reranked whole, and judged by all judgments.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from longrank.errors import InputError
from longrank.evaluation.measures import check_grades
from longrank.evaluation.names import parse_measure
from longrank.formats.folds import Fold
from longrank.formats.trec import read_run
from longrank.index import Index
from longrank.models.network_reader import Kept
from longrank.networks.model_files import find_model
from longrank.networks.trainings import united
from longrank.storage import digest_of
from longrank.training.judgments import Sampled, judgments_to_learn
from longrank.training.learned_queries import LEARNED, check_unseen, packed
from longrank.training.ranking_data import Data, Material, make_material
from longrank.training.ranking_task import RankingTask
from longrank.training.settings import DocumentTraining
from longrank.training.teacher_evidence import TeacherEvidence, read_teacher_evidence
from longrank.types import Notes, Qrels, Query, Run

_NO_VALIDATION = "leave validation out: --set loop.validate_every= (and loop.patience=)"


@dataclass(frozen=True)
class Experiment:
    """Trainings over folds; made by `open_experiment`.

    Attributes:
        settings: of each training.
        index: the documents.
        queries: query_id -> query, judged or not.
        qrels: all judgments.
        run: the first stage.
        folds: by name.
        learned: the judgments to learn from and to choose by, and the folds of their queries.
        model_run: another run that negatives come from.
        score_cache: a file for the passage vectors of a frozen encoder, for trainings and tests.
        kept: passage vectors that trainings have read, in memory.
        materials: fold -> its samples and teacher, made once.
    """

    settings: DocumentTraining
    index: Index
    queries: Mapping[str, Query]
    qrels: Qrels
    run: Run
    folds: Mapping[str, Fold]
    learned: Sampled
    model_run: Run | None = None
    score_cache: Path | None = None
    kept: Kept = field(default_factory=dict)
    materials: dict[str, Material] = field(default_factory=dict)

    def task(self, name: str, notes: Notes) -> RankingTask:
        """Load the network of a fold, and give it the fold's samples.

        Raises:
            InputError: as `RankingTask` and `material`, or weights that may know the test queries of the fold.
        """
        task = RankingTask(self.settings, self._data(name), self.material(name), notes)
        self._check_lineage(task.lineage, [name], "initial network", Path(self.settings.network.model))
        if task.teacher is not None and self.settings.teacher is not None:
            self._check_lineage(task.teacher.lineage, [name], "teacher", Path(str(self.settings.teacher.model)))
        return task

    def material(self, name: str) -> Material:
        """Return the samples and the teacher's scores of a fold.

        Raises:
            InputError: as `make_material`.
        """
        if name not in self.materials:
            self.materials[name] = make_material(self.settings, self._data(name), lambda: self._taught)
        return self.materials[name]

    def use_cache(self, task: RankingTask) -> None:
        """Let a task look passage vectors up in the score cache, if there is a file for it, which is made now.

        Raises:
            InputError, IntegrityError: as `NetworkReader.use_cache`.
        """
        if self.score_cache is not None:
            task.reader.use_cache(self.score_cache, "float32")
            task.reader.keep_in_memory(self.kept)

    def check(self, names: Sequence[str]) -> tuple[str, str | None]:
        """Refuse faults of any fold before the first fold begins; return the fingerprints of network and teacher.

        Raises:
            InputError: a score cache for an encoder that is trained, unknown queries in a fold, nothing to train,
                validate or test on, losses that do not fit the samples, grades that the validation's measure does not
                take, documents of a run that the index lacks, a teacher that lacks some,
                or an initial network that may know the test queries of a fold.
        """
        if self.score_cache is not None and not self.settings.network.frozen:
            raise InputError("a score cache is for encoders that are not trained", fix="set network.frozen = true")
        validates = self.settings.loop.validate_every is not None
        for name in names:
            for fold, qrels in ((self.folds[name], self.qrels), (self.learned.folds[name], self.learned.qrels)):
                _check_fold(name, fold, self.queries)
                if validates:
                    _check_dev(name, fold, qrels, self.run)
                if fold.test and not any(query_id in self.run for query_id in fold.test):
                    raise InputError(
                        f"the run has none of the test queries of fold '{name}'", about=("run",), got=fold.test[0]
                    )
        used = {query_id for name in names for part in self.folds[name] for query_id in part}
        for run, path in ((self.run, None), (self.model_run, self.settings.samples.model_run)):
            if run is not None:
                _check_documents(run, used, self.index, path)
        for name in names:
            self.material(name)
        if validates:
            check_grades(self.learned.qrels, [parse_measure(self.settings.validation.measure)])
        return self._check_start(names)

    def _check_start(self, names: Sequence[str]) -> tuple[str, str | None]:
        """Refuse an initial network or a teacher that learned from test queries; return their fingerprints."""
        model, teacher = find_model(self.settings.network.model, records=True), self.settings.teacher
        self._check_lineage(model.lineage, names, "initial network", model.path)
        if teacher is None:
            return model.fingerprint, None
        if teacher.evidence is not None:
            self._check_lineage(self._taught.lineage, names, "teacher", Path(teacher.evidence))
            return model.fingerprint, self._taught.digest
        network = find_model(str(teacher.model), records=True)
        self._check_lineage(network.lineage, names, "teacher", network.path)
        return model.fingerprint, network.fingerprint

    def _check_lineage(
        self, lineage: Sequence[Mapping[str, str]], names: Sequence[str], noun: str, place: Path
    ) -> None:
        tested = {name: self.folds[name] for name in names}
        check_unseen(lineage, tested, self.queries, self._digests["qrels"], noun=noun, place=place)

    def _data(self, name: str) -> Data:
        fold, qrels = self.learned.folds[name], self.learned.qrels
        dev = [query_id for query_id in fold.dev if query_id in qrels]
        more = self.learned.dropped, self.model_run, self._doc_ids
        return Data(self.index, self.queries, qrels, self.run, fold.train, dev, *more)

    @cached_property
    def _doc_ids(self) -> Sequence[str] | None:
        return self.index.doc_ids(np.arange(len(self.index))) if self.settings.samples.negatives == "random" else None

    @cached_property
    def _taught(self) -> TeacherEvidence:
        """The evidence of the teacher, for the training queries of all folds.

        Raises:
            InputError, IntegrityError: as `read_teacher_evidence`.
        """
        query_ids = {query_id for fold in self.learned.folds.values() for query_id in fold.train}
        return read_teacher_evidence(self.settings, self.index, self.queries, query_ids)

    def identity(self, name: str, task: RankingTask) -> dict[str, Any]:
        """Return everything that the weights depend on, apart from the loop's settings."""
        taught_by, teacher = self._teacher_identity(task)
        lineage = united(task.lineage, taught_by)
        learned = packed(self.queries[query_id] for query_id in self._learned_ids(name))
        return {
            **({"lineage": lineage} if lineage else {}),
            **({} if learned is None else {LEARNED: learned}),
            **({"splitter": task.splitter} if task.splitter else {}),
            "training": self.settings.model_dump(exclude={"loop"}),
            "model": task.fingerprint,
            **self._digests,
            "fold": digest_of(self.folds[name]._asdict()),
            "teacher": teacher,
        }

    def _learned_ids(self, name: str) -> Sequence[str]:
        """Return the queries that a training learns from or chooses its weights by."""
        fold = self.learned.folds[name]
        return fold.train if self.settings.loop.validate_every is None else (*fold.train, *fold.dev)

    def _teacher_identity(self, task: RankingTask) -> tuple[Sequence[Mapping[str, str]], str | None]:
        """Return the trainings that the teacher knows judgments from, and the digest of its files."""
        if task.teacher is not None:
            return task.teacher.lineage, task.teacher.fingerprint
        return ([], None) if self.settings.teacher is None else (self._taught.lineage, self._taught.digest)

    @cached_property
    def _digests(self) -> dict[str, Any]:
        """Digests of the data that all folds share."""
        return {
            "collection": self.index.digest,
            "queries": digest_of([[query_id, self.queries[query_id].text] for query_id in sorted(self.queries)]),
            "qrels": digest_of(self.qrels),
            "training_judgments": digest_of(self.learned.qrels),
            "first_stage": digest_of([list(row) for row in self.run.rows()]),
            "model_run": None if self.model_run is None else digest_of([list(row) for row in self.model_run.rows()]),
        }


def open_experiment(
    settings: DocumentTraining,
    index: Index,
    queries: Mapping[str, Query],
    qrels: Qrels,
    run: Run,
    *,
    folds: Mapping[str, Fold] | None,
    notes: Notes,
    score_cache: Path | None = None,
) -> Experiment:
    """Read the files that the settings name, and sample the judgments if they say so.

    Args:
        settings: of each training.
        index: the documents.
        queries: query_id -> query.
        qrels: all judgments.
        run: the first stage.
        folds: by name; None: a single fold of all queries that are judged, without test queries.
        notes: counts queries that sampling leaves out.
        score_cache: see `Experiment`.

    Raises:
        InputError: a model's run that cannot be read, or as `longrank.training.judgments.sample_judgments`.
    """
    if folds is None:
        judged = sorted(query_id for query_id in queries if query_id in qrels)
        folds = {"training": Fold(tuple(judged), (), ())}
    path = settings.samples.model_run
    model_run = None if path is None else read_run(Path(path), notes)
    learned = judgments_to_learn(settings.judgments, qrels, folds, notes)
    return Experiment(settings, index, queries, qrels, run, folds, learned, model_run, score_cache)


def _check_fold(name: str, fold: Fold, queries: Collection[str]) -> None:
    """Refuse a fold with unknown queries, or without training queries.

    Raises:
        InputError: such a fold.
    """
    unknown = [query_id for part in fold for query_id in part if query_id not in queries]
    if unknown:
        raise InputError(
            f"fold '{name}' names {len(unknown)} queries that the query file lacks", about=("folds",), got=unknown[0]
        )
    if not fold.train:
        what, fix = f"fold '{name}' has no queries to train on", "make three folds or more, or raise judgments.rate"
        raise InputError(what, about=("folds",), fix=fix)


def _check_dev(name: str, fold: Fold, qrels: Qrels, run: Run) -> None:
    """Refuse dev queries that are trained on, or that cannot tell better weights from worse.

    Raises:
        InputError: such dev queries.
    """
    shared = sorted(set(fold.train) & set(fold.dev))
    if shared:
        what = f"fold '{name}' validates on {len(shared)} of the queries that it trains on"
        raise InputError(what, about=("folds",), got=shared[0], fix="keep them apart")
    judged = [query_id for query_id in fold.dev if query_id in qrels and query_id in run]
    if not judged:
        raise InputError(
            "validation needs dev queries that are judged and in the run",
            about=("folds", "qrels", "run"),
            got=f"fold '{name}' has none" if fold.test else "no folds",
            fix=f"give --folds or --make-folds, or {_NO_VALIDATION}",
        )
    if not any(grade > 0 for query_id in judged for grade in qrels[query_id].values()):
        raise InputError(
            f"no dev query of fold '{name}' has a relevant document, so they cannot choose the best weights",
            about=("folds", "qrels"),
            fix=f"give other folds, raise judgments.rate, or {_NO_VALIDATION}",
        )


def _check_documents(run: Run, query_ids: Iterable[str], index: Index, path: str | None) -> None:
    """Refuse a run with documents that the index lacks; `path`: its file, if settings name it.

    Raises:
        InputError: such a run.
    """
    doc_ids = {row.doc_id for query_id in query_ids for row in run.get(query_id)}
    absent = sorted(doc_id for doc_id in doc_ids if doc_id not in index)
    if absent:
        first = ", ".join(absent[:5])
        noun = "the run" if path is None else "samples.model_run"
        what = f"documents of {noun} that are not in the index: {len(absent)} ({first})"
        raise InputError(what, fix="is it the run's index?", path=path, about=("run",))
