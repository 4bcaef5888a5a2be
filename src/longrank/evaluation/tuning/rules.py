"""Rules that choose the setting of a fold without its test queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from longrank.evaluation.tuning.values import GridValues
from longrank.formats.folds import Fold


class Rule(NamedTuple):
    """A rule.

    Attributes:
        about: description, one line.
        queries: (fold's name, all folds) -> queries that choose.
        best: (table, fold's name, all folds) -> place of the setting in the table.
    """

    about: str
    queries: Callable[[str, Mapping[str, Fold]], tuple[str, ...]]
    best: Callable[[GridValues, str, Mapping[str, Fold]], int]


def rest(name: str, folds: Mapping[str, Fold]) -> tuple[str, ...]:
    """Return the train and dev queries of a fold, each once."""
    return tuple(dict.fromkeys(folds[name].train + folds[name].dev))


def dev(name: str, folds: Mapping[str, Fold]) -> tuple[str, ...]:
    """Return the dev queries of a fold."""
    return folds[name].dev


def tested_elsewhere(name: str, folds: Mapping[str, Fold]) -> tuple[str, ...]:
    """Return the test queries of the other folds, each once."""
    return tuple(dict.fromkeys(query_id for other, fold in folds.items() if other != name for query_id in fold.test))


def best_sum_of_means(table: GridValues, name: str, folds: Mapping[str, Fold]) -> int:
    """Return the choice of Anserini's script for Yang et al. (SIGIR 2019): the highest sum of the other folds' means.

    The script reads the four decimals that trec_eval prints, rounds each fold's mean to four decimals, and gives ties
    to the setting that is largest as text (``k1:0.7,b:0.4``). Means are added in units of .0001, so sums are exact.
    """
    sums = [0] * len(table.settings)
    for other, fold in folds.items():
        if other != name and fold.test:
            for place, values in enumerate(table.values[:, table.columns(fold.test)].tolist()):
                printed = [round(value, 4) for value in values]  # as C's "%.4f", unlike NumPy's rounding
                sums[place] += round(round(sum(printed) / len(printed), 4) * 10_000)
    texts = [",".join(f"{axis}:{value}" for axis, value in setting.items()) for setting in table.settings]
    return max(range(len(texts)), key=lambda place: (sums[place], texts[place]))


def best_as_printed(table: GridValues, name: str, folds: Mapping[str, Fold]) -> int:
    """Return the choice of Birch's released script: the highest figure as trec_eval prints it.

    Ties (to four decimals) go to the smallest weight of the second best sentence (``w2``), then to the first of the
    grid.
    """
    printed = [round(figure, 4) for figure in table.figures(rest(name, folds))]
    return max(range(len(printed)), key=lambda place: (printed[place], -table.settings[place].get("w2", 0)))


RULES: dict[str, Rule] = {
    "rest": Rule("highest figure over train and dev", rest, lambda table, name, folds: table.best(rest(name, folds))),
    "dev": Rule("highest figure over dev, as Capreolus", dev, lambda table, name, folds: table.best(dev(name, folds))),
    "yang19": Rule("highest sum of the other folds' means", tested_elsewhere, best_sum_of_means),
    "birch": Rule("highest figure over train and dev to four decimals", rest, best_as_printed),
}
"""Rules by name."""
