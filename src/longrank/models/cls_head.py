"""The head that Capreolus trains ELECTRA rerankers with: one layer on [CLS], which transformers does not have.

Its checkpoints lack the dense layer of the stock head; or they carry it as it was initialised, if they went through the
stock class. Either way it is left out, in scoring and in training, and in what is saved.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch

DENSE = ("classifier.dense.weight", "classifier.dense.bias")


class ClsHead(torch.nn.Module):  # type: ignore[misc]
    """One linear layer on the vector of the first token, [CLS]: as BERT's head without its pooler.

    Capreolus has dropout before it, which does nothing when scoring.
    """

    def __init__(self, out_proj: torch.nn.Linear) -> None:
        """Take the output layer of the stock head."""
        super().__init__()
        self.out_proj = out_proj

    def forward(self, features: torch.Tensor, **_: object) -> torch.Tensor:
        """Return logits [B, outputs] of the last hidden states [B, L, H]."""
        logits: torch.Tensor = self.out_proj(features[:, 0, :])
        return logits


def is_cls_only(network: Any, missing: Collection[str]) -> bool:
    """Say whether the dense layer of ELECTRA's stock head is not in the file, or there but never trained.

    The untrained one has a bias of exact zeros beside an output layer whose bias has been trained.

    Args:
        network: a sequence classifier of transformers.
        missing: names of the parameters that its file lacks.
    """
    if network.config.model_type != "electra" or not hasattr(network, "classifier"):
        return False
    if all(name in missing for name in DENSE):
        return "classifier.out_proj.weight" not in missing
    head = network.classifier
    return not head.dense.bias.any() and bool(head.out_proj.bias.any())


def leave_out_dense(network: Any) -> None:
    """Replace the stock head of an ELECTRA by its output layer alone."""
    network.classifier = ClsHead(network.classifier.out_proj)
