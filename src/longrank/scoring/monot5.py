"""monoT5: scores from a sequence-to-sequence model's answer "true" or "false" (Nogueira, Jiang, Pradeep and Lin 2020).

    score = log softmax(z_false, z_true)[true]   at the first decoding step, for
    Query: {query} Document: {passage} Relevant:

T5, mT5 (mMARCO's models answer yes and no), BART and others.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from longrank.errors import InputError
from longrank.scoring.prompted import Prompt, PromptedScorer

if TYPE_CHECKING:
    import torch

PROMPTS = MappingProxyType({"monot5": Prompt("Query: {query} Document: {passage} Relevant:", "true", "false")})


class MonoT5(PromptedScorer):
    """MonoT5, or another sequence-to-sequence reranker: log-probability of "true" against "false"."""

    example = "castorini/monot5-base-msmarco"
    name, family, prompts = "monot5", "AutoModelForSeq2SeqLM", PROMPTS

    def check(self, network: Any) -> None:
        """Refuse networks without a first token of decoded texts.

        Raises:
            InputError: the network is refused.
        """
        if network.config.decoder_start_token_id is None:
            raise InputError("config.json names no decoder_start_token_id", path=self.model.path)

    def next_logits(self, network: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the logits [B, words] of the first decoding step."""
        begin = ids.new_full((len(ids), 1), network.config.decoder_start_token_id)
        logits: torch.Tensor = network(
            input_ids=ids, attention_mask=mask, decoder_input_ids=begin, use_cache=False
        ).logits[:, 0]
        return logits
