"""Longformer as a cross-encoder: which tokens see the whole document, and are seen from all of it.

    cls     the first token, as transformers classifies and as Longformer rerankers of MS MARCO documents
            were trained (Sekulic et al. 2020)
    query   the first token and the query's, as the Longformer paper reads questions (Beltagy et al. 2020)
            and QDS-Transformer's Longformer-QA reads queries (Jiang et al. 2020)

All other tokens attend within a sliding window. What a model was trained with is not in its files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longrank.config import suggestion
from longrank.errors import InputError
from longrank.networks.model_files import Model

if TYPE_CHECKING:
    import torch

GLOBAL_ATTENTION = ("cls", "query")


def choose_global_attention(model: Model, network: Any, wanted: str | None) -> str | None:
    """Return what attends globally, one of `GLOBAL_ATTENTION`; None for networks in which all tokens do.

    Raises:
        InputError: an unknown word, or one for a network that is no Longformer.
    """
    if wanted is not None and wanted not in GLOBAL_ATTENTION:
        raise InputError("unknown global_attention", got=wanted, fix=suggestion(wanted, GLOBAL_ATTENTION))
    if network.config.model_type == "longformer":
        return wanted or "cls"
    if wanted is not None:
        raise InputError(
            f"global_attention is an option of Longformer models; '{model.name}' is another",
            got=network.config.model_type,
            fix="leave it out",
        )
    return None


def global_attention_mask(ids: torch.Tensor, kind: str, separator: int) -> torch.Tensor:
    """Return int64[B, L]: 1 for tokens that attend globally.

    Args:
        ids: token ids [B, L] of pairs that begin with a special token and have one after the query.
        kind: one of `GLOBAL_ATTENTION`.
        separator: the token after the query.
    """
    import torch

    before = torch.arange(ids.shape[1], device=ids.device)
    end = 1 if kind == "cls" else (ids == separator).int().argmax(dim=1, keepdim=True)
    return (before < end).expand_as(ids).long()
