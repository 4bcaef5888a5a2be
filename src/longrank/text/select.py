"""Selectors of candidate passages for a query (Santos et al.).

    all           every passage
    first         the first n (10)
    termf         the n (10) with the largest tf(q, S): occurrences of the query's terms in the passage
    first+termf   n (20): the first half from FIRST, then the best other passages of TERMF

`longrank.ranking.cascade` has selectors by a cheap scorer.

Terms are unstemmed lower-cased words without a possessive 's, stop words and punctuation; each distinct query term
counts once per occurrence in the passage. Ties go to the earlier passage, so TERMF of a document without a query term
is FIRST. With every selector, tf(q, S) is the weight for the Weighted Mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.protocols import ScoringTask, Selected, Selector
from longrank.registries import lookup
from longrank.text.analysis import ANALYZERS, STOP_WORDS
from longrank.text.words import has_short_stretches
from longrank.types import Float32s

_PLAIN = re.compile("[a-z0-9]+")
_WITHIN = re.compile("[a-z0-9_]")
_JOINS_BEFORE, _JOINS_AFTER = re.compile("[a-z0-9_][.':,;]"), re.compile("[.':,;][a-z0-9_]")

Choose = Callable[[Float32s, int], NDArray[np.intp]]
"""(tf(q, S) of every passage, n) -> positions of the chosen passages, in any order."""


def _all(counts: Float32s, n: int) -> NDArray[np.intp]:
    """Keep every passage."""
    return np.arange(len(counts))


def _first(counts: Float32s, n: int) -> NDArray[np.intp]:
    """Keep the first n passages (Santos' FIRST; n = 10)."""
    return np.arange(min(n, len(counts)))


def _termf(counts: Float32s, n: int) -> NDArray[np.intp]:
    """Keep the n passages with the most query words, the earlier of equals (Santos' TERMF; n = 10)."""
    return np.argsort(-counts, kind="stable")[:n]


def _first_and_termf(counts: Float32s, n: int) -> NDArray[np.intp]:
    """Keep the first n / 2 (rounded up), then the best other passages by query words (Santos' FIRST+TERMF; n = 20)."""
    first = _first(counts, (n + 1) // 2)
    best = _termf(counts, len(counts))
    return np.concatenate([first, best[best >= len(first)][: n - len(first)]])


@dataclass(frozen=True, slots=True)
class TermCountSelector:
    """Selects passages by position or by tf(q, S).

    Attributes:
        name: name of the rule.
        n: largest number of passages to choose; 0: all.
        choose: the rule.
    """

    name: str
    n: int
    choose: Choose

    @property
    def fingerprint(self) -> str:
        """The rule, e.g. ``first+termf(n=20)``."""
        return f"{self.name}(n={self.n})" if self.n else self.name

    def select(self, tasks: Sequence[ScoringTask], *, weights: bool = True) -> list[Selected]:
        """Return the chosen passages of each task, with tf(q, S) as weights; with `weights` false, maybe ones."""
        return [self._select(task, weights) for task in tasks]

    def _select(self, task: ScoringTask, weights: bool) -> Selected:
        if weights or self.choose not in _UNCOUNTED:
            counts = term_counts(task.query.text, [passage.text for passage in task.passages])
        else:
            counts = np.ones(len(task.passages), np.float32)
        chosen = np.sort(self.choose(counts, self.n))
        return Selected(chosen, counts[chosen])


def term_counts(query: str, texts: Sequence[str]) -> Float32s:
    """Return tf(q, S) for each text S: occurrences of the query's distinct terms. float32[P]."""
    surface = ANALYZERS["none"]
    terms = frozenset(surface(query)) - STOP_WORDS
    plain = all(map(_PLAIN.fullmatch, terms))
    counts = []
    for text in texts:
        count = _seen(text, terms) if plain else None
        counts.append(sum(map(terms.__contains__, surface(text))) if count is None else count)
    return np.array(counts, dtype=np.float32)


def _seen(text: str, terms: frozenset[str]) -> int | None:
    """Count the terms in a text without analysing it; None if a neighbouring character may join or end a term.

    Terms are letters and digits, so a word is a term if neither a letter, a digit nor ``_`` is beside it. One of
    ``. ' : , ;`` may lie within a word (``u.s``) if such a character follows; the analyzer must decide then, and
    wherever a character that is not ASCII is near.
    """
    if "\u0130" in text or not has_short_stretches(text):  # its lower case is two characters; a long word is split
        return None
    lowered, count = text.lower(), 0
    for term in terms:
        at = lowered.find(term)
        while at >= 0:
            end = at + len(term)
            before, after = lowered[max(at - 2, 0) : at], lowered[end : end + 2]
            if _WITHIN.search(before[-1:] + after[:1]) is None:
                if not (before + after).isascii() or _JOINS_BEFORE.fullmatch(before) or _JOINS_AFTER.fullmatch(after):
                    return None
                count += 1
            at = lowered.find(term, end)
    return count


_UNCOUNTED = (_all, _first)  # rules that read only the number of passages

SELECTORS: dict[str, tuple[Choose, int]] = {
    "all": (_all, 0),
    "first": (_first, 10),
    "termf": (_termf, 10),
    "first+termf": (_first_and_termf, 20),
}
"""name -> the rule and its n; 0: the rule takes no n."""


def make_selector(name: str, n: int | None = None) -> Selector:
    """Return a selector.

    Args:
        name: one of `SELECTORS`.
        n: largest number of passages to choose, 1 or more; None: the paper's.

    Raises:
        InputError: unknown name, n below 1, or n for ``all``.
    """
    choose, default = lookup(SELECTORS, name, "selector")
    if n is not None and n < 1:
        raise InputError("a selector chooses at least one passage", got=n, fix="give n of 1 or more")
    if n is not None and not default:
        raise InputError(f"selector '{name}' takes no n", got=n)
    return TermCountSelector(name, n or default, choose)
