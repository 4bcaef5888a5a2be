"""Global attention of Longformer as a cross-encoder.

    cls     the first token, as in transformers' classifier and in Longformer rerankers of MS MARCO
            documents (Sekulic et al. 2020)
    query   the first token and the query's, as in question answering of the Longformer paper (Beltagy et al.
            2020) and in QDS-Transformer's Longformer-QA (Jiang et al. 2020)

All other tokens attend within a sliding window. A model's files do not tell which of the two it was trained with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longrank.errors import InputError
from longrank.networks.model_files import Model
from longrank.registries import suggestion

if TYPE_CHECKING:
    import torch

GLOBAL_ATTENTION = ("cls", "query")


def choose_global_attention(model: Model, network: Any, requested: str | None) -> str | None:
    """Return the kind of global attention, of `GLOBAL_ATTENTION`; None for networks other than Longformer.

    Raises:
        InputError: `requested` is unknown, or the network is not a Longformer.
    """
    if requested is not None and requested not in GLOBAL_ATTENTION:
        raise InputError("unknown global_attention", got=requested, fix=suggestion(requested, GLOBAL_ATTENTION))
    if network.config.model_type == "longformer":
        return requested or "cls"
    if requested is not None:
        raise InputError(
            f"global_attention is an option of Longformer models, and '{model.name}' is none",
            got=network.config.model_type,
            fix="leave it out",
        )
    return None


def global_attention_mask(ids: torch.Tensor, kind: str, ends: torch.Tensor) -> torch.Tensor:
    """Return a mask int64[B, L]: 1 for tokens that attend globally.

    Args:
        ids: token ids [B, L] of pairs that begin with a special token.
        kind: one of `GLOBAL_ATTENTION`.
        ends: `longrank.text.packing.Packed.query_end` of each pair, [B, 1].
    """
    import torch

    before = torch.arange(ids.shape[1], device=ids.device)
    return (before < (1 if kind == "cls" else ends)).expand_as(ids).long()
