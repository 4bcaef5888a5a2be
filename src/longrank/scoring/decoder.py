"""Decoder rerankers: scores from the probability that a language model continues a prompt with "yes" or "no".

    prompt   models                    words     score
    qwen3    Qwen3-Reranker            yes no    log softmax(z_no, z_yes)[yes]
    bge      bge-reranker-v2-gemma     Yes No    z_Yes, as in its model card

or any text with {query} and {passage}, by default with the words yes and no.

Prompts are padded at their end, and each is read at its own last token. In a causal network later tokens cannot change
it, so scores do not depend on the padding.
"""

from __future__ import annotations

import inspect
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from longrank.errors import InputError
from longrank.scoring.prompted import Prompt, PromptedScorer

if TYPE_CHECKING:
    import torch

_QWEN3 = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
    'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
    "<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n"
    "<Query>: {query}\n<Document>: {passage}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
)
_BGE = (
    "A: {query}\nB: {passage}\nGiven a query A and a passage B, determine whether the passage contains an answer "
    "to the query by providing a prediction of either 'Yes' or 'No'."
)

PROMPTS = MappingProxyType({"qwen3": Prompt(_QWEN3, "yes", "no"), "bge": Prompt(_BGE, "Yes", "No", "logit")})
"""Prompts of the model cards; a model needs its exact wording."""


class Decoder(PromptedScorer):
    """A decoder reranker such as Qwen3-Reranker: log-probability of "yes" against "no" after a prompt."""

    example = "Qwen/Qwen3-Reranker-0.6B"
    name, family, prompts = "decoder", "AutoModelForCausalLM", PROMPTS

    def check(self, network: Any) -> None:
        """Refuse networks that cannot compute the logits of single positions: those of all would fill the memory.

        Raises:
            InputError: the network is refused.
        """
        if "logits_to_keep" not in inspect.signature(network.forward).parameters:
            kind = type(network).__name__
            raise InputError("decoders of this class are not supported", path=self.model.path, got=kind)

    def next_logits(self, network: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the logits [B, words] after the last token of each prompt."""
        last, column = (mask.sum(dim=1) - 1).unique(return_inverse=True)
        logits: torch.Tensor = network(input_ids=ids, attention_mask=mask, logits_to_keep=last, use_cache=False).logits
        return logits[range(len(ids)), column]
