"""What the trainings of one command have in common: documents, queries, judgments, a first stage, folds of queries.

Judgments are sampled here, where settings ask for it: once for all folds, so that a query has the same ones in each of
them. Trainings learn from and choose on these; what is tested is reranked whole, and judged by all judgments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.evaluation.measures import check_grades, parse_measure
from longrank.formats.folds import Fold
from longrank.formats.trec import read_run
from longrank.index import Index
from longrank.models.description import FILE, lineage_of
from longrank.models.network_reader import Kept
from longrank.networks.model_files import find_model
from longrank.storage import digest_of, sha256_of
from longrank.training.checks import check_documents, check_fold, check_taught
from longrank.training.judgments import Sampled, sample_judgments
from longrank.training.ranking_data import Data, make_training_samples, sampled_from, taught_scores
from longrank.training.ranking_setup import open_task
from longrank.training.ranking_task import RankingTask
from longrank.training.schedules import schedule
from longrank.training.settings import DocumentTraining
from longrank.types import Notes, Qrels, Query, Run


@dataclass(frozen=True, slots=True)
class Experiment:
    """Trainings over folds; `open_experiment` makes one.

    Attributes:
        settings: of each training.
        index: the documents.
        queries: query_id -> query, all that are known, judged or not.
        qrels: all judgments.
        run: the first stage.
        folds: by name.
        learned: the judgments to learn from and to choose on, and the folds of the queries that have some.
        model_run: another run that negatives come from.
        score_cache: a file in which a frozen encoder's vectors are kept, for trainings and tests.
        kept: those that trainings have read, in memory.
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

    def task(self, name: str, notes: Notes) -> RankingTask:
        """Build what is trained on a fold; models are loaded now.

        Raises:
            InputError: as `open_task`.
        """
        return open_task(self.settings, self._data(name), notes)

    def use_cache(self, task: RankingTask) -> None:
        """Let a task look up what a frozen encoder has read before, if there is a file for it, which is made now.

        Raises:
            InputError, IntegrityError: as `NetworkReader.use_cache`.
        """
        if self.score_cache is not None:
            task.reader.use_cache(self.score_cache, "float32")
            task.reader.keep_in_memory(self.kept)

    def check(self, names: Sequence[str]) -> None:
        """Refuse what can be seen to fail in some folds, before any of them begins.

        Raises:
            InputError: a score cache for what is trained, unknown queries in a fold, nothing to train, validate or test
                on, losses that do not fit the samples, an unknown schedule, grades that the validation's measure does
                not take, documents of a run that the index lacks, a teacher that lacks some, or a network to begin
                with that may know what a fold tests.
        """
        schedule(self.settings.loop.schedule.name, self.settings.loop.schedule.options)
        if self.score_cache is not None and not self.settings.network.frozen:
            raise InputError("a score cache is for encoders that are not trained", fix="set network.frozen = true")
        validates = self.settings.loop.validate_every is not None
        for name in names:
            for fold, qrels in ((self.folds[name], self.qrels), (self.learned.folds[name], self.learned.qrels)):
                check_fold(name, fold, self.queries, qrels, self.run, validates=validates)
        used = {query_id for name in names for part in self.folds[name] for query_id in part}
        for run, what in ((self.run, "the run"), (self.model_run, "samples.model_run")):
            if run is not None:
                check_documents(run, used, self.index, what)
        for name in names:
            make_training_samples(self.settings, self._data(name), Notes())
        if validates:
            check_grades(self.learned.qrels, [parse_measure(self.settings.validation.measure)])
        self._check_teacher(names)
        self._check_start(names)

    def _check_teacher(self, names: Sequence[str]) -> None:
        if self.settings.teacher is None:
            return
        trained_on = {query_id for name in names for query_id in self.learned.folds[name].train}
        taught = taught_scores(self.settings, self.index, self.queries, trained_on, Notes())
        for name in names:
            check_taught(sampled_from(self.settings, self._data(name)), taught)

    def _check_start(self, names: Sequence[str]) -> None:
        """Refuse to go on with a network that has learned from these judgments of what a fold tests, ever."""
        place = find_model(self.settings.network.model).path
        if not (place / FILE).is_file():
            return
        judged = digest_of(self.qrels)
        learned = {one["fold"] for one in lineage_of(place) if one["qrels"] == judged}
        for name in names:
            if self.folds[name].test and learned - {digest_of(self.folds[name]._asdict())}:
                raise InputError(
                    f"the network to begin with was trained by these judgments on other parts than fold '{name}': it "
                    "may have learned what the fold tests",
                    path=place,
                    fix=f"begin with what was trained on that fold, and choose it with --fold {name}",
                )

    def _data(self, name: str) -> Data:
        fold, qrels = self.learned.folds[name], self.learned.qrels
        dev = [query_id for query_id in fold.dev if query_id in qrels]
        return Data(self.index, self.queries, qrels, self.run, fold.train, dev, self.learned.dropped, self.model_run)

    def identity(self, name: str, task: RankingTask) -> dict[str, Any]:
        """Return all that the weights depend on besides the loop's settings."""
        teacher = self.settings.teacher
        return {
            **({"lineage": task.lineage} if task.lineage else {}),
            "training": self.settings.model_dump(exclude={"loop"}),
            "model": task.fingerprint,
            "collection": self.index.digest,
            "queries": digest_of([[query_id, self.queries[query_id].text] for query_id in sorted(self.queries)]),
            "qrels": digest_of(self.qrels),
            "training_judgments": digest_of(self.learned.qrels),
            "first_stage": digest_of([list(row) for row in self.run.rows()]),
            "model_run": None if self.model_run is None else digest_of([list(row) for row in self.model_run.rows()]),
            "fold": digest_of(self.folds[name]._asdict()),
            "teacher": None if teacher is None else sha256_of(Path(teacher.evidence)),
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
    """Read what the settings name, and sample the judgments if they say so.

    Args:
        settings: of each training.
        index: the documents.
        queries: query_id -> query.
        qrels: all judgments.
        run: the first stage.
        folds: by name; None: one, of all queries that are judged, which tests none.
        notes: counts what sampling leaves out.
        score_cache: see `Experiment`.

    Raises:
        InputError: a model's run that cannot be read, or as `longrank.training.judgments.sample_judgments`.
    """
    if folds is None:
        judged = sorted(query_id for query_id in queries if query_id in qrels)
        folds = {"training": Fold(tuple(judged), (), ())}
    path = settings.samples.model_run
    model_run = None if path is None else read_run(Path(path), notes)
    learned = _sampled(settings, qrels, folds, notes)
    return Experiment(settings, index, queries, qrels, run, folds, learned, model_run, score_cache)


def _sampled(settings: DocumentTraining, qrels: Qrels, folds: Mapping[str, Fold], notes: Notes) -> Sampled:
    """Return the judgments to learn from: all, unless the settings sample them."""
    wanted = settings.judgments
    if wanted is None:
        return Sampled(qrels, {}, folds)
    found = sample_judgments(qrels, wanted.rate, scheme=wanted.scheme, seed=wanted.seed, notes=notes, folds=folds)
    kept, dropped = (sum(map(len, side.values())) for side in (found.qrels, found.dropped))
    notes.say(f"judgments to learn from: {kept} of {kept + dropped}, of {len(found.qrels)} queries")
    for query_id in sorted(found.dropped.keys() - found.qrels.keys()):
        notes.add("queries whose judgments sampling dropped, not trained or validated on", query_id)
    return found
