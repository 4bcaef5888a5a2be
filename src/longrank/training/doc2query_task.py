"""Train doc2query: a text goes in, and the loss of its query's tokens comes out.

The network is any sequence-to-sequence model of transformers (T5, BART, ...), as in docTTTTTquery (Nogueira and Lin
2019). The text goes in without a prefix; the query's tokens are predicted from the true tokens before them (teacher
forcing). Training uses the first text of each group, and single texts with label 1.

A query's loss is the mean over its tokens, its end included; a batch's loss is the mean over its queries. transformers
averages over all tokens of a batch instead, so that its loss depends on the division into micro-batches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch.nn import functional

from longrank.errors import InputError
from longrank.expansion.network import open_seq2seq
from longrank.networks.batching import batches
from longrank.networks.feeding import DEFAULT_BATCH_TOKENS
from longrank.networks.model_files import find_model
from longrank.registries import check_at_least
from longrank.text.packing import Packed, Packer
from longrank.training.passage_data.examples import Example, ExampleFile, ExampleSamples
from longrank.training.passage_task import PassageTask
from longrank.training.ranks import Ranks
from longrank.training.settings import PassageTraining
from longrank.types import Notes

MEASURE = "-loss"
"""The measure of validation: minus the mean loss of the development examples, so that higher is better."""

_LEAST_QUERY_TOKENS = 8
_NO_TOKEN = -100  # transformers' label of padding


class Doc2QueryTask(PassageTask):
    """A sequence-to-sequence model of transformers that learns to write queries.

    Args:
        settings: the whole training.
        examples: read once now.
        dev: development examples, used if their first text is relevant; empty: no validation.
        notes: counts examples that are left out, and texts and queries that are cut.

    Raises:
        InputError: a model that cannot be read or is not sequence-to-sequence, a setting that is not for doc2query,
            a line that holds no example, or no relevant text at all.
        MissingExtra: torch or transformers are not installed.
    """

    def __init__(
        self, settings: PassageTraining, examples: ExampleSamples, dev: Sequence[Example], notes: Notes
    ) -> None:
        _check_settings(settings, validates=bool(dev))
        model = find_model(settings.network.model, records=True)
        network, tokenizer = open_seq2seq(model)
        self._examples = _with_relevant_text(examples.examples, settings.loop.seed, notes)
        self._dev = [example for example in dev if example.labels[0]]
        notes.add("development examples with label 0, left out", count=len(dev) - len(self._dev))
        if dev and not self._dev:
            raise InputError("the development examples have no relevant text", about=("dev",))
        super().__init__(network, tokenizer, model=model, settings=settings, notes=notes)
        # Queries are packed as texts, so they end with the tokenizer's mark even if they are cut.
        self._queries = Packer(self._feeder.tokenizer, settings.read.max_query_tokens)

    def loss(self, instances: Sequence[int]) -> torch.Tensor:
        """Return the mean loss over instances."""
        return self._losses([self._examples[n] for n in instances]).mean()

    def validate(self) -> float:
        """Return minus the mean loss of the development examples."""
        texts = self._cuts.texts(self._feeder.packer, "texts", [example.texts[0] for example in self._dev])
        parts = list(batches([len(text.ids) for text in texts], DEFAULT_BATCH_TOKENS))
        with torch.inference_mode():
            sums = Ranks().shared(
                len(parts), lambda n: float(self._losses([self._dev[i] for i in parts[n]]).double().sum())
            )
        return -sum(sums) / len(self._dev)

    def _losses(self, examples: Sequence[Example]) -> torch.Tensor:
        """Return each example's mean loss over its query's tokens, [B]."""
        texts = self._cuts.texts(self._feeder.packer, "texts", [example.texts[0] for example in examples])
        queries = self._cuts.texts(self._queries, "queries", [example.query for example in examples])
        labels = _padded(queries).to(self.network.device)
        logits = self.network(**self._feeder.features(texts), labels=labels, use_cache=False).logits
        losses = functional.cross_entropy(
            logits.float().flatten(0, 1), labels.flatten(), ignore_index=_NO_TOKEN, reduction="none"
        )
        return losses.view(labels.shape).sum(1) / (labels != _NO_TOKEN).sum(1)


def _with_relevant_text(examples: ExampleFile, seed: int, notes: Notes) -> ExampleSamples:
    """Return the examples whose first text is relevant; reads every example.

    Raises:
        InputError: a line holds no example, or no text is relevant.
    """
    relevant = np.fromiter((example.labels[0] == 1 for example in examples), np.bool_, len(examples))
    places = np.flatnonzero(relevant)
    notes.add("examples with label 0, not learned from", count=len(relevant) - len(places))
    if not len(places):
        raise InputError("no example has a relevant text to learn from", path=examples.path)
    return ExampleSamples(examples, seed, places)


def _padded(queries: Sequence[Packed]) -> torch.Tensor:
    """Return the token ids of queries, int64 [B, L]; padding is `_NO_TOKEN`."""
    labels = torch.full((len(queries), max(len(query.ids) for query in queries)), _NO_TOKEN)
    for row, query in zip(labels, queries, strict=True):
        row[: len(query.ids)] = torch.from_numpy(query.ids.astype(np.int64))
    return labels


def _check_settings(settings: PassageTraining, *, validates: bool) -> None:
    """Refuse settings of other networks.

    Raises:
        InputError: a loss, outputs, another measure, or too few tokens of a query.
    """
    if settings.loss:
        raise InputError("doc2query has its own loss, over the query's tokens", fix="leave [[loss]] out")
    if settings.network.outputs is not None:
        raise InputError("doc2query has no outputs to choose", got=f"network.outputs = {settings.network.outputs}")
    if validates and settings.validation.measure != MEASURE:
        raise InputError(
            "doc2query is validated by minus its loss",
            got=f"validation.measure = {settings.validation.measure}",
            fix=f'set validation.measure = "{MEASURE}"',
        )
    check_at_least("read.max_query_tokens", settings.read.max_query_tokens, _LEAST_QUERY_TOKENS)
