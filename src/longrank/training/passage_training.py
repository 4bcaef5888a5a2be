"""A training of a passage model as users run it: examples and settings become a task, which the loop trains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from longrank.config import lookup
from longrank.errors import InputError
from longrank.storage import sha256_of
from longrank.training import loop
from longrank.training.passage_data.examples import Example, ExampleFile, ExampleSamples
from longrank.training.passage_settings import PassageTrainingSettings
from longrank.training.schedules import schedule
from longrank.types import Notes


class PassageTask(loop.Task, Protocol):
    """What is trained on examples; `fingerprint` names the weights that it begins with."""

    fingerprint: str


Opened = Callable[[PassageTrainingSettings, ExampleSamples, Sequence[Example], Notes], PassageTask]
"""Makes a task of settings, examples, development examples (none: no validation) and notes; models are loaded now."""

PASSAGE_TASKS: dict[str, Opened | str] = {
    "cross-encoder": "longrank.training.cross_encoder_task:open_cross_encoder",
    "bi-encoder": "longrank.training.bi_encoder_task:open_bi_encoder",
    "doc2query": "longrank.training.doc2query_task:open_doc2query",
}
"""What can be trained on examples, by name."""


def train_passages(
    settings: PassageTrainingSettings,
    examples: Path,
    dev: Path | None,
    folder: Path,
    *,
    progress: Callable[[int], object],
    notes: Notes,
    tensorboard: bool = False,
) -> dict[str, Any]:
    """Train on a file of examples, or go on with a training that was interrupted; returns its record.

    Every line of both files is read and checked before anything is written.

    Args:
        settings: the whole training.
        examples: what is learned from (`longrank.training.passage_data.examples`).
        dev: examples to validate on, if the settings say how often.
        folder: of `longrank.training.run_folder`.
        progress: called with the number of steps just done.
        notes: what was decided on the user's behalf.
        tensorboard: also write TensorBoard's log.

    Raises:
        InputError: a line that holds no example, a name that is unknown, settings or losses that do not fit the
            examples, a model that cannot be read; or as `longrank.training.loop.train`.
        LongRankError: as `train`.
    """
    open_task: Opened = lookup(PASSAGE_TASKS, settings.network.name, "passage model")
    schedule(settings.loop.schedule.name, settings.loop.schedule.options)
    if (dev is None) != (settings.loop.validate_every is None):
        fix = (
            "give --dev, or leave validation out: --set loop.validate_every= (and loop.patience=)"
            if dev is None
            else "set loop.validate_every"
        )
        raise InputError("validation needs development examples and loop.validate_every", fix=fix)
    learned = ExampleFile(examples, notes)
    validated = [] if dev is None else list(ExampleFile(dev, notes))
    task = open_task(settings, ExampleSamples(learned, settings.loop.seed), validated, notes)
    identity = {
        "training": settings.model_dump(exclude={"loop"}),
        "model": task.fingerprint,
        "examples": sha256_of(examples),
        "dev": None if dev is None else sha256_of(dev),
    }
    if identity["dev"] == identity["examples"]:
        notes.say("the development examples are those that are learned from: they show no other quality than the loss")
    return loop.train(
        task, settings.loop, folder, run=identity, progress=progress, notes=notes, tensorboard=tensorboard
    )
