"""Capreolus' head of ELECTRA rerankers: one linear layer on [CLS], which transformers does not have.

Its checkpoints lack the dense layer of the stock head, or hold it untrained if the stock class saved them. Scoring,
training and saving leave it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

_DENSE = ("classifier.dense.weight", "classifier.dense.bias")


class ClsHead(torch.nn.Module):  # type: ignore[misc]
    """Dropout and one linear layer on the vector of the first token, [CLS]: BERT's head without its pooler."""

    def __init__(self, dropout: torch.nn.Dropout, out_proj: torch.nn.Linear) -> None:
        """Take the dropout and the output layer of the stock head."""
        super().__init__()
        self.dropout, self.out_proj = dropout, out_proj

    def forward(self, features: torch.Tensor, **_: object) -> torch.Tensor:
        """Return logits [B, outputs] of the last hidden states [B, L, H]."""
        logits: torch.Tensor = self.out_proj(self.dropout(features[:, 0, :]))
        return logits


def keep_head(network: Any, missing: Sequence[str]) -> list[str] | None:
    """Replace the stock head by Capreolus' if the file holds that one.

    Args:
        network: a sequence classifier of transformers.
        missing: names of the parameters that the file lacks.

    Returns:
        The missing parameters of the new head; None: the head is the stock one.
    """
    if not _is_cls_only(network, missing):
        return None
    leave_out_dense(network)
    return [name for name in missing if name not in _DENSE]


def leave_out_dense(network: Any) -> None:
    """Replace the stock head of an ELECTRA by its output layer alone."""
    network.classifier = ClsHead(network.classifier.dropout, network.classifier.out_proj)


def lacks_dense(names: Sequence[str]) -> bool:
    """Say whether a file with tensors of these names lacks the dense layer."""
    return not set(_DENSE) & set(names)


def _is_cls_only(network: Any, missing: Sequence[str]) -> bool:
    """Say whether the dense layer of ELECTRA's stock head is missing or was never trained.

    An untrained layer has a bias of zeros beside an output layer with a trained bias.
    """
    if network.config.model_type != "electra" or not hasattr(network, "classifier"):
        return False
    if all(name in missing for name in _DENSE):
        return "classifier.out_proj.weight" not in missing
    head = network.classifier
    return not head.dense.bias.any() and bool(head.out_proj.bias.any())
