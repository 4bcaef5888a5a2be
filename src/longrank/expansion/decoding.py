"""Decode queries from a sequence-to-sequence model: top-k sampling or beam search.

    topk   n queries, each token drawn from the k likeliest by their probabilities (docTTTTTquery, k = 10)
    beam   the n best queries of a beam of width n (the first doc2query, n = 5)

A draw is a function of (seed, document, passage, number of the query, place of the token), independent of the batch and
of any generator's state. The k tokens are ordered by id, so a draw does not change if two tokens of almost equal
probability swap ranks. With k = 1, all n queries are the greedy query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from longrank.draws import chance
from longrank.errors import InputError
from longrank.registries import check_at_least

if TYPE_CHECKING:
    import torch

METHODS = ("topk", "beam")
LEAST_QUERY_TOKENS = 8


class Decoding(NamedTuple):
    """Settings of decoding.

    Attributes:
        method: one of `METHODS`.
        n: queries per text, 1 or more, duplicates included.
        k: tokens that sampling chooses from; beam search ignores it.
        seed: of sampling.
        max_query_tokens: maximum tokens of a query, its end included; at least `LEAST_QUERY_TOKENS`.
    """

    method: str = "topk"
    n: int = 10
    k: int = 10
    seed: int = 0
    max_query_tokens: int = 64

    def check(self) -> None:
        """Refuse settings out of range.

        Raises:
            InputError: such a setting.
        """
        if self.method not in METHODS:
            raise InputError(f"method must be one of {', '.join(METHODS)}", got=self.method)
        for name, least in (("n", 1), ("k", 1), ("max_query_tokens", LEAST_QUERY_TOKENS)):
            check_at_least(name, getattr(self, name), least)


class TextKey(NamedTuple):
    """Key of a text's draws: the id of its document, and the number of its passage."""

    doc_id: str
    passage: int


def first_logits(network: Any, features: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return the logits [B, vocabulary] of each query's first token."""
    begin = features["input_ids"].new_full((len(features["input_ids"]), 1), network.config.decoder_start_token_id)
    logits: torch.Tensor = network(**features, decoder_input_ids=begin, use_cache=False).logits[:, 0]
    return logits


def written(
    network: Any, features: dict[str, torch.Tensor], keys: Sequence[TextKey], decoding: Decoding
) -> list[list[list[int]]]:
    """Return the token ids of each text's n queries, from the decoder's first token, padded to the longest query.

    Args:
        network: of transformers, sequence to sequence, in evaluation mode, after `forget_habits`.
        features: padded texts, int64 [B, L] each.
        keys: of the B texts.
        decoding: its settings.
    """
    import transformers

    draws = [_Drawn(keys, decoding)] if decoding.method == "topk" else []
    rows = network.generate(
        **features, generation_config=_generation(decoding), logits_processor=transformers.LogitsProcessorList(draws)
    ).tolist()
    return [rows[first : first + decoding.n] for first in range(0, len(rows), decoding.n)]


def end_tokens(network: Any) -> frozenset[int]:
    """Return the ids of the tokens that end a query."""
    ends = network.generation_config.eos_token_id
    return frozenset(() if ends is None else [ends] if isinstance(ends, int) else ends)


def _generation(decoding: Decoding) -> Any:
    from transformers import GenerationConfig

    search: dict[str, Any] = {"do_sample": True, "top_k": 0}
    if decoding.method == "beam":
        search = {"do_sample": False, "num_beams": decoding.n}
    return GenerationConfig(**search, num_return_sequences=decoding.n, max_new_tokens=decoding.max_query_tokens)


class _Drawn:
    """Choose the next token of each row: it keeps 0, all other tokens get minus infinity.

    transformers then samples the only token left. Rows are the n queries of the first text, then of the second, ...
    """

    def __init__(self, keys: Sequence[TextKey], decoding: Decoding) -> None:
        self._keys, self._decoding = keys, decoding

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return scores [B * n, vocabulary], minus infinity except for the chosen tokens."""
        import torch

        place, decoding = input_ids.shape[1], self._decoding
        points = [chance(decoding.seed, *key, query, place) for key in self._keys for query in range(decoding.n)]
        logits, ids = scores.float().topk(min(decoding.k, scores.shape[1]))
        ids, order = ids.sort(dim=1)
        heaped = logits.gather(1, order).double().softmax(1).cumsum(1)
        reached = heaped <= torch.tensor(points, dtype=heaped.dtype, device=heaped.device)[:, None] * heaped[:, -1:]
        chosen = ids.gather(1, reached.sum(1, keepdim=True).clamp(max=ids.shape[1] - 1))
        return torch.full_like(scores, -torch.inf).scatter(1, chosen, 0.0)
