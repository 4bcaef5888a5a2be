"""The workbench: what the papers' programs are written with.

Each method runs one ``longrank`` command, unless it was finished before, and returns the path of what it made, in the
recipe's folder under the name it is given, which is a run's tag, too. `ranked` evaluates a run by the recipe's
measures.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from longrank.config import suggestion
from longrank.errors import InputError
from longrank.evaluation.tuning.grids import parse_axes
from longrank.reproduction.assignments import Overrides, assignments, flat
from longrank.reproduction.extra_files import ExtraFiles
from longrank.reproduction.inputs import BEFORE, FOLDS, FOLDS_WITHOUT_DEV, QRELS, QUERIES, TESTED
from longrank.reproduction.phases import Phases
from longrank.reproduction.recipe import Recipe
from longrank.reproduction.rows import ObtainedRow, measured_by_query, ranked_row
from longrank.training.settings import load_training

if TYPE_CHECKING:
    from longrank.collections.collection import Collection


class Reranked(NamedTuple):
    """A run, and the evidence of the documents that were reranked."""

    run: Path
    evidence: Path


class Workbench:
    """Inputs and tools of one recipe.

    Args:
        recipe: with the settings to use.
        folder: of this recipe: ``queries.jsonl``, ``qrels.txt`` and ``folds.json`` are there.
        index: of the collection; built when it is first asked for.
        models: role -> model, where another than the published one is to be used.
        phases: runs the commands.
        scores: a file of passage scores that all recipes share.
        given: the collection.
        fold_names: of the folds.
        n_queries: how many are judged.

    Attributes:
        recipe, folder, fold_names, n_queries: as given.
        asked: role -> the model that was asked for so far.
        settings: the recipe's settings.
        elsewhere: finds other files and folders that settings name.
        sources: the collection's documents, as ``longrank index`` takes them.
        queries, qrels, folds: the inputs' paths.
        tested: judgments of the queries that some fold tests, by which rankings are measured.
        reads_documents: whether the index was asked for.
        folds_without_dev: folds that train on the queries that `folds` choose on.
        judged_before: judgments of earlier rounds, whose documents `ranked` leaves out; None: there are none.
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
        given: Collection,
        fold_names: Sequence[str],
        n_queries: int,
    ) -> None:
        """Check the roles of `models`.

        Raises:
            InputError: a role that the recipe does not have.
        """
        for role in models:
            if role not in recipe.models:
                fix = suggestion(role, recipe.models) if recipe.models else "it needs no model"
                raise InputError(f"{recipe.paper}, {recipe.item}, has no such model", got=role, fix=fix)
        self.recipe, self.folder, self._index = recipe, folder, index
        self.asked: dict[str, str] = {}
        self.settings: Mapping[str, Any] = recipe.settings
        self.queries, self.qrels, self.folds = (folder / name for name in (QUERIES, QRELS, FOLDS))
        self.folds_without_dev, self.fold_names = folder / FOLDS_WITHOUT_DEV, fold_names
        self.tested, self.reads_documents = folder / TESTED, False
        self.n_queries = n_queries
        self.judged_before = folder / BEFORE if given.judged_before else None
        self.sources, self._given = given.sources, given
        self._models, self._phases, self._scores = models, phases, scores
        self.extra_files = ExtraFiles(recipe, models, given)

    @property
    def dry(self) -> bool:
        """Whether commands are only noted, so that nothing they would write is there."""
        return self._phases.dry

    @property
    def index(self) -> Path:
        """The collection's index, that all recipes of a folder share."""
        self.reads_documents = True
        return self.do("index", *self.sources, *self._given.index_options, "-o", self._index, output=self._index)

    def model(self, role: str) -> str:
        """Return the model of a role: what the user gave, else the published one's name.

        Raises:
            InputError: the recipe has no such role, which a setting may name.
        """
        if role not in self.recipe.models:
            raise InputError("the recipe has no such model", got=role, fix=suggestion(str(role), self.recipe.models))
        self.asked[role] = self._models.get(role, self.recipe.models[role])
        return self.asked[role]

    def do(self, *command: object, output: Path) -> Path:
        """Run a command unless it was finished before; return `output`, which it makes."""
        self._phases.do([str(part) for part in command], output)
        return output

    def indexed(self, name: str, *options: object) -> Path:
        """Return another index of the collection; `options` are those of ``index``."""
        output = self.folder / name
        return self.do("index", *self.sources, *self._given.index_options, "-o", output, *options, output=output)

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
        how = ("--preset", preset, "-k", k, "--tag", name)
        return self.do("retrieve", *inputs, "-o", output, *how, *self.assigned(overrides), output=output)

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
        how = ("--preset", preset, "-m", measure, "--protocol", "folds", "--folds", self.folds, *more)
        inputs = (self.index, self.queries, self.qrels)
        return self.do("tune", *inputs, "-o", output, *how, *axes, *self.assigned(overrides), output=output / "run.txt")

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
        """Rerank a run by passages; unless `cached` is False, scores are shared with the other recipes.

        They can be for what reads query and passage together: cross-encoders and document networks.
        """
        output = self.folder / f"{name}.run"
        options = [*(("--model", model) if model else ()), *(("--depth", depth) if depth else ()), "--tag", name]
        inputs = (index or self.index, queries or self.queries, first)
        scores = ("--score-cache", self._scores) if cached else ()
        self.do(
            *(
                "rerank",
                *inputs,
                "-o",
                output,
                "--pipeline",
                pipeline,
                *options,
                *scores,
                *more,
                *self.assigned(overrides),
            ),
            output=output,
        )
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
        """Return the run that evidence gives; `more` are options of ``aggregate``."""
        output = self.folder / f"{name}.run"
        options: list[object] = ["--tag", name, *more]
        options += ("--first-stage", first) if first is not None else ()
        options += ("--interpolate", alpha) if alpha is not None else ()
        options += ("--normalize", normalize) if normalize is not None else ()
        return self.do("aggregate", evidence, "-o", output, "-a", aggregator, *options, output=output)

    def weighed(
        self,
        name: str,
        evidence: Sequence[Path],
        first: Path,
        grid: Mapping[str, str],
        *more: object,
    ) -> Path:
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
        """Train a document network over the folds; return its folder, in which ``test.run`` is.

        With ``--fold`` and a name in `more`, on that fold alone; ``test.run`` is there when all were trained. What a
        frozen encoder makes of passages is shared with the other recipes.
        """
        load_training(protocol, assignments(overrides or {}))  # a fault is found before the first command is run
        output = self.folder / name
        inputs = (protocol, self.index, self.queries, self.qrels, first)
        made = output / str(more[more.index("--fold") + 1]) if "--fold" in more else output
        self.do(
            *("train", *inputs, "-o", output, "--folds", folds or self.folds, *more, *self.trained_with(overrides)),
            output=made / "test.run",
        )
        return output

    def trained_with(self, overrides: Overrides | None) -> list[object]:
        """Return the options of a training: its settings, and a frozen encoder's file of what it makes of passages."""
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
        """Evaluate a run by the recipe's measures, on the queries that some fold tests: all rows are of the same."""
        if self.dry:
            return ObtainedRow(name, {}, run, series=series, x=x)
        per_query = measured_by_query(self.recipe, run, self.tested, self.judged_before)
        return ranked_row(name, run, per_query, series, x)

    def measured(
        self,
        name: str,
        values: Callable[[], Mapping[str, float]],
        *,
        series: str | None = None,
        x: float | None = None,
    ) -> ObtainedRow:
        """Return a row that is no ranking; `values` is called if commands were run."""
        return ObtainedRow(name, {} if self.dry else values(), series=series, x=x)

    @staticmethod
    def assigned(overrides: Overrides | None) -> list[str]:
        """Return options that set keys of a command."""
        return [part for assignment in assignments(overrides or {}) for part in ("--set", assignment)]

    def read_json(self, path: Path) -> Any:
        """Return what a command wrote as JSON."""
        return json.loads(path.read_text(encoding="utf-8"))


def grid_options(grid: Mapping[str, str]) -> list[str]:
    """Return a grid as options of a command, its values checked: a fault is found before the first command is run.

    Raises:
        InputError: values that are neither ``0.1,0.2`` nor ``0.1:0.9:0.1``.
    """
    axes = [f"{axis}={values}" for axis, values in grid.items()]
    parse_axes(axes, dict.fromkeys(grid, float))
    return [part for axis in axes for part in ("--grid", axis)]
