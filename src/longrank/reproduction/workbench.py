"""The workbench: inputs and tools for the papers' programs.

Each method runs one ``longrank`` command, unless it was finished before, and returns the path of its result in the
recipe's folder. ``name`` names the result, and is the tag of a run. `ranked` evaluates a run by the recipe's measures.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from longrank.errors import InputError
from longrank.registries import suggestion
from longrank.reproduction.assignments import Overrides, assignments, flat, grid_options
from longrank.reproduction.extra_files import ExtraFiles
from longrank.reproduction.folders import check_documents, is_description
from longrank.reproduction.inputs import BEFORE, FOLDS, FOLDS_WITHOUT_DEV, QRELS, QUERIES, TESTED
from longrank.reproduction.phases import Phases
from longrank.reproduction.recipe import Recipe
from longrank.reproduction.rows import ObtainedRow, measured_by_query, ranked_row
from longrank.training.settings import load_training

if TYPE_CHECKING:
    from longrank.collections.collection import Collection


class Reranked(NamedTuple):
    """A reranked run and its evidence."""

    run: Path
    evidence: Path


class Workbench:
    """Inputs and tools of one recipe.

    Args:
        recipe: the recipe, with the settings to use.
        folder: the recipe's folder, with ``queries.jsonl``, ``qrels.txt`` and ``folds.json``.
        index: the collection's index; built at its first use.
        models: role -> model that replaces the published one.
        phases: runs the commands.
        scores: a file of passage scores that all recipes share.
        collection: the collection.
        fold_names: names of the folds.
        n_queries: number of judged queries.

    Attributes:
        recipe, folder, fold_names, n_queries: the arguments.
        requested_models: role -> model, for each call of `model` so far.
        settings: the recipe's settings.
        extra_files: finds other files and folders that settings name.
        sources: the collection's documents, as ``longrank index`` takes them.
        queries, qrels, folds: the inputs' paths.
        tested: judgments of the queries that the folds test, by which rankings are measured.
        reads_documents: whether the index was used.
        folds_without_dev: the folds, with development queries moved to training.
        judged_before: judgments of earlier rounds, whose documents `ranked` leaves out; may be None.
    """

    def __init__(
        self,
        recipe: Recipe,
        folder: Path,
        index: Path,
        *,
        models: Mapping[str, str],
        phases: Phases,
        scores: Path,
        collection: Collection,
        fold_names: Sequence[str],
        n_queries: int,
    ) -> None:
        """Check the roles of `models`.

        Raises:
            InputError: the recipe has no such role.
        """
        for role in models:
            if role not in recipe.models:
                fix = suggestion(role, recipe.models) if recipe.models else "it needs no model"
                raise InputError(f"{recipe.paper}, {recipe.item}, has no such model", got=role, fix=fix)
        self.recipe, self.folder, self._index = recipe, folder, index
        self.requested_models: dict[str, str] = {}
        self.settings: Mapping[str, Any] = recipe.settings
        self.queries, self.qrels, self.folds = (folder / name for name in (QUERIES, QRELS, FOLDS))
        self.folds_without_dev, self.fold_names = folder / FOLDS_WITHOUT_DEV, fold_names
        self.tested, self.reads_documents = folder / TESTED, False
        self.n_queries = n_queries
        self.judged_before = folder / BEFORE if collection.judged_before else None
        self.sources, self._collection = collection.sources, collection
        self._models, self._phases, self._scores = models, phases, scores
        self.extra_files = ExtraFiles(recipe, models, collection)

    @property
    def dry(self) -> bool:
        """True if commands are only listed, so that their results do not exist."""
        return self._phases.dry

    @property
    def index(self) -> Path:
        """The collection's index, which all recipes of a folder share."""
        self.reads_documents = True
        return self._index_to(self._index)

    def _index_to(self, output: Path, *options: object) -> Path:
        return self.read("index", *self.sources, *self._collection.index_options, "-o", output, *options, output=output)

    def model(self, role: str) -> str:
        """Return the model of a role: the user's, else the published model.

        A published model that cannot be downloaded is only described: ``role:ROLE`` stands for it in commands, which
        are then only listed.

        Raises:
            InputError: a setting names a role that the recipe does not have.
        """
        if role not in self.recipe.models:
            raise InputError("the recipe has no such model", got=role, fix=suggestion(str(role), self.recipe.models))
        model = self.requested_models[role] = self._models.get(role, self.recipe.models[role])
        return f"role:{role}" if is_description(model) else model

    def read(self, *command: object, output: Path) -> Path:
        """Run a command that reads the collection's documents, as `do`.

        Raises:
            InputError: the documents have changed since the reproduction began.
        """
        unchanged = partial(check_documents, self._index.parent, self._collection)
        self._phases.do([str(part) for part in command], output, unchanged)
        return output

    def do(self, *command: object, output: Path) -> Path:
        """Run a command unless it was finished before; return `output`, its result."""
        self._phases.do([str(part) for part in command], output)
        return output

    def indexed(self, name: str, *options: object) -> Path:
        """Return another index of the collection; `options` are those of ``index``."""
        return self._index_to(self.folder / name, *options)

    def refuse_queries(self, counted: str) -> None:
        """Refuse a part of the queries for a figure that no query has a part in.

        Raises:
            InputError: the setting ``queries``.
        """
        if n := self.settings.get("queries"):
            fix = "leave the setting out"
            raise InputError(f"the setting queries has no effect: this figure counts all {counted}", got=n, fix=fix)

    def retrieve(
        self,
        name: str,
        preset: str,
        overrides: Overrides | None = None,
        *,
        queries: Path | None = None,
        index: Path | None = None,
        k: int = 1000,
    ) -> Path:
        """Return the run of a first stage."""
        output = self.folder / f"{name}.run"
        inputs = (index or self.index, queries or self.queries)
        options = ("--preset", preset, "-k", k, "--tag", name)
        return self.do("retrieve", *inputs, "-o", output, *options, *self.assigned(overrides), output=output)

    def tuned(
        self,
        name: str,
        preset: str,
        grid: Mapping[str, str],
        measure: str,
        *more: object,
        overrides: Overrides | None = None,
    ) -> Path:
        """Return the pooled test run of a first stage tuned on the other folds; `more` are options of ``tune``."""
        output = self.folder / name
        axes = grid_options(grid)
        options = ("--preset", preset, "-m", measure, "--protocol", "folds", "--folds", self.folds, *more)
        inputs = (self.index, self.queries, self.qrels)
        return self.do(
            "tune", *inputs, "-o", output, *options, *axes, *self.assigned(overrides), output=output / "run.txt"
        )

    def rerank(
        self,
        name: str,
        first: Path,
        pipeline: str,
        *,
        model: str | None = None,
        depth: int | None = None,
        overrides: Overrides | None = None,
        more: Sequence[object] = (),
        index: Path | None = None,
        queries: Path | None = None,
        cached: bool = True,
    ) -> Reranked:
        """Rerank a run by passages.

        With `cached`, scores are shared with the other recipes: for cross-encoders and document networks only.
        """
        output = self.folder / f"{name}.run"
        options: list[object] = ["--model", model] if model else []
        options += ["--depth", depth] if depth else []
        options += ["--tag", name]
        inputs = (index or self.index, queries or self.queries, first)
        options += ["--score-cache", self._scores] if cached else []
        options += [*more, *self.assigned(overrides)]
        self.do("rerank", *inputs, "-o", output, "--pipeline", pipeline, *options, output=output)
        return Reranked(output, output.with_name(f"{output.name}.evidence"))

    def aggregate(
        self,
        name: str,
        evidence: Path,
        aggregator: str,
        *more: object,
        first: Path | None = None,
        alpha: float | None = None,
        normalize: str | None = None,
    ) -> Path:
        """Return the run of aggregated evidence; `more` are options of ``aggregate``."""
        output = self.folder / f"{name}.run"
        options: list[object] = ["--tag", name, *more]
        options += ("--first-stage", first) if first is not None else ()
        options += ("--interpolate", alpha) if alpha is not None else ()
        options += ("--normalize", normalize) if normalize is not None else ()
        return self.do("aggregate", evidence, "-o", output, "-a", aggregator, *options, output=output)

    def weighed(self, name: str, evidence: Sequence[Path], first: Path, grid: Mapping[str, str], *more: object) -> Path:
        """Return the run with weights learned on the other folds; with ``--learn-on`` in `more`, on another set."""
        output = self.folder / name
        axes = grid_options(grid)
        learn = () if "--learn-on" in more else ("--folds", self.folds)
        return self.do(
            "weigh", self.qrels, first, *evidence, "-o", output, *axes, *learn, *more, output=output / "run.txt"
        )

    def train(
        self,
        name: str,
        protocol: str,
        first: Path,
        overrides: Overrides | None = None,
        *more: object,
        folds: Path | None = None,
    ) -> Path:
        """Train a document network over the folds; return its folder, with ``test.run``.

        With ``--fold NAME`` in `more`, train on that fold only; ``test.run`` exists when all folds were trained.
        Passage vectors of a frozen encoder are shared with the other recipes.
        """
        load_training(protocol, assignments(overrides or {}))  # finds faults before the first command runs
        output = self.folder / name
        inputs = (protocol, self.index, self.queries, self.qrels, first)
        trained = output / str(more[more.index("--fold") + 1]) if "--fold" in more else output
        self.do(
            *("train", *inputs, "-o", output, "--folds", folds or self.folds, *more, *self.trained_with(overrides)),
            output=trained / "test.run",
        )
        return output

    def trained_with(self, overrides: Overrides | None) -> list[object]:
        """Return the options of a training: its settings, and the cache file of a frozen encoder."""
        frozen = dict(flat(overrides or {})).get("network.frozen") is True
        return [*(("--score-cache", self._scores) if frozen else ()), *self.assigned(overrides)]

    def train_passages(
        self, name: str, training: str, examples: Path, overrides: Overrides | None = None, *more: object
    ) -> Path:
        """Train a model on examples of passages; return the model's folder."""
        load_training(training, assignments(overrides or {}))
        output = self.folder / name
        return self.do(
            *("train-passages", training, examples, "-o", output, *more, *self.assigned(overrides)),
            output=output / "model",
        )

    def fuse(self, name: str, method: str, runs: Sequence[Path], *more: object) -> Path:
        """Return the fusion of runs; `more` are options of ``fuse``."""
        output = self.folder / f"{name}.run"
        return self.do("fuse", *runs, "-o", output, "--method", method, "--tag", name, *more, output=output)

    def ranked(self, name: str, run: Path, *, series: str | None = None, x: float | None = None) -> ObtainedRow:
        """Evaluate a run by the recipe's measures, on the queries that the folds test."""
        if self.dry:
            return ObtainedRow(name, {}, run, series=series, x=x)
        per_query = measured_by_query(self.recipe, run, self.tested, self.judged_before)
        return ranked_row(name, run, per_query, series, x)

    def measured(
        self, name: str, values: Callable[[], Mapping[str, float]], *, series: str | None = None, x: float | None = None
    ) -> ObtainedRow:
        """Return a row of other quantities; `values` is not called in a dry run."""
        return ObtainedRow(name, {} if self.dry else values(), series=series, x=x)

    @staticmethod
    def assigned(overrides: Overrides | None) -> list[str]:
        """Return options that set keys of a command."""
        return [part for assignment in assignments(overrides or {}) for part in ("--set", assignment)]

    def read_json(self, path: Path) -> Any:
        """Read the JSON output of a command."""
        return json.loads(path.read_text(encoding="utf-8"))
