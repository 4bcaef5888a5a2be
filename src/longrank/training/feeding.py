"""How texts reach a network that is trained: cut to its length, in batches, with the dropout that was asked for."""

from __future__ import annotations

from typing import Any

from longrank.networks.feeding import DEFAULT_BATCH_TOKENS, Feeder
from longrank.networks.loading import choose_max_tokens, position_limit
from longrank.networks.model_files import Model
from longrank.training.dropout import set_dropout
from longrank.training.passage_settings import PassageTrainingSettings
from longrank.types import Notes


def prepared(network: Any, tokenizer: Any, model: Model, settings: PassageTrainingSettings, notes: Notes) -> Feeder:
    """Set a network's dropout; return what feeds it.

    Args:
        network: of transformers.
        tokenizer: its tokenizer.
        model: where both come from.
        settings: of the training: dropout and what is read.
        notes: counts texts that are cut.

    Raises:
        InputError: more tokens are asked for than the network has positions for.
    """
    if settings.network.dropout is not None:
        set_dropout(network, settings.network.dropout)
    limits = tokenizer.model_max_length, position_limit(network)
    return Feeder(
        tokenizer,
        choose_max_tokens(model, settings.read.max_tokens, *limits),
        max_query_tokens=settings.read.max_query_tokens,
        batch_tokens=DEFAULT_BATCH_TOKENS,
        device=str(network.device),
        notes=notes,
    )
