"""Learning to write the queries of a text (doc2query): a text in, the loss of its query's tokens out.

Any sequence-to-sequence model of transformers (T5, BART, ...), as in docTTTTTquery (Nogueira and Lin 2019): the text
goes in as it is, without a prefix, the query is what should come out, token by token, each given the true ones before
(teacher forcing). The first text of a group is learned from, and single texts with label 1; those with label 0 are left
out when the file is opened.

A query's loss is the mean over its tokens, its end included, and a batch's is the mean over its queries. transformers
averages over all tokens of a batch instead, which is the same for one query; of more, it depends on which of them go
through the network together.
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
from longrank.networks.loading import check_at_least
from longrank.networks.model_files import find_model
from longrank.text.packing import Packed, Packer
from longrank.training.passage_data.examples import Example, ExampleSamples
from longrank.training.passage_task import PassageTask
from longrank.training.samples import place_in_pass
from longrank.training.settings import PassageTraining
from longrank.types import Notes

MEASURE = "-loss"
"""What validation measures: minus the mean loss of the development examples, so that higher is better."""

_LEAST_QUERY_TOKENS = 8
_NO_TOKEN = -100  # transformers' label of padding


class RelevantSamples:
    """The examples whose first text is relevant, in passes without end: ``samples[n]`` is a function of (seed, n).

    Args:
        examples: all of them; each is read once now.
        seed: of the order.
        notes: counts those that are left out.

    Raises:
        InputError: a line holds no example, or there is no relevant text.
    """

    def __init__(self, examples: ExampleSamples, seed: int, notes: Notes) -> None:
        self._examples, self._seed = examples.examples, seed
        relevant = np.fromiter((example.labels[0] == 1 for example in self._examples), np.bool_, len(self._examples))
        self._places = np.flatnonzero(relevant)
        notes.add("examples with label 0, not learned from", count=len(relevant) - len(self._places))
        if not len(self._places):
            raise InputError("no example has a relevant text to learn from", path=self._examples.path)

    def __len__(self) -> int:
        """Return how many examples one pass has."""
        return len(self._places)

    def __getitem__(self, n: int) -> Example:
        """Return the n-th example, counted over all passes; IndexError if n < 0."""
        return self._examples[int(self._places[place_in_pass(n, len(self), self._seed)])]


class Doc2QueryTask(PassageTask):
    """A sequence-to-sequence model of transformers that learns to write queries.

    Args:
        settings: the whole training.
        examples: read once now.
        dev: development examples, of which those with a relevant text are used; empty: no validation.
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
        model = find_model(settings.network.model)
        network, tokenizer = open_seq2seq(model)
        self._examples = RelevantSamples(examples, settings.loop.seed, notes)
        self._dev = [example for example in dev if example.labels[0]]
        notes.add("development examples with label 0, left out", count=len(dev) - len(self._dev))
        if dev and not self._dev:
            raise InputError("the development examples have no relevant text")
        super().__init__(network, tokenizer, model=model, settings=settings, notes=notes)
        # A query is a text of its own here, which ends with the tokenizer's mark however it is cut.
        self._queries = Packer(self._feeder.tokenizer, settings.read.max_query_tokens)

    def loss(self, instances: Sequence[int]) -> torch.Tensor:
        """Return the mean loss over instances."""
        return self._losses([self._examples[n] for n in instances]).mean()

    def validate(self) -> float:
        """Return minus the mean loss of the development examples."""
        texts = self._cuts.texts(self._feeder.packer, "texts", [example.texts[0] for example in self._dev])
        total = 0.0
        with torch.inference_mode():
            for some in batches([len(text.ids) for text in texts], DEFAULT_BATCH_TOKENS):
                total += float(self._losses([self._dev[i] for i in some]).double().sum())
        return -total / len(self._dev)

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


def _padded(queries: Sequence[Packed]) -> torch.Tensor:
    """Return the token ids of queries, int64 [B, L]; what is beyond the end of a query is no token."""
    labels = torch.full((len(queries), max(len(query.ids) for query in queries)), _NO_TOKEN)
    for row, query in zip(labels, queries, strict=True):
        row[: len(query.ids)] = torch.from_numpy(query.ids.astype(np.int64))
    return labels


def _check_settings(settings: PassageTraining, *, validates: bool) -> None:
    """Refuse what only other networks have.

    Raises:
        InputError: a loss, outputs, another measure, or too few tokens of a query.
    """
    if settings.loss:
        raise InputError("doc2query has a loss of its own, that of the query's tokens", fix="leave [[loss]] out")
    if settings.network.outputs is not None:
        raise InputError("doc2query has no outputs to choose", got=f"network.outputs = {settings.network.outputs}")
    if validates and settings.validation.measure != MEASURE:
        raise InputError(
            "doc2query is validated by minus its loss",
            got=f"validation.measure = {settings.validation.measure}",
            fix=f'set validation.measure = "{MEASURE}"',
        )
    check_at_least("read.max_query_tokens", settings.read.max_query_tokens, _LEAST_QUERY_TOKENS)
