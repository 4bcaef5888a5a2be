"""Train a cross-encoder: examples go in, the loss of its outputs comes out.

The saved model is a transformers model for sequence classification. `rerank` reads it as a passage scorer, and any
document network can start from it (pre-fine-tuning).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from longrank.models.new import new_network
from longrank.networks.heads import check_pairs
from longrank.networks.model_files import find_model
from longrank.text.packing import Packed
from longrank.training.loss_terms import check_reads, loss_kind, weighted_loss
from longrank.training.passage_data.examples import Example, ExampleSamples
from longrank.training.passage_task import Development, PassageTask, check_examples
from longrank.training.settings import PassageTraining
from longrank.types import Notes


class CrossEncoderTask(PassageTask):
    """A cross-encoder that learns from examples.

    A text's score is the logit, or of two outputs the second less the first, as is the default of `CrossEncoder`.

    Args:
        settings: the whole training.
        examples: read once now.
        dev: development examples; empty: no validation.
        notes: counts texts and queries that are cut.

    Raises:
        InputError: a model that cannot be read, an unknown loss or measure, losses that need other examples or
            outputs, or a line that holds no example.
        MissingExtra: torch or transformers are not installed.
    """

    def __init__(
        self, settings: PassageTraining, examples: ExampleSamples, dev: Sequence[Example], notes: Notes
    ) -> None:
        model = find_model(settings.network.model, records=True)
        options = {} if settings.network.outputs is None else {"outputs": settings.network.outputs}
        network, tokenizer = new_network("maxp", model, notes, options=options, seed=settings.loop.seed)
        check_pairs(model, tokenizer)
        check_reads(settings.loss, ("scores", "logits"), "cross-encoder")
        check_examples(settings, examples.examples, notes)
        super().__init__(network.classifier, tokenizer, model=model, settings=settings, notes=notes)
        self._examples = examples
        self._loss, self._reads = weighted_loss(settings.loss), loss_kind(settings.loss[0]).reads
        self._dev = Development(dev, settings.validation.measure) if dev else None

    def loss(self, instances: Sequence[int]) -> torch.Tensor:
        """Return the mean loss over instances."""
        examples = [self._examples[n] for n in instances]
        pairs = [pair for example in examples for pair in self._pairs(example.query, example.texts)]
        logits = self._feeder.rows(pairs, self._forward)
        outputs = logits if self._reads == "logits" else _scores(logits).view(len(examples), -1)
        labels = torch.tensor([example.labels for example in examples], device=outputs.device)
        taught = [example.taught for example in examples if example.taught is not None]
        return self._loss(
            outputs,
            labels=labels[:, 0] if self._reads == "logits" else labels,
            teacher=torch.tensor(taught, device=outputs.device) if taught else None,
        )

    def validate(self) -> float:
        """Return the measure of the development examples' rankings."""
        assert self._dev is not None, "the loop validates only with development examples"
        return self._dev.value(self._scored)

    def _scored(self, query: str, texts: Sequence[str]) -> list[float]:
        scores: list[float] = _scores(self._feeder.rows(self._pairs(query, texts), self._forward)).tolist()
        return scores

    def _forward(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
        logits: torch.Tensor = self.network(**features).logits
        return logits

    def _pairs(self, query: str, texts: Sequence[str]) -> list[Packed]:
        """Return the query paired with each text; cut texts are counted once."""
        packer = self._feeder.packer
        packed = list(packer.pairs(query, texts))
        for text, pair in zip(texts, packed, strict=True):
            self._cuts.add(f"texts cut, with their queries, at {packer.max_tokens} tokens", text, pair.truncated)
        self._cuts.add(f"queries cut at {packer.max_query_tokens} tokens", query, packer.cuts_query(query))
        return packed


def _scores(logits: torch.Tensor) -> torch.Tensor:
    """Return the scores [N] of logits [N, 1 or 2]."""
    return logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
