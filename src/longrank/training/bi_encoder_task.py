"""Learning to place texts: examples of two texts in, the triplet loss of their vectors out; validated by ranking texts.

Vectors are those of the model's own pooling, mean pooling as a rule, and distances are Euclidean (Santos et al.).
Where a model scales its vectors to length 1 at the end, the loss is of those before: no two unit vectors are farther
apart than 2, so no margin of the papers could be kept, and the cosine, which ranks, is the same of both. What is saved
scales them as before. Queries and texts are read as the scorer reads them, with the model's prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from longrank.errors import InputError
from longrank.networks.feeding import DEFAULT_BATCH_TOKENS, Feeder
from longrank.networks.loading import choose_max_tokens, loading
from longrank.networks.model_files import Model, find_model
from longrank.networks.sentence_encoder import limits_of, load_sentence_encoder, prompts_of, unit_rows
from longrank.text.packing import Packed
from longrank.training.cuts import Cuts
from longrank.training.dropout import set_dropout
from longrank.training.loss_terms import LOSSES, loss_kind, weighted_loss
from longrank.training.passage_data.examples import Example, ExampleSamples
from longrank.training.passage_settings import PassageTrainingSettings
from longrank.training.passage_validation import Development
from longrank.training.ranks import Ranks
from longrank.training.saving import model_folder
from longrank.types import Notes


def open_bi_encoder(
    settings: PassageTrainingSettings, examples: ExampleSamples, dev: Sequence[Example], notes: Notes
) -> BiEncoderTask:
    """Load the bi-encoder of a training, and check that it can learn from the examples; reads every example.

    Raises:
        InputError: a model that cannot be read, a setting or a loss that is not for bi-encoders, an unknown measure,
            or a line that holds no example of two texts.
        MissingExtra: sentence-transformers is not installed.
    """
    _check_settings(settings)
    model = find_model(settings.network.model)
    with loading(model), torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.loop.seed)  # of a pooler that the file lacks: not read, but saved
        network = load_sentence_encoder(model, str(Ranks().device), notes)
    for i, example in enumerate(examples.examples):
        if len(example.texts) != 2:
            raise InputError(
                "a bi-encoder learns from groups of two texts, a relevant one and another",
                path=examples.examples.path,
                line=i + 1,
                got=len(example.texts),
            )
    return BiEncoderTask(network, model=model, settings=settings, examples=examples, dev=dev, notes=notes)


class BiEncoderTask:
    """A bi-encoder that learns from examples; a `longrank.training.loop.Task`.

    Args:
        network: of sentence-transformers, on its device: what is trained.
        model: where it comes from.
        settings: the whole training.
        examples: what it learns from, all of two texts.
        dev: what it is validated on.
        notes: counts texts and queries that are cut.
    """

    def __init__(
        self,
        network: Any,
        *,
        model: Model,
        settings: PassageTrainingSettings,
        examples: ExampleSamples,
        dev: Sequence[Example],
        notes: Notes,
    ) -> None:
        self.network, self.fingerprint = network, model.fingerprint
        self._examples, self._cuts = examples, Cuts(notes)
        if settings.network.dropout is not None:
            set_dropout(network, settings.network.dropout)
        max_tokens = choose_max_tokens(model, settings.read.max_tokens, *limits_of(network))
        self._feeder = Feeder(
            network.tokenizer,
            max_tokens,
            max_query_tokens=max_tokens,
            batch_tokens=DEFAULT_BATCH_TOKENS,
            device=str(network.device),
            notes=notes,
        )
        prompts = prompts_of(network)
        self._prompts = {"queries": prompts.query, "texts": prompts.document}
        self._modules = _without_scaling(network)
        self._loss = weighted_loss(settings.loss)
        self._dev = Development(dev, settings.validation.measure) if dev else None

    def loss(self, instances: Sequence[int]) -> torch.Tensor:
        """Return the mean loss over instances."""
        found = [self._examples[n] for n in instances]
        queries = self._packed("queries", [one.query for one in found])
        texts = self._packed("texts", [text for one in found for text in one.texts])
        of_queries = self._feeder.rows(queries, self._forward("queries"))
        of_texts = self._feeder.rows(texts, self._forward("texts"))
        vectors = torch.cat([of_queries[:, None], of_texts.view(len(found), 2, -1)], dim=1)
        return self._loss(vectors)

    def validate(self) -> float:
        """Return the measure of the development examples, their texts ranked by the cosine."""
        assert self._dev is not None, "the loop validates only with development examples"
        return self._dev.value(self._cosines)

    def save(self, folder: Path, record: Mapping[str, Any]) -> None:
        """Write the model as sentence-transformers does, with the record of its training."""
        with model_folder(folder, record) as new:
            self.network.save(str(new), create_model_card=False)

    def _cosines(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        asked, found = (
            unit_rows(self._feeder.run(self._packed(kind, some), self._forward(kind)))
            for kind, some in (("queries", [query]), ("texts", texts))
        )
        cosines: list[float] = (found * asked).sum(axis=1, dtype=np.float32).tolist()
        return cosines

    def _packed(self, kind: str, texts: Sequence[str]) -> list[Packed]:
        return self._cuts.texts(self._feeder.packer, kind, texts, self._prompts[kind])

    def _forward(self, kind: str) -> Callable[[dict[str, Any]], torch.Tensor]:
        """Return what makes vectors [N, H] of the features of queries or texts; some poolings leave the prompt out."""
        prompt = self._prompts[kind]
        extra = {"prompt_length": self._feeder.packer.leading_tokens(prompt)} if prompt else {}

        def forward(features: dict[str, Any]) -> torch.Tensor:
            features = {**features, **extra}
            for module in self._modules:
                features = module(features)
            vectors: torch.Tensor = features["sentence_embedding"]
            return vectors

        return forward


def _without_scaling(network: Any) -> list[Any]:
    """Return a bi-encoder's modules but for those at the end that scale vectors to length 1."""
    from sentence_transformers.models import Normalize

    modules = list(network.children())
    while isinstance(modules[-1], Normalize):
        modules.pop()
    return modules


def _check_settings(settings: PassageTrainingSettings) -> None:
    """Refuse losses that are not of vectors, and what only other networks have.

    Raises:
        InputError: as said; or no loss.
    """
    weighted_loss(settings.loss)
    for term in settings.loss:
        if (kind := loss_kind(term)).reads != "vectors":
            fits = ", ".join(name for name, one in LOSSES.items() if one.reads == "vectors")
            raise InputError(f"a bi-encoder learns by losses of vectors, {term.name} reads {kind.reads}", fix=fits)
    if settings.network.outputs is not None:
        raise InputError("a bi-encoder has no outputs to choose", got=f"network.outputs = {settings.network.outputs}")
    if "max_query_tokens" in settings.read.model_fields_set:
        raise InputError(
            "a bi-encoder reads queries as it reads texts",
            got=f"read.max_query_tokens = {settings.read.max_query_tokens}",
            fix="leave it out",
        )
