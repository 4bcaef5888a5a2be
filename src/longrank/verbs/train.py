"""Train a network: a document network on judged rankings, or a passage network on examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from longrank.collections import read_qrels, read_queries, read_run
from longrank.config import Assignments, listed
from longrank.engines import Engine, EngineOptions
from longrank.errors import InputError, MissingExtra
from longrank.formats.folds import Fold
from longrank.index import Index
from longrank.storage.workplace import check_outside
from longrank.training.run_folder import LOG, MODEL, finished
from longrank.training.settings import PassageTraining, Training, load_training, note_unread
from longrank.types import Notes, Run
from longrank.verbs.naming import naming_files

if TYPE_CHECKING:
    from longrank.training.one_fold import Progress


@dataclass(frozen=True)
class Trained:
    """A finished training.

    Attributes:
        network: name of the network.
        folder: holds the models, logs and records.
        models: fold -> folder of its model; without folds, the only key is ``training``.
        best: fold -> best measure on development data; empty without validation.
        run: the test queries of all folds reranked; None without folds, or while folds are left.
        notes: decisions made on your behalf.
    """

    network: str
    folder: Path
    models: Mapping[str, Path]
    best: Mapping[str, float]
    run: Run | None
    notes: Notes

    @property
    def model(self) -> Path:
        """Folder of the only model.

        Raises:
            InputError: there are several.
        """
        if len(self.models) != 1:
            raise InputError(f"{len(self.models)} folds have a model each", fix="use models[FOLD]")
        return next(iter(self.models.values()))

    def draw(self, path: str | Path) -> None:
        """Draw loss and validations by step into a .png, .svg or .pdf file, a line for each fold.

        Raises:
            InputError: another kind of file, or no training is finished.
            MissingExtra: matplotlib is not installed.
        """
        from longrank.training.curves import plot_training

        if not self.models:
            raise InputError("no training is finished", path=self.folder)
        plot_training(Path(path), {name: model.parent / LOG for name, model in self.models.items()})


@naming_files
def train(
    training: str | Path | Mapping[str, Any],
    data: Any,
    queries: Any = None,
    qrels: Any = None,
    run: Any = None,
    *,
    output: str | Path,
    dev: Any = None,
    folds: int | str | Path | Mapping[str, Fold] | None = None,
    group_by: str | None = None,
    fold_seed: int | None = None,
    only: str | Sequence[str] = (),
    score_cache: str | Path | None = None,
    tensorboard: bool = False,
    engine: str | Engine | None = None,
    workers: int | None = None,
    resources: Mapping[str, float] | str | None = None,
    assignments: Assignments = (),
    format: str | None = None,
    field: str | None = None,
    notes: Notes | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train a network, or go on with a training that was interrupted, to the same bytes.

    A document network (PARADE, CEDR, MaxP) needs `queries`, `qrels` and `run`. A passage network (cross-encoder,
    bi-encoder, doc2query) needs examples only.

    Args:
        training: a shipped protocol (``"parade"``, ``"monobert"``), a TOML file, or settings as a dict.
        data: an index or its folder; or examples: a JSONL file, or dicts as its lines.
        queries: a file, ``irds:ID``, texts, ``{id: text}``, a DataFrame.
        qrels: a file, ``irds:ID``, ``{query_id: {doc_id: grade}}``, a DataFrame.
        run: the first stage: a file, a `Run`, ``{query_id: {doc_id: score}}``, a DataFrame.
        output: folder for the result.
        dev: examples to validate a passage network on, every ``loop.validate_every`` steps.
        folds: train once per fold: a number of folds to make, a file of folds, or folds by name. Each fold's test
            queries are reranked by its best network.
        group_by: with a number of folds: queries of equal value in this field stay together.
        fold_seed: with a number of folds: seed of the draw; None: 42.
        only: names of the folds (or a name) to train now; default: all.
        score_cache: file for passage vectors of a frozen encoder (``network.frozen = true``).
        tensorboard: also write a log for TensorBoard.
        engine: where folds are trained, each by a worker: ``local`` processes, ``ray`` or ``ray=ADDRESS``; as of
            `longrank.engines.open_engine`, as are `workers` and `resources`. The bytes are the same. Every node must
            see `output`.
        workers: processes, or workers of the cluster, each of which trains one fold at a time.
        resources: resources that each worker of a cluster holds, e.g. ``{"GPU": 1}``.
        assignments: ``{"loop.steps": 50}`` or ``["loop.steps=50"]``: settings of the training.
        format: query format, if it cannot be detected.
        field: topic field that is the query: ``title``, ``description``, ...
        notes: collects remarks; None: only the result has them.
        progress: (fold, steps) -> a function called with the number of steps just done; with an engine once,
            (``folds``, their number) -> a function called with the number of folds just done.

    Raises:
        InputError: an unknown name or setting, data that do not fit the training, or a folder of another training.
        MissingExtra: torch or transformers are not installed.
        LongRankError: the loss is not finite, or writing failed; the training can be resumed.

    Example:
        >>> trained = longrank.train("parade", index, queries, qrels, run, output="parade", folds=5)
        >>> trained.run, trained.models["s1"]
    """
    check_outside(output)
    if score_cache is not None:
        check_outside(score_cache, output)
    notes = Notes() if notes is None else notes
    given = listed(assignments)
    settings = load_training(training if isinstance(training, Mapping) else str(training), given)
    note_unread(settings, given, folds is not None, notes)
    if find_spec("torch") is None or find_spec("transformers") is None:
        raise MissingExtra("training", "neural")
    only = [only] if isinstance(only, str) else only
    rankings = {"queries": queries, "qrels": qrels, "run": run}
    options: dict[str, Any] = {"progress": progress or _silent, "notes": notes, "tensorboard": tensorboard}
    spread = EngineOptions(engine, workers, resources)
    if isinstance(settings, PassageTraining):
        extras: dict[str, Any] = {"folds": folds, "group_by": group_by, "fold_seed": fold_seed}
        extras |= {"only": only or None, "score_cache": score_cache}
        extras |= spread._asdict()
        _refuse(settings, "examples", {**rankings, **extras, "format": format, "field": field})
        return _on_examples(settings, data, dev, Path(output), **options)
    _refuse(settings, "rankings", {"dev": dev})
    if missing := [name for name, value in rankings.items() if value is None]:
        fix = "longrank train TRAINING INDEX QUERIES QRELS RUN"
        raise InputError(f"{settings.network.name} learns from rankings: no {', '.join(missing)}", fix=fix)
    from longrank.training.experiment import open_experiment
    from longrank.training.folds import cross_validate, folds_of, train_once

    known = {query.query_id: query for query in read_queries(queries, notes, format=format, field=field)}
    judged = read_qrels(qrels, notes)
    chosen = folds_of(known, judged, folds, group_by=group_by, seed=fold_seed, notes=notes)
    if only and chosen is None:
        raise InputError("`only` chooses among folds", got=only[0], fix="give `folds`")
    if spread.given:
        _check_spread(chosen, score_cache, engine)
    experiment = open_experiment(
        settings,
        Index.open(data),
        known,
        judged,
        read_run(run, notes),
        folds=chosen,
        notes=notes,
        score_cache=None if score_cache is None else Path(score_cache),
    )
    if chosen is None:
        train_once(experiment, Path(output), **options)
        return _trained(settings, Path(output), {"training": Path(output)}, None, notes)
    with spread.open() if spread.given else nullcontext() as opened:
        pooled = cross_validate(experiment, Path(output), only=only, engine=opened, **options)
    return _trained(settings, Path(output), {name: Path(output) / name for name in chosen}, pooled, notes)


def _check_spread(
    folds: Mapping[str, Fold] | None, score_cache: str | Path | None, engine: str | Engine | None
) -> None:
    """Refuse an engine for a training without folds, with a score cache, or under torchrun."""
    from longrank.training.ranks import Ranks

    got = f"engine={engine or 'local'}"
    if folds is None:
        raise InputError("the workers of an engine train folds, and there are none", got=got, fix="give `folds`")
    if score_cache is not None:
        raise InputError("a score cache belongs to one process", got=got, fix="use no engine")
    if Ranks().n > 1:
        raise InputError("torchrun's processes share a training already", got=got, fix="use no engine")


def _silent(fold: str, steps: int) -> Callable[[int], object]:
    return lambda n: None


def _on_examples(
    settings: PassageTraining, examples: Any, dev: Any, folder: Path, *, progress: Progress, **options: Any
) -> Trained:
    from longrank.training.passage_training import train_passages

    with _example_file(examples, "examples") as path, _example_file(dev, "dev") as dev_path:
        if path is None:
            raise InputError(f"{settings.network.name} learns from examples: there are none")
        train_passages(settings, path, dev_path, folder, progress=progress("training", settings.loop.steps), **options)
    return _trained(settings, folder, {"training": folder}, None, options["notes"])


def _refuse(settings: Training, source: str, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that the data of a training do not have."""
    for name, value in arguments.items():
        if value is not None:
            raise InputError(f"{settings.network.name} learns from {source}, which take no {name}", got=value)


def _trained(settings: Training, folder: Path, parts: Mapping[str, Path], run: Run | None, notes: Notes) -> Trained:
    records = {name: record for name, part in parts.items() if (record := finished(part)) is not None}
    best = {name: record["best_measure"] for name, record in records.items() if record["best_measure"] is not None}
    return Trained(settings.network.name, folder, {name: parts[name] / MODEL for name in records}, best, run, notes)


@contextmanager
def _example_file(examples: Any, name: str) -> Iterator[Path | None]:
    """Give the file of examples; examples in memory are written to a temporary file, which errors call `name`."""
    if examples is None or isinstance(examples, str | Path):
        yield None if examples is None else Path(examples)
        return
    if not isinstance(examples, Iterable):
        raise InputError(f"no examples can be read from a {type(examples).__name__}", got=examples)
    from longrank.training.passage_data.examples import write_examples

    with TemporaryDirectory() as folder:
        path = Path(folder) / "examples.jsonl"
        try:
            write_examples(examples, path)
            yield path
        except InputError as error:
            raise error.located(name) if error.path == path else error from None
