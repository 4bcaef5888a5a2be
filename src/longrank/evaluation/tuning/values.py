"""Values of tuning: the table of measured settings, the choices made from it, and the outcome."""

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
    """Values of a measure, by setting and query.

    Attributes:
        measure: name of the measure.
        settings: S settings, in the order of the grid.
        query_ids: Q judged queries.
        values: float64[S, Q].
    """

    measure: str
    settings: Sequence[Setting]
    query_ids: tuple[str, ...]
    values: NDArray[np.float64]

    def columns(self, query_ids: Collection[str]) -> list[int]:
        """Return the columns of some queries, ascending."""
        chosen = set(query_ids)
        return [column for column, query_id in enumerate(self.query_ids) if query_id in chosen]

    def figures(self, query_ids: Collection[str]) -> list[float]:
        """Return the figure of every setting over some queries, exactly rounded; NaN without queries."""
        columns = np.array(self.columns(query_ids), np.intp)
        return [
            summarise(self.measure, row[columns].tolist()) for row in self.values
        ]  # by rows, without a second table

    def figure(self, setting: int, query_ids: Collection[str]) -> float:
        """Return the figure of a setting, by its place, over some queries; NaN without queries."""
        return summarise(self.measure, self.values[setting, self.columns(query_ids)].tolist())

    def best(self, query_ids: Collection[str]) -> int:
        """Return the place of the setting with the highest figure over some queries; ties to the first of the grid."""
        figures = self.figures(query_ids)
        return max(range(len(figures)), key=figures.__getitem__)


def check_size(n_settings: int, n_queries: int) -> None:
    """Refuse a table that is too large.

    Raises:
        InputError: more than `MAX_VALUES` values.
    """
    if n_settings * n_queries > MAX_VALUES:
        fault = f"{n_settings} settings x {n_queries} queries are more than {MAX_VALUES} values"
        raise InputError(fault, fix="use larger steps, or fewer queries")


class Choice(NamedTuple):
    """A chosen setting.

    Attributes:
        name: ``all``, ``sample 1``, or the fold's name.
        setting: place of the setting in the table.
        chosen_on: queries that chose the setting.
        tested_on: other queries that it is tested on; empty if the choice is not tested by itself.
    """

    name: str
    setting: int
    chosen_on: tuple[str, ...]
    tested_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a protocol.

    Attributes:
        name: ``all``, ``mean``, ``pooled`` or ``frozen``.
        choices: chosen settings and their queries.
        setting: the setting for all queries; None if every fold has its own.
        setting_of: query_id -> setting, for the queries that `value` is measured on.
        value: figure over these queries.
        held_out: no query took part in choosing its own setting.
        remark: note for readers of `value`.
    """

    name: str
    choices: tuple[Choice, ...]
    setting: Setting | None
    setting_of: Mapping[str, Setting]
    value: float
    held_out: bool
    remark: str
