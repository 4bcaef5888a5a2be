"""What travels through tuning: a table of values, the choices made from it, and the outcome."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.evaluation.measures import summarise
from longrank.evaluation.tuning.grids import Setting

MAX_VALUES = 50_000_000  # settings x queries: 400 MB


class GridValues(NamedTuple):
    """The values of a measure.

    Attributes:
        measure: its name.
        settings: S settings, in the order of the grid.
        query_ids: the Q queries that have judgments.
        values: float64[S, Q].
    """

    measure: str
    settings: Sequence[Setting]
    query_ids: tuple[str, ...]
    values: NDArray[np.float64]

    def columns(self, query_ids: Collection[str]) -> list[int]:
        """Return the places of some queries, ascending."""
        wanted = set(query_ids)
        return [column for column, query_id in enumerate(self.query_ids) if query_id in wanted]

    def figures(self, query_ids: Collection[str]) -> list[float]:
        """Return the figure of every setting over some queries, exactly rounded: equal is equal; NaN of none."""
        columns = np.array(self.columns(query_ids), np.intp)
        return [summarise(self.measure, row[columns].tolist()) for row in self.values]  # by rows: no second table

    def figure(self, setting: int, query_ids: Collection[str]) -> float:
        """Return the figure of the setting at that place over some queries; NaN of none."""
        return summarise(self.measure, self.values[setting, self.columns(query_ids)].tolist())

    def best(self, query_ids: Collection[str]) -> int:
        """Return the setting with the highest figure over some queries; of equal ones the first of the grid."""
        figures = self.figures(query_ids)
        return max(range(len(figures)), key=figures.__getitem__)


def check_size(n_settings: int, n_queries: int) -> None:
    """Refuse a table that is too large.

    Raises:
        InputError: more than `MAX_VALUES` values.
    """
    if n_settings * n_queries > MAX_VALUES:
        what = f"{n_settings} settings x {n_queries} queries are more than {MAX_VALUES} values to keep in memory"
        raise InputError(what, fix="use larger steps, or fewer queries")


class Choice(NamedTuple):
    """A setting that was chosen.

    Attributes:
        name: ``all``, ``sample 1``, or the fold's name.
        setting: its place in the table.
        chosen_on: the queries that decided.
        tested_on: those it is tested on, which did not decide; empty if the choice is not tested by itself.
    """

    name: str
    setting: int
    chosen_on: tuple[str, ...]
    tested_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a protocol comes to.

    Attributes:
        name: what the result is called: ``all``, ``mean`` or ``pooled``.
        choices: what was chosen, and on which queries.
        setting: the one setting for all queries; None if every fold has its own.
        setting_of: query_id -> setting, for the queries that `value` is measured on.
        value: the figure over them.
        held_out: whether no query had a part in choosing its own setting.
        remark: what the reader of `value` has to know.
    """

    name: str
    choices: tuple[Choice, ...]
    setting: Setting | None
    setting_of: Mapping[str, Setting]
    value: float
    held_out: bool
    remark: str
