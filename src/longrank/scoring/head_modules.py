"""Output layer of language-model rerankers, as a torch module; imported only when a model needs it."""

from __future__ import annotations

from collections.abc import Sequence

import torch


class AnswerHead(torch.nn.Module):  # type: ignore[misc]
    """Rows of a language model's output layer for a few tokens, in float32 whatever the network's dtype is."""

    def __init__(self, head: torch.nn.Linear, tokens: Sequence[int]) -> None:
        """Copy the rows of `tokens` from the whole layer."""
        super().__init__()
        rows = list(tokens)
        self.weight = torch.nn.Parameter(head.weight.detach()[rows].float().clone(), requires_grad=False)
        bias = getattr(head, "bias", None)
        self.bias = None if bias is None else torch.nn.Parameter(bias.detach()[rows].float(), requires_grad=False)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return logits [..., tokens] of hidden states [..., H]."""
        return torch.nn.functional.linear(hidden.float(), self.weight, self.bias)
