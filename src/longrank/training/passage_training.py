"""Training of a passage network: settings and examples become a task, which the loop trains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longrank.errors import InputError
from longrank.registries import lookup
from longrank.training import PASSAGE_NETWORKS
from longrank.training.loop import note_best, train
from longrank.training.passage_data.examples import Example, ExampleFile, ExampleSamples
from longrank.training.settings import PassageTraining
from longrank.types import Notes

if TYPE_CHECKING:
    from typing import TypeAlias

    from longrank.training.passage_task import PassageTask

    _OpenTask: TypeAlias = Callable[[PassageTraining, ExampleSamples, Sequence[Example], Notes], PassageTask]


def train_passages(
    settings: PassageTraining,
    examples: Path,
    dev: Path | None,
    folder: Path,
    *,
    progress: Callable[[int], object],
    notes: Notes,
    tensorboard: bool = False,
) -> dict[str, Any]:
    """Train on a file of examples, or resume an interrupted training; return its record.

    Every line of both files is checked before anything is written.

    Args:
        settings: the whole training.
        examples: the training examples (`longrank.training.passage_data.examples`).
        dev: examples to validate on, every ``loop.validate_every`` steps.
        folder: of `longrank.training.run_folder`.
        progress: called with the number of steps just done.
        notes: collects remarks.
        tensorboard: also write TensorBoard's log.

    Raises:
        InputError: the development examples are the training examples, a line that holds no example, an unknown name,
            settings or losses that do not fit the examples, or a model that cannot be read; or as
            `longrank.training.loop.train`.
        LongRankError: as `train`.
    """
    open_task: _OpenTask = lookup(PASSAGE_NETWORKS, settings.network.name, "passage network")
    if (dev is None) != (settings.loop.validate_every is None):
        fix = (
            "give --dev, or leave validation out: --set loop.validate_every= (and loop.patience=)"
            if dev is None
            else "set loop.validate_every"
        )
        raise InputError("validation needs development examples and loop.validate_every", fix=fix)
    training = ExampleFile(examples, notes)
    validation = None if dev is None else ExampleFile(dev, notes)
    digests = {"examples": training.sha256, "dev": None if validation is None else validation.sha256}
    _check_held_out(digests)
    if validation is not None:
        _count_shared(training, validation, notes)
    samples = ExampleSamples(training, settings.loop.seed)
    held_out = [] if validation is None else list(validation)
    task = open_task(settings, samples, held_out, notes)
    identity = {
        **({"lineage": task.lineage} if task.lineage else {}),
        "training": settings.model_dump(exclude={"loop"}),
        "model": task.fingerprint,
        **digests,
    }
    options: dict[str, Any] = {"run": identity, "progress": progress, "notes": notes, "tensorboard": tensorboard}
    record = train(task, settings.loop, folder, **options)
    note_best(record, settings.validation.measure, notes)
    return record


def _count_shared(training: ExampleFile, validation: ExampleFile, notes: Notes) -> None:
    """Count the development examples whose lines are in the training file, too."""
    numbers = {line: number for number, line in enumerate(validation.lines(), 1)}
    shared = {line for line in training.lines() if line in numbers}
    first = min((numbers[line] for line in shared), default=0)
    what = "development examples that are also training examples, which makes the best weights look better"
    notes.add(what, f"{validation.path}:{first}", len(shared))


def _check_held_out(digests: Mapping[str, str | None]) -> None:
    if digests["dev"] == digests["examples"]:
        what = "the development examples are the training examples: the weights that fit them best would be kept"
        fix = "give held-out examples, or leave validation out: --set loop.validate_every= (and loop.patience=)"
        raise InputError(what, about=("dev",), fix=fix)
