"""Passage networks that learn from examples: feeding, validation and saving, which all of them share."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from longrank.errors import InputError
from longrank.evaluation.measures import evaluate, summarise
from longrank.evaluation.names import parse_measure
from longrank.networks.feeding import DEFAULT_BATCH_TOKENS, Feeder
from longrank.networks.loading import choose_max_tokens, position_limit, quiet
from longrank.networks.model_files import Model
from longrank.networks.trainings import TRAINED
from longrank.storage import seal
from longrank.storage.folders import atomic_folder
from longrank.training.cuts import Cuts
from longrank.training.dropout import set_dropout
from longrank.training.loss_terms import loss_fault, loss_kind, weighted_loss
from longrank.training.passage_data.contradictions import Labels
from longrank.training.passage_data.examples import Example, ExampleFile
from longrank.training.ranks import Ranks
from longrank.training.settings import PassageTraining
from longrank.types import Notes, Qrels, Run, ScoredDoc


class PassageTask(ABC):
    """A passage network that learns from examples; a `longrank.training.loop.Task`.

    Subclasses are made of (settings, examples, development examples, notes) and load their model then. Without
    development examples there is no validation.

    Args:
        network: to be trained, of transformers or sentence-transformers.
        tokenizer: its tokenizer.
        model: the files of both.
        settings: the whole training.
        notes: counts texts and queries that are cut.
        limits: tokens that the tokenizer and the network can read; default: as their configurations say.

    Attributes:
        network: on the device of this process.
        fingerprint: names the weights that the network begins with.
        lineage: the earlier trainings of these weights.

    Raises:
        InputError: the settings need more tokens than the network can read.
    """

    def __init__(
        self,
        network: Any,
        tokenizer: Any,
        *,
        model: Model,
        settings: PassageTraining,
        notes: Notes,
        limits: tuple[int | None, ...] | None = None,
    ) -> None:
        self.network, self.fingerprint, self.lineage = network.to(Ranks().device), model.fingerprint, model.lineage
        self._tokenizer, self._cuts = tokenizer, Cuts(notes)
        if settings.network.dropout is not None:
            set_dropout(network, settings.network.dropout)
        max_tokens = choose_max_tokens(
            model, settings.read.max_tokens, *(limits or (tokenizer.model_max_length, position_limit(network)))
        )
        self._feeder = Feeder(
            tokenizer,
            max_tokens,
            max_query_tokens=settings.read.max_query_tokens,
            batch_tokens=DEFAULT_BATCH_TOKENS,
            device=str(network.device),
            notes=notes,
        )

    @abstractmethod
    def loss(self, instances: Sequence[int]) -> torch.Tensor:
        """Return the mean loss over instances."""

    @abstractmethod
    def validate(self) -> float:
        """Return the measure of the development examples."""

    def save(self, folder: Path, record: Mapping[str, Any]) -> None:
        """Write the model with the record of its training."""
        save_model(folder, self.network, self._tokenizer, record)


class Development:
    """Development queries with texts to rank: groups as they are, single texts gathered by their query.

    Args:
        examples: groups or single texts.
        measure: a name that `evaluate` knows.

    Raises:
        InputError: an unknown measure, or no relevant text.
    """

    def __init__(self, examples: Sequence[Example], measure: str) -> None:
        self._measure = parse_measure(measure)
        self._lists = _lists(examples)
        self._qrels: Qrels = {
            str(n): {str(i): int(label) for i, label in enumerate(group.labels)} for n, group in enumerate(self._lists)
        }
        if not any(label for group in self._lists for label in group.labels):
            raise InputError("the development examples have no relevant text", about=("dev",))

    def value(self, score: Callable[[str, Sequence[str]], Sequence[Any]]) -> float:
        """Return the mean of the measure; among equal scores the first text of a list ranks last.

        Args:
            score: (query, texts) -> the score of each text.
        """
        lists = self._lists
        scores = Ranks().shared(len(lists), lambda n: [float(value) for value in score(lists[n].query, lists[n].texts)])
        run = Run(
            "dev",
            (ScoredDoc(str(n), str(i), value) for n, values in enumerate(scores) for i, value in enumerate(values)),
        )
        (values,) = evaluate(self._qrels, run, [self._measure]).values()
        return summarise(str(self._measure), list(values.values()))


def _lists(examples: Sequence[Example]) -> list[Example]:
    """Return each group, and a list of the single texts of each query."""
    single: dict[str, list[Example]] = {}
    for example in examples:
        if len(example.texts) == 1:
            single.setdefault(example.query, []).append(example)
    gathered = [
        Example(query, tuple(row.texts[0] for row in rows), tuple(row.labels[0] for row in rows))
        for query, rows in single.items()
    ]
    return [example for example in examples if len(example.texts) > 1] + gathered


def check_examples(settings: PassageTraining, examples: ExampleFile, notes: Notes) -> None:
    """Refuse examples from which the losses cannot learn, and count contradictions and unused scores of a teacher.

    Every example is read.

    Raises:
        InputError: an unknown loss, no loss, or a line with no example or an unsuitable example; names the line.
    """
    weighted_loss(settings.loss)
    for term in settings.loss:
        kind = loss_kind(term)
        if kind.group == 1 and kind.needs == "teacher":
            fix = "use groups with margin-mse or kl"
            raise InputError(f"the loss {term.name} is of single texts, which have no teacher here", fix=fix)
    width, labels = len(examples[0].texts), Labels()
    learns_from_teacher = any(loss_kind(term).needs == "teacher" for term in settings.loss)
    for i, example in enumerate(examples):
        labels.add(example)
        unused = example.taught is not None and not learns_from_teacher
        notes.add("examples with scores of a teacher, from which no loss learns", f"{examples.path}:{i + 1}", unused)
        fault = loss_fault(settings.loss, "texts", width, taught=example.taught is not None)
        if len(example.texts) != width:
            fault = f"examples of different sizes: the first has {width} texts, this one {len(example.texts)}"
        if fault:
            raise InputError(fault, path=examples.path, line=i + 1)
    n, last = labels.contradictions()
    notes.add("texts with the labels 1 and 0 for one query", f"{examples.path}:{last // width + 1}", n)


def save_model(folder: Path, network: Any, tokenizer: Any, record: Mapping[str, Any]) -> None:
    """Write a model of transformers, its tokenizer and the record of its training; replace such a folder.

    Args:
        folder: the folder above must exist.
        network: of transformers, on any device.
        tokenizer: of transformers.
        record: JSON-able.

    Raises:
        InputError: `folder` holds other files, or cannot be written.
        LongRankError: writing failed.
    """
    with model_folder(folder, record) as new:
        network.save_pretrained(new)
        tokenizer.save_pretrained(new)


@contextmanager
def model_folder(folder: Path, record: Mapping[str, Any]) -> Iterator[Path]:
    """Give an empty folder for the files of a model; it appears as `folder` afterwards, with the record.

    Args and Raises: as `save_model`.
    """
    with atomic_folder(folder) as new, quiet():
        yield new
        (new / TRAINED).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        for path in new.rglob("*.safetensors"):  # else only their owner may read them
            path.chmod((new / TRAINED).stat().st_mode)
        seal(new, "model")
