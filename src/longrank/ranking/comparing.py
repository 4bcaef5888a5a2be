"""Rerank documents by comparing their best passages: in pairs (duoT5) or in lists (RankGPT's sliding windows).

    pairs    s_i = sum over j of p(i before j) + 1 - p(j before i); n (n - 1) comparisons (Pradeep et al. 2021)
    lists    a window slides from the last passages to the first; each answer is a permutation, "[2] > [1] > [3]"
             (Sun et al. 2023)

A malformed answer is counted and completed: passages that it does not name follow in their former order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.types import Notes

Prefer: TypeAlias = Callable[[str, Sequence[tuple[str, str]]], NDArray[np.float32]]
"""(query, pairs of texts) -> for each pair the probability, 0 to 1, that the first text is more relevant."""
Arrange: TypeAlias = Callable[[str, Sequence[str]], str]
"""(query, texts) -> the answer: a permutation of ``[1]`` to ``[n]``, the most relevant text first."""

_ANSWER = re.compile(r"\s*\[\d+\](?:\s*>\s*\[\d+\])*\s*")
_PLACE = re.compile(r"\[(\d+)\]")


class Permutation(NamedTuple):
    """An order of n texts, places from 0, and true if the answer named each text once and nothing else."""

    order: tuple[int, ...]
    well_formed: bool


def read_permutation(answer: str, n: int) -> Permutation:
    """Read the order of `n` texts, ``[2] > [1] > [3]``.

    Of a malformed answer the first mention of each text counts; texts that it does not name follow in their order.
    """
    named = [int(place) - 1 for place in _PLACE.findall(answer)]
    known = dict.fromkeys(place for place in named if 0 <= place < n)
    well_formed = _ANSWER.fullmatch(answer) is not None and sorted(named) == list(range(n))
    return Permutation((*known, *(place for place in range(n) if place not in known)), well_formed)


def windows(n: int, size: int, step: int) -> Iterator[tuple[int, int]]:
    """Yield the windows (start, end) over `n` texts, from the last to the first.

    Raises:
        InputError: `size` is below 2, or `step` is not between 1 and `size`.
    """
    if size < 2:
        raise InputError("a window holds two texts or more", got=size)
    if not 1 <= step <= size:
        raise InputError("the step of a window is between 1 and its size", got=step)
    end = n
    while end > 0:
        start = max(0, end - size)
        yield start, end
        if start == 0:
            return
        end -= step


def by_lists(
    query: str, texts: Sequence[str], arrange: Arrange, notes: Notes, *, size: int = 20, step: int = 10
) -> list[int]:
    """Return the places of texts, the most relevant first, by sliding windows.

    Args:
        query: the query's text.
        texts: best passages of documents, in the order of the run.
        arrange: answers for one window.
        notes: counts malformed answers.
        size: texts of a window.
        step: texts by which the window moves.

    Raises:
        InputError: as `windows`.
    """
    order = list(range(len(texts)))
    for start, end in windows(len(texts), size, step):
        if end - start < 2:
            continue
        answer = arrange(query, [texts[place] for place in order[start:end]])
        permutation = read_permutation(answer, end - start)
        notes.add(
            "malformed answers of the list reranker, completed in the former order",
            repr(answer[:80]),
            not permutation.well_formed,
        )
        order[start:end] = [order[start + place] for place in permutation.order]
    return order


def by_pairs(query: str, texts: Sequence[str], prefer: Prefer) -> NDArray[np.float64]:
    """Return the score of each text, 0 to 2 (n - 1): its wins in both orders, by probability.

    Args:
        query: the query's text.
        texts: best passages of documents.
        prefer: compares pairs.
    """
    n = len(texts)
    places = [(i, j) for i in range(n) for j in range(n) if i != j]
    scores = np.zeros(n)
    if places:
        first = prefer(query, [(texts[i], texts[j]) for i, j in places]).astype(np.float64)
        for (i, j), probability in zip(places, first, strict=True):
            scores[i] += probability
            scores[j] += 1 - probability
    return scores
