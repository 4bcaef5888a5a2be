"""The head of Capreolus' ELECTRA rerankers; imported only when such a model is loaded."""

from __future__ import annotations

import torch


class ClsHead(torch.nn.Module):  # type: ignore[misc]
    """One linear layer on the vector of the first token, [CLS]: as BERT's head without its pooler.

    Capreolus trains with dropout before it, which does nothing when scoring.
    """

    def __init__(self, out_proj: torch.nn.Linear) -> None:
        """Take the output layer of the stock head."""
        super().__init__()
        self.out_proj = out_proj

    def forward(self, features: torch.Tensor, **_: object) -> torch.Tensor:
        """Return logits [B, outputs] of the last hidden states [B, L, H]."""
        return self.out_proj(features[:, 0, :])
