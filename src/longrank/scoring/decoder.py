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
from longrank.scoring.models import find_model
from longrank.scoring.network import DEFAULT_BATCH_TOKENS
from longrank.scoring.prompted import DEFAULT_MAX_QUERY_TOKENS, Prompt, PromptedScorer
from longrank.types import Notes

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
    """Scores passages by the word with which a decoder would go on."""

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


def open_decoder(
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
) -> Decoder:
    """Load a decoder reranker such as Qwen3-Reranker: log-probability of "yes" against "no" after a prompt.

    Raises:
        InputError, MissingExtra, IntegrityError: as `find_model` and `PromptedScorer`.
    """
    if model is None:
        raise InputError("the decoder needs a model", fix="name one, such as Qwen/Qwen3-Reranker-0.6B")
    return Decoder(
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
