"""Scores from logits, by the definitions of published rerankers.

    name         one output z      two outputs z0, z1
    logit        z                 z1                     Birch, Capreolus
    logit_diff   -                 z1 - z0                the log-odds; never saturates
    logprob      log sigmoid(z)    log softmax(z)[1]      dl4marco-bert, pygaggle, monoT5
    prob         sigmoid(z)        softmax(z)[1]          Dai and Callan

z1 means relevant. With two outputs the definitions also rank differently. All are float32, from float32 logits.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.networks.feeding import check_finite
from longrank.protocols import PassageScores, ScoringTask
from longrank.registries import suggestion
from longrank.text.packing import Packed
from longrank.types import Float32s

SCORES = ("logit", "logit_diff", "logprob", "prob")


def check_score(score: str) -> None:
    """Refuse a name that is not in `SCORES`.

    Raises:
        InputError: unknown name; suggests the nearest.
    """
    if score not in SCORES:
        raise InputError("unknown score", got=score, fix=suggestion(score, SCORES))


def score_of(logits: NDArray[np.float32], unit: str, relevant: int = 1) -> Float32s:
    """Return the score float32[N] of logits float32[N, 1 or 2], stable for large logits.

    Args:
        logits: the network's outputs.
        unit: one of `SCORES`.
        relevant: the column that means relevant.
    """
    z = logits[:, relevant]
    if unit == "logit":
        return z.copy()
    with np.errstate(over="ignore", invalid="ignore"):  # `check_finite` refuses other values afterwards
        # softmax of two logits is the sigmoid of their difference, the log-odds
        odds = z if logits.shape[1] == 1 else z - logits[:, 1 - relevant]
        if unit == "logit_diff":
            return odds
        logprob: Float32s = -np.logaddexp(np.float32(0), -odds)
        return logprob if unit == "logprob" else np.exp(logprob)


def per_task(tasks: Sequence[ScoringTask], packed: Sequence[Packed], scores: Float32s) -> list[PassageScores]:
    """Split the scores of all passages, float32[N], by task, with the passages that were cut.

    Raises:
        LongRankError: a score is not finite; names query, document and passage.
    """
    truncated = np.array([text.truncated for text in packed], dtype=np.bool_)
    bounds = pairwise(accumulate((len(task.texts) for task in tasks), initial=0))
    results = [PassageScores(scores[start:end], truncated[start:end]) for start, end in bounds]
    for task, result in zip(tasks, results, strict=True):
        check_finite(result.scores, task)
    return results
