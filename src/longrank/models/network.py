"""Base class of document networks: an encoder, an aggregator of its passages, and their contributions.

Each passage is encoded on its own, so its representation can be cached and the aggregator trained without the encoder.
Documents of different lengths are padded only for aggregation. Padding is set to zeros and masked before a network
reads it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch.nn import functional

from longrank.errors import InputError
from longrank.registries import suggestion

_ENCODER_INPUTS = ("input_ids", "attention_mask", "token_type_ids")

SHARE = "share"
WEIGHT = "weight"
SCORE_CHANGE = "score change"


class DocumentNetwork(torch.nn.Module, ABC):  # type: ignore[misc]
    """A network that scores documents by their passages.

    A subclass has an `encoder` and defines `encode` and `_logits`; and `_contributed`, unless contributions are score
    changes.

    Attributes:
        encoder: a transformers model without head.
        name: its key in `longrank.models.DOCUMENT_NETWORKS`.
        options: its options.
        found_options: options that can be left to the model, with the values of the built network.
        unit: unit of a score: ``logit``; ``logprob`` of two outputs; ``logit_diff``.
        max_passages: most passages of a document; None: any number.
        max_query_tokens: most tokens of a query; None: the encoder's limit.
        first_only: `encode` reads only the last hidden state of the first token.
        all_layers: `encode` reads the hidden states of every layer.
        extra_features: names of features that `encode` needs besides the encoder's inputs.
        contribution: kind of the contributions: `SHARE` (they sum to 1), `WEIGHT`, or `SCORE_CHANGE`.
    """

    encoder: Any
    name: str = ""
    options: Mapping[str, Any]
    found_options: Mapping[str, Any] = {}
    unit: str = "logit"
    max_passages: int | None = None
    max_query_tokens: int | None = None
    first_only: bool = True
    all_layers: bool = False
    extra_features: tuple[str, ...] = ()
    contribution: str = SCORE_CHANGE
    from_classifier: ClassVar[bool] = False  # saved and loaded as a sequence classifier of transformers

    @abstractmethod
    def encode(self, features: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return the representation of each passage.

        Args:
            features: ``input_ids``, ``attention_mask``, ``token_type_ids`` (where the tokenizer has them), and
                `extra_features`, each [N, L]; the passages of all documents end to end.

        Returns:
            [N, *F].
        """

    def logits(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the outputs for each document, [B, 1], or [B, 2]: not relevant, relevant.

        Args:
            passages: [B, P, *F].
            mask: bool [B, P]; the valid passages come first, at least one per document.

        Raises:
            ValueError: `mask` has another form.
            InputError: a document has more than `max_passages`.
        """
        return self._logits(*self._without_padding(passages, mask))

    def aggregate(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the scores of documents, [B]: the output, or the log-probability of the second of two.

        Args and Raises: as `logits`.
        """
        return _score(self.logits(passages, mask))

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def contributions(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the contribution of each passage to its document's score, [B, P]; 0 for padding.

        A score change is the loss of score when the passage is left out and later passages move up; a document
        without passages has the score 0.

        Args and Raises: as `logits`.
        """
        result = mask.new_zeros(mask.shape, dtype=passages.dtype)
        inner, valid = self._without_padding(passages, mask)
        result[:, : valid.shape[1]] = self._contributed(inner, valid).masked_fill(~valid, 0)
        return result

    def forward(self, features: Mapping[str, torch.Tensor], sizes: torch.Tensor) -> torch.Tensor:
        """Return the scores of documents, [B], from their encoded passages end to end; for training.

        Args:
            features: see `encode`.
            sizes: int64 [B], passages of each document.
        """
        return self.aggregate(*padded(self.encode(features), sizes))

    def encoded_by(self) -> tuple[object, dict[str, torch.Tensor]]:
        """Return the identity of `encode`: the name of its method, and weights by name.

        Networks with equal identities encode to equal rows.
        """
        return type(self).__name__, dict(self.encoder.state_dict())

    def begin(self, tokenizer: Any) -> None:
        """Initialise weights of a new network that depend on the vocabulary; by default none."""

    @property
    def pretrained(self) -> Any:
        """The model of transformers inside, whose configuration is saved."""
        return self.encoder

    def get_input_embeddings(self) -> torch.nn.Module:
        """Return the encoder's word embeddings, as models of transformers do."""
        return self.encoder.get_input_embeddings()

    def files(self) -> dict[str, torch.nn.Module]:
        """Return the modules whose weights are saved, by file name."""
        return {"model.safetensors": self}

    @abstractmethod
    def _logits(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """As `logits`; padding is zeros, and the longest document fills its row."""

    def _contributed(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """As `contributions`, with any values for padding."""
        whole = _score(self._logits(passages, mask))
        if mask.shape[1] == 1:
            return whole[:, None]
        changes = []
        for n in range(mask.shape[1]):
            rest = torch.cat([passages[:, :n], passages[:, n + 1 :]], dim=1)
            kept = torch.cat([mask[:, :n], mask[:, n + 1 :]], dim=1)
            nothing = ~kept[:, 0]
            kept[:, 0] = True  # this score is not used
            changes.append(whole - _score(self._logits(rest, kept)).masked_fill(nothing, 0))
        return torch.stack(changes, dim=1)

    def _without_padding(self, passages: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return passages and mask, cut to the longest document, with zeros for the remaining padding."""
        sizes = mask.sum(1)
        if mask.dtype != torch.bool or not torch.equal(mask, _prefixes(sizes, mask.shape[1])) or not sizes.all():
            raise ValueError("the mask must be bool [B, P], with a document's passages first and at least one passage")
        longest = int(sizes.max())
        if self.max_passages is not None and longest > self.max_passages:
            raise InputError(
                f"the network reads at most {self.max_passages} passages of a document",
                got=longest,
                fix=f"segment with max_passages = {self.max_passages}",
            )
        mask = mask[:, :longest]
        return passages[:, :longest].masked_fill(~_wide(mask, passages), 0), mask


def padded(passages: torch.Tensor, sizes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return passages that lie end to end, [N, *F], with one document per row, [B, P, *F], and the mask.

    Args:
        passages: [N, *F].
        sizes: int64 [B], passages of each document; they sum to N.
    """
    mask = _prefixes(sizes.to(passages.device), int(sizes.max()))
    rows = passages.new_zeros(*mask.shape, *passages.shape[1:])
    rows[mask] = passages
    return rows, mask


def inputs_of(features: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the features that an encoder takes."""
    return {name: features[name] for name in _ENCODER_INPUTS if name in features}


def without_pooler(encoder: Any) -> Any:
    """Return an encoder less the pooler it may have, for networks that do not read it."""
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    return encoder


def won(passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the share of dimensions in which each passage is the largest, [B, P]; ties are shared.

    Args:
        passages: [B, P, *F].
        mask: bool [B, P].
    """
    passages = passages.masked_fill(~_wide(mask, passages), -torch.inf)
    largest = (passages == passages.amax(1, keepdim=True)).to(passages.dtype)
    return (largest / largest.sum(1, keepdim=True)).reshape(*mask.shape, -1).mean(2)


def check_choice(option: str, got: object, choices: Sequence[object]) -> None:
    """Refuse a value that is not among the choices of an option.

    Raises:
        InputError: the value is refused.
    """
    if got not in choices:
        raise InputError(f"unknown {option}", got=got, fix=suggestion(str(got), map(str, choices)))


def check_range(option: str, got: float, least: float = -math.inf, most: float = math.inf) -> None:
    """Refuse a number that is out of range or not finite.

    Raises:
        InputError: the number is refused.
    """
    if not (least <= got <= most and math.isfinite(got)):
        limits = "finite" if least == -math.inf else f"{least} or more"
        if most < math.inf:
            limits = f"between {least} and {most}"
        raise InputError(f"{option} must be {limits}", got=got)


def _score(logits: torch.Tensor) -> torch.Tensor:
    """Return the score of each document, [B]; of two outputs the log probability, below 0 however large it is."""
    if logits.shape[1] == 1:
        return logits[:, 0]
    against, towards = logits.float().unbind(1)
    return functional.logsigmoid(towards - against)  # log_softmax is 0 from a difference of 17 on


def _prefixes(sizes: torch.Tensor, width: int) -> torch.Tensor:
    return torch.arange(width, device=sizes.device) < sizes[:, None]


def _wide(mask: torch.Tensor, passages: torch.Tensor) -> torch.Tensor:
    """Return the mask with as many dimensions as the passages have."""
    return mask.view(*mask.shape, *(1,) * (passages.ndim - 2))
