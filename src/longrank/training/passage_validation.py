"""How well a passage model ranks the texts of development queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from longrank.errors import InputError
from longrank.evaluation.measures import evaluate, parse_measure, summarise
from longrank.training.passage_data.examples import Example
from longrank.types import Qrels, Run, ScoredDoc


class Development:
    """Queries with texts to rank: groups as they are, single texts gathered by their query.

    Args:
        examples: groups or single texts.
        measure: a name that `evaluate` knows.

    Raises:
        InputError: an unknown measure, or no relevant text.
    """

    def __init__(self, examples: Sequence[Example], measure: str) -> None:
        self._measure = parse_measure(measure)
        self._lists = _lists(examples)
        self._qrels: Qrels = {
            str(n): {str(i): int(label) for i, label in enumerate(one.labels)} for n, one in enumerate(self._lists)
        }
        if not any(label for one in self._lists for label in one.labels):
            raise InputError("the development examples have no relevant text")

    def value(self, score: Callable[[str, Sequence[str]], Sequence[Any]]) -> float:
        """Return the mean of the measure; among equal scores the first text of a list ranks last.

        Args:
            score: (query, texts) -> the score of each text.
        """
        run = Run(
            "dev", (row for n, one in enumerate(self._lists) for row in _rows(str(n), score(one.query, one.texts)))
        )
        (values,) = evaluate(self._qrels, run, [self._measure]).values()
        return summarise(str(self._measure), list(values.values()))


def _rows(query_id: str, scores: Sequence[Any]) -> list[ScoredDoc]:
    return [ScoredDoc(query_id, str(i), float(score)) for i, score in enumerate(scores)]


def _lists(examples: Sequence[Example]) -> list[Example]:
    """Return a list of texts for each query of single texts, and each group."""
    single: dict[str, list[Example]] = {}
    for one in examples:
        if len(one.texts) == 1:
            single.setdefault(one.query, []).append(one)
    gathered = [
        Example(query, tuple(one.texts[0] for one in own), tuple(one.labels[0] for one in own))
        for query, own in single.items()
    ]
    return [one for one in examples if len(one.texts) > 1] + gathered
