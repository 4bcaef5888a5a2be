"""monoT5: a sequence-to-sequence model answers "true" or "false" (Nogueira, Jiang, Pradeep and Lin 2020).

    score = log softmax(z_false, z_true)[true]   at the first decoding step, for
    Query: {query} Document: {passage} Relevant:

Any model of that kind: T5, mT5 (those of mMARCO answer yes and no), BART, ...
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from longrank.errors import InputError
from longrank.scoring.models import find_model
from longrank.scoring.network import DEFAULT_BATCH_TOKENS
from longrank.scoring.prompted import DEFAULT_MAX_QUERY_TOKENS, Prompt, PromptedScorer
from longrank.types import Notes

if TYPE_CHECKING:
    import torch

PROMPTS = MappingProxyType({"monot5": Prompt("Query: {query} Document: {passage} Relevant:", "true", "false")})


class MonoT5(PromptedScorer):
    """Scores passages by the first word that a sequence-to-sequence model would write."""

    name, family, prompts = "monot5", "AutoModelForSeq2SeqLM", PROMPTS

    def check(self, network: Any) -> None:
        """Refuse networks that do not say what a decoded text begins with.

        Raises:
            InputError: this is one.
        """
        if network.config.decoder_start_token_id is None:
            raise InputError("config.json names no decoder_start_token_id", path=self.model.path)

    def next_logits(self, network: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the logits [B, words] of the first decoding step."""
        begin = ids.new_full((len(ids), 1), network.config.decoder_start_token_id)
        logits: torch.Tensor = network(input_ids=ids, attention_mask=mask, decoder_input_ids=begin).logits[:, 0]
        return logits


def open_monot5(
    index: object,
    model: str | None,
    *,
    notes: Notes,
    prompt: str | None = None,
    positive: str | None = None,
    negative: str | None = None,
    score: str | None = None,
    max_tokens: int | None = None,
    max_query_tokens: int = DEFAULT_MAX_QUERY_TOKENS,
    batch_tokens: int = DEFAULT_BATCH_TOKENS,
    device: str = "auto",
    dtype: str = "float32",
) -> MonoT5:
    """Load monoT5 or another sequence-to-sequence reranker: log-probability of "true" against "false".

    Raises:
        InputError, MissingExtra, IntegrityError: as `find_model` and `PromptedScorer`.
    """
    if model is None:
        raise InputError("monoT5 needs a model", fix="name one, such as castorini/monot5-base-msmarco")
    return MonoT5(
        find_model(model),
        prompt=prompt,
        positive=positive,
        negative=negative,
        score=score,
        max_tokens=max_tokens,
        max_query_tokens=max_query_tokens,
        batch_tokens=batch_tokens,
        device=device,
        dtype=dtype,
        notes=notes,
    )
