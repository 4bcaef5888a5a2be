"""Networks that score each passage and aggregate the scores, trained end to end on documents.

    MaxP, FirstP, SumP, AvgP    Dai and Callan 2019; Zhang, Yates and Lin 2021
    Birch-Passage               sum_j w_j s_(j), s_(1) >= .. >= s_(k): the k best, with learned weights (Li et al. 2020)

The network inside is saved as a sequence classifier of transformers, whose passage scores sentence-transformers'
CrossEncoder computes, except ELECTRA with Capreolus' head (`longrank.networks.cls_head`).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
import transformers

from longrank.errors import InputError
from longrank.models.network import SHARE, WEIGHT, DocumentNetwork, check_choice, check_range, inputs_of, won
from longrank.networks.cls_head import ClsHead, leave_out_dense


class PassageScoreNetwork(DocumentNetwork):
    """A sequence classifier that scores passages.

    Args:
        model: a transformers model: an encoder, which gets a new head; or a sequence classifier with the stock head, or
            an ELECTRA with a `ClsHead`.
        outputs: number of outputs, 1 or 2; 0: as the classifier, 1 for an encoder.
        score: with two outputs ``logit``, the second (relevant), or ``logit_diff``, the second less the first.

    Raises:
        InputError: no such option value; or the model's head is not the stock one, or has another number of outputs.
    """

    from_classifier: ClassVar[bool] = True

    def __init__(self, model: Any, *, outputs: int = 0, score: str = "logit") -> None:
        super().__init__()
        check_choice("outputs", outputs, (0, 1, 2))
        check_choice("score", score, ("logit", "logit_diff"))
        has_head = model.base_model is not model
        self.classifier = _stock(model, outputs) if has_head else _with_new_head(model, outputs or 1)
        self.found_options = {"outputs": self.classifier.config.num_labels}
        self._difference, self.unit = score == "logit_diff", score
        if self._difference and self.classifier.config.num_labels == 1:
            raise InputError("one output has no difference", got="score = logit_diff", fix="use score = logit")

    @property
    def encoder(self) -> Any:
        """The classifier's encoder."""
        return self.classifier.base_model

    def encode(self, features: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return the score of each passage, [N]."""
        logits = self.classifier(**inputs_of(features)).logits
        scores: torch.Tensor = logits[:, -1] - logits[:, 0] if self._difference else logits[:, -1]
        return scores

    def encoded_by(self) -> tuple[object, dict[str, torch.Tensor]]:
        """Return the identity of rows, equal for all aggregations of scores.

        The name differs from that of older caches, whose rows may have been computed with dropout.
        """
        return f"score without dropout {self.unit}", dict(self.classifier.state_dict())

    @property
    def pretrained(self) -> Any:
        """The classifier."""
        return self.classifier

    def files(self) -> dict[str, torch.nn.Module]:
        """Return the classifier alone, since nothing else is trained."""
        return {"model.safetensors": self.classifier}


class MaxP(PassageScoreNetwork):
    """End-to-end MaxP: the score of the best passage."""

    contribution = SHARE

    def _logits(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return passages.masked_fill(~mask, -torch.inf).amax(1, keepdim=True)

    def _contributed(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return won(passages, mask)


class FirstP(PassageScoreNetwork):
    """End-to-end FirstP: the score of the first passage."""

    contribution = SHARE

    def _logits(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return passages[:, :1]

    def _contributed(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(passages).index_fill_(1, torch.tensor([0], device=passages.device), 1)


class SumP(PassageScoreNetwork):
    """End-to-end SumP: the sum of the passages' scores."""

    def _logits(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return passages.sum(1, keepdim=True)


class AvgP(PassageScoreNetwork):
    """End-to-end AvgP: the mean of the passages' scores."""

    def _logits(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return passages.sum(1, keepdim=True) / mask.sum(1, keepdim=True)


class BirchPassage(PassageScoreNetwork):
    """Birch-Passage: the k best passages' scores with learned weights; with fewer passages the worst is repeated.

    Args:
        model: see `PassageScoreNetwork`.
        k: number of passages.
        initial: the weights before training, ``mean`` (1/k each: PARADE, Capreolus) or ``ones`` (survey).

    Raises:
        InputError: as `PassageScoreNetwork`.
    """

    contribution = WEIGHT

    def __init__(self, model: Any, *, k: int = 3, initial: str = "mean", **options: Any) -> None:
        super().__init__(model, **options)
        check_range("k", k, 1)
        check_choice("initial", initial, ("mean", "ones"))
        self.best = torch.nn.Linear(k, 1, bias=False)
        torch.nn.init.constant_(self.best.weight, 1 / k if initial == "mean" else 1)

    def files(self) -> dict[str, torch.nn.Module]:
        """Return the classifier and, beside it, the weights of the k best."""
        return super().files() | {"aggregator.safetensors": self.best}

    def _logits(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.best(passages.gather(1, self._chosen(passages, mask)))
        return logits

    def _contributed(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the weight of each passage; a repeated passage has the sum of its weights."""
        weights = self.best.weight.expand(len(passages), -1)
        return torch.zeros_like(passages).scatter_add(1, self._chosen(passages, mask), weights)

    def _chosen(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the indices of the k best passages, best first, [B, k]; the last is repeated if there are fewer."""
        order = passages.masked_fill(~mask, -torch.inf).argsort(dim=1, descending=True, stable=True)
        ranks = torch.arange(self.best.in_features, device=passages.device)
        return order.gather(1, torch.minimum(ranks, mask.sum(1, keepdim=True) - 1))


def _stock(model: Any, outputs: int) -> Any:
    """Return a classifier as it is.

    Raises:
        InputError: the head is not the stock one, or has another number of outputs.
    """
    family = transformers.AutoModelForSequenceClassification
    with torch.device("meta"):
        stock = family.from_config(model.config)
    if isinstance(getattr(model, "classifier", None), ClsHead):
        leave_out_dense(stock)
    if _shapes(stock) != _shapes(model):
        raise InputError(
            "the model's head is not the stock one of its architecture, so it could not be saved as a cross-encoder",
            got=type(model).__name__,
            fix="begin with its encoder, which gets a new head",
        )
    n_labels = model.config.num_labels
    if n_labels != (outputs or n_labels) or n_labels > 2:
        raise InputError(
            f"the head of {model.name_or_path!r} has another number of outputs than {outputs or '1 or 2'}",
            got=n_labels,
            fix="begin with its encoder, which gets a new head; or change `outputs` (network.options.outputs, of "
            "train-passages network.outputs) and with it the loss",
        )
    return model


def _with_new_head(encoder: Any, outputs: int) -> Any:
    """Return a classifier around an encoder, with a random head.

    If the classifier has a pooler, it is the encoder's if there is one.

    Raises:
        InputError: the classifier has another encoder.
    """
    config = copy.deepcopy(encoder.config)
    config.num_labels = outputs
    classifier = transformers.AutoModelForSequenceClassification.from_config(config, dtype=torch.float32)
    expected = _shapes(classifier)
    pooler = getattr(classifier.base_model, "pooler", None)
    if (getattr(encoder, "pooler", None) is None) != (pooler is None):
        encoder.pooler = pooler
    setattr(classifier, classifier.base_model_prefix, encoder)
    if _shapes(classifier) != expected:
        raise InputError("the encoder is not that of its architecture's classifier", got=type(encoder).__name__)
    return classifier


def _shapes(network: torch.nn.Module) -> dict[str, torch.Size]:
    return {name: values.shape for name, values in network.state_dict().items()}
