"""Trainings of passage models of a second, and what is compared of them."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from longrank.errors import LongRankError
from longrank.training.passage_data.examples import Example, ExampleFile, ExampleSamples, write_examples
from longrank.training.settings import PassageTraining
from longrank.types import Notes


def settings(name: str, model: Path, **sections: Any) -> PassageTraining:
    """Return settings of a training of two steps; a section given replaces keys of what is there."""
    found: dict[str, dict[str, Any]] = {
        "network": {"name": name, "model": str(model), "dropout": 0.0},
        "read": {"max_tokens": 32},
        "loop": {"steps": 2, "batch": 2, "optimizer": {"learning_rate": 0.01}},
    }
    for section, value in sections.items():
        found[section] = found.get(section, {}) | value if isinstance(value, dict) else value
    return PassageTraining.model_validate(found)


def samples(folder: Path, examples: Sequence[Example], seed: int = 0) -> ExampleSamples:
    """Return examples as a training reads them."""
    write_examples(examples, folder / "examples.jsonl")
    return ExampleSamples(ExampleFile(folder / "examples.jsonl", Notes()), seed)


def trained(
    found: PassageTraining, folder: Path, examples: Sequence[Example], dev: Sequence[Example] = ()
) -> dict[str, Any]:
    """Train in ``folder/out`` on examples that are written beside it; return the record."""
    from longrank.training.passage_training import train_passages

    write_examples(examples, folder / "examples.jsonl")
    if dev:
        write_examples(dev[::-1], folder / "dev.jsonl")  # tests may learn all by heart; the very same file is refused
    places = folder / "examples.jsonl", folder / "dev.jsonl" if dev else None
    return train_passages(found, *places, folder / "out", progress=lambda n: None, notes=Notes())


def losses(folder: Path) -> list[float]:
    """Return the losses of the training in ``folder/out``."""
    lines = [json.loads(line) for line in (folder / "out" / "log.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if "loss" in line]


def check_resumed(folder: Path, train: Callable[[Path], object], calls: Sequence[int]) -> None:
    """Assert that a training that fails at these calls that write, and is begun again, ends with the same bytes.

    Args:
        folder: for the trainings.
        train: does a training in a folder.
        calls: that fail, counted from 1, one in each attempt.
    """
    from training_tasks import FailAt, contents

    for name in ("straight", "resumed"):
        (folder / name).mkdir()
    train(folder / "straight")
    for n in calls:
        with FailAt(n, OSError(errno.ENOSPC, "no space left")) as failing, pytest.raises(LongRankError):
            train(folder / "resumed")
        assert failing.calls >= n
    assert not (folder / "resumed" / "out" / "record.json").exists()
    train(folder / "resumed")
    assert contents(folder / "resumed") == contents(folder / "straight")
