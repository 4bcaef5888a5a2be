"""Decoder rerankers: a language model says whether the next word of a prompt is "yes" or "no".

    prompt   models                    words     score
    qwen3    Qwen3-Reranker            yes no    log softmax(z_no, z_yes)[yes]
    bge      bge-reranker-v2-gemma     Yes No    z_Yes, as its authors use it

or any text with {query} and {passage}, for which yes and no are the words unless others are given.

Prompts are padded at their end, and each is read off at its own last token: in a causal network what
comes after a token cannot change it, so nothing depends on the padding or on where positions begin.
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
"""As the models' cards give them: the wording is part of the model."""


class Decoder(PromptedScorer):
    """A decoder reranker such as Qwen3-Reranker: log-probability of "yes" against "no" after a prompt."""

    example = "Qwen/Qwen3-Reranker-0.6B"
    name, family, prompts = "decoder", "AutoModelForCausalLM", PROMPTS

    def check(self, network: Any) -> None:
        """Refuse networks that cannot give the logits of some positions only: of all, they would fill the memory.

        Raises:
            InputError: this is one.
        """
        if "logits_to_keep" not in inspect.signature(network.forward).parameters:
            kind = type(network).__name__
            raise InputError("a decoder of this kind cannot be a reranker here", path=self.model.path, got=kind)

    def next_logits(self, network: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the logits [B, words] after the last token of each prompt."""
        last, column = (mask.sum(dim=1) - 1).unique(return_inverse=True)
        logits: torch.Tensor = network(input_ids=ids, attention_mask=mask, logits_to_keep=last, use_cache=False).logits
        return logits[range(len(ids)), column]
