"""Measures of shown passages against gold: hits, the rank of the first hit, reading, overlap and coverage.

A passage hits an answer if it wholly contains one of its occurrences; it hits a gold span if both share at least half
of the shorter of both. Passages are taken best first.

    hit@k       1 if one of the best k passages hits, else 0
    RR          1 / rank of the first passage that hits; 0 without a hit (its mean is the mean reciprocal rank)
    characters  read until the end of the first hit: passages best first, no character twice; the document's length
                without a hit
    precision   gold characters of the best passage / its characters
    recall      gold characters of the best passage / gold characters; of gold spans only, as is F1
    coverage@k  gold spans that one of the best k passages hits / gold spans; the answer counts as one gold span
"""

from __future__ import annotations

from collections.abc import Sequence

from longrank.analysis.gold import Gold
from longrank.types import Span


def measure_names(cutoffs: Sequence[int]) -> tuple[str, ...]:
    """Return the names of all measures, in the order of the tables."""
    hits, coverages = (tuple(f"{name}@{k}" for k in cutoffs) for name in ("hit", "coverage"))
    return (*hits, "RR", "characters", "precision", "recall", "F1", *coverages)


def measured(passages: Sequence[Span], gold: Gold, cutoffs: Sequence[int], *, answers: bool) -> dict[str, float]:
    """Return the measures of the passages of a document.

    Args:
        passages: passages, best first; may be empty.
        gold: gold of the document, with an answer, or with gold spans.
        cutoffs: numbers k, ascending.
        answers: True: passages are to contain the answer; False: to hit gold spans.

    Returns:
        Name of `measure_names` -> value; overlap only if there are gold spans.
    """
    parts = (gold.answers,) if answers else tuple((span,) for span in gold.spans)
    hits = contains if answers else shares_half
    ranks = [
        next((rank for rank, passage in enumerate(passages, 1) if any(hits(passage, span) for span in part)), None)
        for part in parts
    ]
    first = min((rank for rank in ranks if rank is not None), default=None)
    shown = passages[: first or 0]
    ends = [min(shown[-1][1], span[1]) for part in parts for span in part if first and hits(shown[-1], span)]
    values = {f"hit@{k}": float(first is not None and first <= k) for k in cutoffs}
    values["RR"] = 1 / first if first else 0.0
    values["characters"] = float(union([*shown[:-1], (shown[-1][0], min(ends))]) if first else gold.length)
    values |= overlap(passages[0] if passages else (0, 0), gold.spans) if gold.spans else {}
    return values | {
        f"coverage@{k}": sum(rank is not None and rank <= k for rank in ranks) / len(ranks) for k in cutoffs
    }


def contains(passage: Span, answer: Span) -> bool:
    """Tell whether a passage wholly contains an answer."""
    return passage[0] <= answer[0] and answer[1] <= passage[1]


def shares_half(passage: Span, span: Span) -> bool:
    """Tell whether a passage and a gold span share at least half of the shorter of both, and a character."""
    shared = min(passage[1], span[1]) - max(passage[0], span[0])
    return shared > 0 and 2 * shared >= min(passage[1] - passage[0], span[1] - span[0])


def union(spans: Sequence[Span]) -> int:
    """Return the number of characters in any of the spans."""
    n, reached = 0, 0
    for start, end in sorted(spans):
        n += max(0, end - max(start, reached))
        reached = max(reached, end)
    return n


def overlap(passage: Span, spans: Sequence[Span]) -> dict[str, float]:
    """Return precision, recall and F1 of a passage's characters against those of gold spans."""
    length, gold = passage[1] - passage[0], union(spans)
    shared = length + gold - union([passage, *spans])
    return {
        "precision": shared / length if length else 0.0,
        "recall": shared / gold,
        "F1": 2 * shared / (length + gold),
    }
