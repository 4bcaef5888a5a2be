"""Learning to score passages: examples in, the loss of a cross-encoder's outputs out; validated by ranking texts.

What is saved is a model of transformers for sequence classification: `rerank` reads it as a passage scorer, and any
document network can be put on it and trained on (pre-fine-tuning).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from longrank.errors import InputError
from longrank.models.new import new_network
from longrank.networks.heads import check_pairs
from longrank.networks.model_files import Model, find_model
from longrank.text.packing import Packed
from longrank.training.cuts import Cuts
from longrank.training.feeding import prepared
from longrank.training.loss_terms import LossKind, loss_kind, weighted_loss
from longrank.training.passage_data.examples import Example, ExampleSamples
from longrank.training.passage_settings import PassageTrainingSettings
from longrank.training.passage_validation import Development
from longrank.training.ranks import Ranks
from longrank.training.saving import save_model
from longrank.types import Notes


def open_cross_encoder(
    settings: PassageTrainingSettings, examples: ExampleSamples, dev: Sequence[Example], notes: Notes
) -> CrossEncoderTask:
    """Load the model of a training, and check that its losses can learn from the examples; reads every example.

    Raises:
        InputError: a model that cannot be read, an unknown loss or measure, losses that want other examples or
            outputs, or a line that holds no example.
        MissingExtra: torch or transformers are not installed.
    """
    model = find_model(settings.network.model)
    options = {} if settings.network.outputs is None else {"outputs": settings.network.outputs}
    network, tokenizer = new_network("maxp", model, notes, options=options, seed=settings.loop.seed)
    check_pairs(model, tokenizer)
    _check_losses(settings, examples)
    return CrossEncoderTask(
        network.classifier, tokenizer, model=model, settings=settings, examples=examples, dev=dev, notes=notes
    )


class CrossEncoderTask:
    """A cross-encoder that learns from examples; a `longrank.training.loop.Task`.

    A text's score is the logit, or of two outputs the second less the first, as `CrossEncoder` has it unless it is told
    otherwise.

    Args:
        network: of transformers, for sequence classification with one output or two: what is trained.
        tokenizer: its tokenizer.
        model: where it comes from.
        settings: the whole training.
        examples: what it learns from.
        dev: what it is validated on.
        notes: counts texts and queries that were cut.
    """

    def __init__(
        self,
        network: Any,
        tokenizer: Any,
        *,
        model: Model,
        settings: PassageTrainingSettings,
        examples: ExampleSamples,
        dev: Sequence[Example],
        notes: Notes,
    ) -> None:
        self.network, self.fingerprint = network.to(Ranks().device), model.fingerprint
        self._tokenizer, self._examples, self._cuts = tokenizer, examples, Cuts(notes)
        self._feeder = prepared(network, tokenizer, model, settings, notes)
        self._loss, self._reads = weighted_loss(settings.loss), loss_kind(settings.loss[0]).reads
        self._dev = Development(dev, settings.validation.measure) if dev else None

    def loss(self, instances: Sequence[int]) -> torch.Tensor:
        """Return the mean loss over instances."""
        found = [self._examples[n] for n in instances]
        logits = self._feeder.rows([pair for one in found for pair in self._pairs(one.query, one.texts)], self._forward)
        outputs = logits if self._reads == "logits" else _scores(logits).view(len(found), -1)
        taught = [one.taught for one in found if one.taught is not None]
        return self._loss(
            outputs,
            labels=torch.tensor([one.labels[0] for one in found], device=outputs.device),
            teacher=torch.tensor(taught, device=outputs.device) if taught else None,
        )

    def validate(self) -> float:
        """Return the measure of the development examples' rankings."""
        assert self._dev is not None, "the loop validates only with development examples"
        return self._dev.value(self._scored)

    def save(self, folder: Path, record: Mapping[str, Any]) -> None:
        """Write the model with the record of its training."""
        save_model(folder, self.network, self._tokenizer, record)

    def _scored(self, query: str, texts: Sequence[str]) -> list[float]:
        scores: list[float] = _scores(self._feeder.rows(self._pairs(query, texts), self._forward)).tolist()
        return scores

    def _forward(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
        logits: torch.Tensor = self.network(**features).logits
        return logits

    def _pairs(self, query: str, texts: Sequence[str]) -> list[Packed]:
        """Return the query paired with each text; what is cut is counted once."""
        packer = self._feeder.packer
        packed = list(packer.pairs(query, texts))
        for text, one in zip(texts, packed, strict=True):
            self._cuts.add(f"texts cut, with their queries, at {packer.max_tokens} tokens", text, one.truncated)
        self._cuts.add(f"queries cut at {packer.max_query_tokens} tokens", query, packer.cuts_query(query))
        return packed


def _scores(logits: torch.Tensor) -> torch.Tensor:
    """Return the scores [N] of logits [N, 1 or 2]."""
    return logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]


def _check_losses(settings: PassageTrainingSettings, examples: ExampleSamples) -> None:
    """Refuse losses that want other examples than all of these are.

    Raises:
        InputError: as said, or no loss; names the line of the first example that does not fit.
    """
    kinds = {term.name: loss_kind(term) for term in settings.loss}
    weighted_loss(settings.loss)
    for name, kind in kinds.items():
        if kind.reads == "vectors":
            raise InputError(f"the loss {name} is of texts' vectors", fix='a network named "bi-encoder" gives them')
        if kind.group == 1 and kind.needs == "teacher":
            fix = "learn from groups by margin-mse or kl"
            raise InputError(f"the loss {name} is of single texts, which have no teacher here", fix=fix)
    width = len(examples.examples[0].texts)
    for i, example in enumerate(examples.examples):
        fault = _fault(kinds, example, width)
        if fault:
            raise InputError(fault, path=examples.examples.path, line=i + 1)


def _fault(kinds: Mapping[str, LossKind], example: Example, width: int) -> str | None:
    """Return what makes losses unable to learn from an example."""
    if len(example.texts) != width:
        return f"examples of different sizes: the first has {width} of texts, this one {len(example.texts)}"
    for name, kind in kinds.items():
        if kind.group not in (0, width) or (kind.group == 0 and width < 2):
            wanted = {0: "groups of texts", 1: "single texts with labels"}.get(kind.group, "groups of two texts")
            return f"the loss {name} learns from {wanted}"
        if kind.needs == "teacher" and example.taught is None:
            return f"the loss {name} learns from a teacher's scores, and an example has none"
    return None
