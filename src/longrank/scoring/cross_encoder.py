"""A cross-encoder: query and passage are read together by a network with a classification head.

monoBERT (Nogueira and Cho 2019), BERT-MaxP (Dai and Callan 2019), Birch and their kin: any Hugging
Face sequence-classification model with one output (relevance) or two (not relevant, relevant). What
published rerankers call the score differs, and for two outputs so does the order:

    name         one output z      two outputs z0, z1
    logit        z                 z1                     Birch, Capreolus
    logit_diff   -                 z1 - z0                the log-odds; never saturates; default for two
    logprob      log sigmoid(z)    log softmax(z)[1]      dl4marco-bert, pygaggle
    prob         sigmoid(z)        softmax(z)[1]          Dai and Callan

All are computed in float32 from float32 logits.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.config import suggestion
from longrank.errors import InputError
from longrank.protocols import PassageScores, ScoringTask
from longrank.scoring.models import Model, find_model
from longrank.scoring.network import (
    DEFAULT_BATCH_TOKENS,
    Feeder,
    check_at_least,
    check_finite,
    check_network,
    choose_device,
    choose_max_tokens,
    loading,
    position_limit,
)
from longrank.text.packing import Packed
from longrank.types import Float32s, Notes

SCORES = ("logit", "logit_diff", "logprob", "prob")

DEFAULT_MAX_QUERY_TOKENS = 64
"""As monoBERT reads queries."""


class CrossEncoder:
    """Scores passages with a sequence-classification model.

    Args:
        model: the model's files.
        score: one of `SCORES`; default: ``logit`` for one output, ``logit_diff`` for two.
        relevant: which of two outputs means relevant, 0 or 1.
        max_tokens: what is read of query and passage together; default: the model's own limit.
        max_query_tokens: what is read of the query.
        batch_tokens: padded tokens per batch.
        device: a torch device, or ``auto``.
        notes: counts queries that were cut.

    Raises:
        InputError: the model cannot be loaded or is no classifier of one or two outputs, or an option
            is out of range.
        MissingExtra: torch or transformers are not installed.
    """

    def __init__(
        self,
        model: Model,
        *,
        score: str | None = None,
        relevant: int = 1,
        max_tokens: int | None = None,
        max_query_tokens: int = DEFAULT_MAX_QUERY_TOKENS,
        batch_tokens: int = DEFAULT_BATCH_TOKENS,
        device: str = "auto",
        notes: Notes | None = None,
    ) -> None:
        check_at_least("batch_tokens", batch_tokens, 1)
        check_at_least("max_query_tokens", max_query_tokens, 1)
        self.model = model
        self._notes = Notes() if notes is None else notes
        with loading(model):
            self._network, tokenizer = _load(model, device)
        self.unit, self._relevant = _choose_score(model, self._network.config.num_labels, score, relevant)
        self.max_tokens = choose_max_tokens(
            model, max_tokens, tokenizer.model_max_length, position_limit(self._network)
        )
        where = self._network.device
        self._feeder = Feeder(
            tokenizer,
            self.max_tokens,
            max_query_tokens=max_query_tokens,
            batch_tokens=batch_tokens,
            device=str(where),
        )
        self.offset_tokenizer = self._feeder.offset_tokenizer
        self.fingerprint = (
            f"cross-encoder {model.fingerprint} score={self.unit} relevant={relevant} max_tokens={self.max_tokens} "
            f"max_query_tokens={max_query_tokens} batch_tokens={batch_tokens} device={where.type}"
        )

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        """Return the score of each passage; batches are formed among all passages of the call.

        Raises:
            LongRankError: a score is not finite; names query, document and passage.
        """
        if not tasks:
            return []
        packed = [pair for task in tasks for pair in self._feeder.packer.pairs(task.query.text, task.texts)]
        self._count_cut_queries(tasks)
        logits = self._feeder.run(packed, lambda features: self._network(**features).logits)
        scores = _score(logits, self.unit, self._relevant)
        truncated = np.array([pair.truncated for pair in packed], dtype=np.bool_)
        bounds = pairwise(accumulate((len(task.texts) for task in tasks), initial=0))
        results = [PassageScores(scores[start:end], truncated[start:end]) for start, end in bounds]
        for task, result in zip(tasks, results, strict=True):
            check_finite(result.scores, task)
        return results

    def logits(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """Return the network's own outputs for one query, float32[P, 1 or 2]."""
        packed: list[Packed] = list(self._feeder.packer.pairs(query, passages))
        return self._feeder.run(packed, lambda features: self._network(**features).logits)

    def _count_cut_queries(self, tasks: Sequence[ScoringTask]) -> None:
        for query_id, text in {task.query.query_id: task.query.text for task in tasks}.items():
            if self._feeder.packer.cuts_query(text):
                limit = self._feeder.packer.max_query_tokens
                self._notes.add(f"queries cut at the scorer's {limit} tokens", f"query {query_id}")


def open_cross_encoder(
    index: object,
    model: str | None,
    *,
    notes: Notes,
    score: str | None = None,
    relevant: int = 1,
    max_tokens: int | None = None,
    max_query_tokens: int = DEFAULT_MAX_QUERY_TOKENS,
    batch_tokens: int = DEFAULT_BATCH_TOKENS,
    device: str = "auto",
) -> CrossEncoder:
    """Load a cross-encoder by folder or Hugging Face name; the index is not needed.

    Raises:
        InputError, MissingExtra, IntegrityError: as `find_model` and `CrossEncoder`.
    """
    if model is None:
        raise InputError("the cross-encoder needs a model", fix="name one")
    return CrossEncoder(
        find_model(model),
        score=score,
        relevant=relevant,
        max_tokens=max_tokens,
        max_query_tokens=max_query_tokens,
        batch_tokens=batch_tokens,
        device=device,
        notes=notes,
    )


def _load(model: Model, device: str) -> tuple[Any, Any]:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    options = {"local_files_only": True, "trust_remote_code": False}
    tokenizer = AutoTokenizer.from_pretrained(str(model.path), **options)
    network, info = AutoModelForSequenceClassification.from_pretrained(
        str(model.path), dtype=torch.float32, use_safetensors=True, output_loading_info=True, **options
    )
    check_network(model, network, tokenizer, info["missing_keys"])
    return network.to(choose_device(device)).eval(), tokenizer


def _choose_score(model: Model, n_outputs: int, score: str | None, relevant: int) -> tuple[str, int]:
    """Return the name of the score and the output that means relevant."""
    if n_outputs not in (1, 2):
        raise InputError("a cross-encoder has one output or two", path=model.path, got=n_outputs)
    if score is not None and score not in SCORES:
        raise InputError("unknown score", got=score, fix=suggestion(score, SCORES))
    if relevant not in (0, 1):
        raise InputError("relevant must be 0 or 1", got=relevant)
    if n_outputs == 1 and relevant == 0:
        raise InputError(f"'{model.name}' has one output, which means relevant", got="relevant = 0", fix="leave it out")
    if n_outputs == 1 and score == "logit_diff":
        raise InputError(f"'{model.name}' has one output: there is no difference of two", got=score, fix="use logit")
    return score or ("logit" if n_outputs == 1 else "logit_diff"), relevant if n_outputs == 2 else 0


def _score(logits: NDArray[np.float32], unit: str, relevant: int) -> Float32s:
    """Return the score float32[N] of logits float32[N, 1 or 2], stable for large logits."""
    z = logits[:, relevant]
    if unit == "logit":
        return z.copy()
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused by name afterwards
        # softmax of two logits is the sigmoid of their difference, the log-odds
        odds = z if logits.shape[1] == 1 else z - logits[:, 1 - relevant]
        if unit == "logit_diff":
            return odds
        logprob: Float32s = -np.logaddexp(np.float32(0), -odds)
        return logprob if unit == "logprob" else np.exp(logprob)
