"""Document networks on tiny encoders, and passages for them to read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tiny_models import save_encoder

N_QUERY = 3
"""Tokens of the query in `features`."""


class Encoders:
    """Tiny encoders by family, written once and read anew each time, since a network takes hold of its encoder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, family: str) -> tuple[Any, Any]:
        """Return an encoder and its tokenizer."""
        import transformers

        folder = self._root / family
        if not folder.exists():
            save_encoder(folder, family)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        return transformers.AutoModel.from_pretrained(folder), tokenizer


def features(n: int, seed: int = 0, length: int = 14) -> dict[str, Any]:
    """Return `n` pairs ``[CLS] q q q [SEP] passage [SEP]`` of several lengths, padded; one query for all.

    Tokens 2 and 3 stand for [CLS] and [SEP], whatever they are in the vocabulary; 1, which pads, is RoBERTa's padding.
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, 40, (n, length), generator=generator)
    query = torch.randint(5, 40, (N_QUERY,), generator=generator)
    ends = torch.randint(N_QUERY + 3, length, (n,), generator=generator)[:, None]  # where the last [SEP] is
    at = torch.arange(length)
    ids[:, 0], ids[:, 1 : N_QUERY + 1], ids[:, N_QUERY + 1] = 2, query, 3
    ids = torch.where(at < ends, ids, torch.where(at == ends, 3, 1))
    return {
        "input_ids": ids,
        "attention_mask": (at <= ends).long(),
        "query_mask": ((at > 0) & (at <= N_QUERY)).expand(n, -1),
        "passage_mask": (at > N_QUERY + 1) & (at < ends),
    }


def vectors(*sizes: int, width: tuple[int, ...] = (16,), seed: int = 0) -> tuple[Any, Any]:
    """Return random passages of documents of so many, [B, P, *width], and their mask; padding holds noise."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    passages = torch.randn(len(sizes), max(sizes), *width, generator=generator)
    return passages, torch.arange(max(sizes)) < torch.tensor(sizes)[:, None]


def scaled_up(network: Any, seed: int = 5) -> Any:
    """Draw all weights again, large enough for scores to differ; return the network."""
    import torch

    torch.manual_seed(seed)
    with torch.no_grad():
        for name, values in network.named_parameters():
            if name not in ("mus", "sigmas"):
                values.normal_(0, 0.4)
    return network
