"""Train a bi-encoder: examples of two texts go in, the triplet loss of their vectors comes out.

The model's own pooling makes the vectors, mean pooling as a rule; distances are Euclidean (Santos et al.). If a model
scales its vectors to length 1 at the end, the loss reads the vectors before scaling: unit vectors are at most 2 apart,
less than the papers' margins, and cosines are the same. The saved model scales as before. Queries and texts are read
with the model's prompts, as the scorer reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from longrank.errors import InputError
from longrank.networks.loading import loading
from longrank.networks.model_files import find_model
from longrank.networks.sentence_encoder import limits_of, load_sentence_encoder, prompts_of, unit_rows
from longrank.text.packing import Packed
from longrank.training.loss_terms import check_reads, weighted_loss
from longrank.training.passage_data.examples import Example, ExampleSamples
from longrank.training.passage_task import Development, PassageTask, check_examples, model_folder
from longrank.training.ranks import Ranks
from longrank.training.settings import PassageTraining
from longrank.types import Notes


class BiEncoderTask(PassageTask):
    """A bi-encoder of sentence-transformers that learns from examples of two texts.

    Args:
        settings: the whole training.
        examples: read once now.
        dev: development examples; empty: no validation.
        notes: counts texts and queries that are cut.

    Raises:
        InputError: a model that cannot be read, a setting or a loss that is not for bi-encoders, an unknown measure,
            or a line that holds no example of two texts.
        MissingExtra: sentence-transformers is not installed.
    """

    def __init__(
        self, settings: PassageTraining, examples: ExampleSamples, dev: Sequence[Example], notes: Notes
    ) -> None:
        _check_settings(settings)
        model = find_model(settings.network.model, records=True)
        with loading(model), torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.loop.seed)  # of a pooler that the file lacks: not read, but saved
            network = load_sentence_encoder(model, str(Ranks().device), notes)
        check_examples(settings, examples.examples, notes)
        limits = limits_of(network)
        super().__init__(network, network.tokenizer, model=model, settings=settings, notes=notes, limits=limits)
        self._examples = examples
        prompts = prompts_of(network)
        self._prompts = {"queries": prompts.query, "texts": prompts.document}
        self._modules = _without_scaling(network)
        self._loss = weighted_loss(settings.loss)
        self._dev = Development(dev, settings.validation.measure) if dev else None

    def loss(self, instances: Sequence[int]) -> torch.Tensor:
        """Return the mean loss over instances."""
        examples = [self._examples[n] for n in instances]
        queries = self._packed("queries", [example.query for example in examples])
        texts = self._packed("texts", [text for example in examples for text in example.texts])
        of_queries = self._feeder.rows(queries, self._forward("queries"))
        of_texts = self._feeder.rows(texts, self._forward("texts"))
        vectors = torch.cat([of_queries[:, None], of_texts.view(len(examples), 2, -1)], dim=1)
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
        query_row, text_rows = (
            unit_rows(self._feeder.run(self._packed(kind, some), self._forward(kind)))
            for kind, some in (("queries", [query]), ("texts", texts))
        )
        cosines: list[float] = (text_rows * query_row).sum(axis=1, dtype=np.float32).tolist()
        return cosines

    def _packed(self, kind: str, texts: Sequence[str]) -> list[Packed]:
        return self._cuts.texts(self._feeder.packer, kind, texts, self._prompts[kind])

    def _forward(self, kind: str) -> Callable[[dict[str, Any]], torch.Tensor]:
        """Return the function from features of queries or texts to vectors [N, H]; some poolings skip the prompt."""
        prompt = self._prompts[kind]
        extra = {"prompt_length": self._feeder.packer.leading_tokens(prompt)} if prompt else {}

        def forward(features: dict[str, Any]) -> torch.Tensor:
            features = {**features, **extra}
            for module in self._modules:
                features = module(features)
            vectors: torch.Tensor = features["sentence_embedding"]
            return vectors[:, : self.network.truncate_dim]  # as the scorer reads them; None: all

        return forward


def _without_scaling(network: Any) -> list[Any]:
    """Return a bi-encoder's modules, without a final scaling of vectors to length 1."""
    from sentence_transformers.models import Normalize

    modules = list(network.children())
    while isinstance(modules[-1], Normalize):
        modules.pop()
    return modules


def _check_settings(settings: PassageTraining) -> None:
    """Refuse losses that do not read vectors, and settings of other networks.

    Raises:
        InputError: such a loss or setting, or no loss.
    """
    check_reads(settings.loss, ("vectors",), "bi-encoder")
    if settings.network.outputs is not None:
        raise InputError("a bi-encoder has no outputs to choose", got=f"network.outputs = {settings.network.outputs}")
    if "max_query_tokens" in settings.read.model_fields_set:
        raise InputError(
            "a bi-encoder reads queries as it reads texts",
            got=f"read.max_query_tokens = {settings.read.max_query_tokens}",
            fix="leave it out",
        )
