"""Protocols of tuning: choose settings from a table of values, and test the choice.

    all      the optimum over all queries: no test
    samples  the mean of the optima of several random samples, tested on the queries of no sample
             (h2oloo at TREC 2019: five samples; k1 .82 and b .68 for MS MARCO passages are such means)
    folds    for the test queries of each fold the optimum over its other queries (Yang et al., SIGIR 2019)

Ties go to the first setting of the grid, unless a fold's rule says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from longrank.draws import shuffled
from longrank.errors import InputError
from longrank.evaluation.heldout import check_folds
from longrank.evaluation.measures import summarise
from longrank.evaluation.tuning.grids import Setting, mean_setting
from longrank.evaluation.tuning.rules import RULES
from longrank.evaluation.tuning.values import Choice, GridValues, Outcome
from longrank.formats.folds import Fold
from longrank.registries import lookup
from longrank.types import Notes

Measured = Callable[[Setting, Sequence[str]], float]
"""(setting, query_ids) -> figure; also for settings off the grid, which a table lacks."""


class TuningProtocol(Protocol):
    """Choose settings and test them."""

    def about(self) -> dict[str, Any]:
        """Return name and options, as JSON."""
        ...

    def chosen_on(self, query_ids: Sequence[str]) -> Sequence[str]:
        """Return the queries that the choice depends on, in their order: a table of these is enough for `choose`.

        Raises:
            InputError: the queries do not fit the protocol.
        """
        ...

    def choose(self, table: GridValues) -> tuple[Choice, ...]:
        """Return the choices.

        Raises:
            InputError: the queries do not fit the protocol; values do not matter.
        """
        ...

    def conclude(self, table: GridValues, choices: tuple[Choice, ...], measured: Measured) -> Outcome:
        """Return the outcome of the choices."""
        ...


@dataclass(frozen=True)
class OnAll:
    """The optimum over all queries."""

    def about(self) -> dict[str, Any]:
        """Return the name."""
        return {"name": "all"}

    def chosen_on(self, query_ids: Sequence[str]) -> Sequence[str]:
        """Return all queries."""
        return query_ids

    def choose(self, table: GridValues) -> tuple[Choice, ...]:
        """Return the single choice."""
        return (Choice("all", table.best(table.query_ids), table.query_ids),)

    def conclude(self, table: GridValues, choices: tuple[Choice, ...], measured: Measured) -> Outcome:
        """Return the choice with its value on the queries that chose it."""
        setting = table.settings[choices[0].setting]
        return Outcome(
            "all",
            choices,
            setting,
            dict.fromkeys(table.query_ids, setting),
            table.figure(choices[0].setting, table.query_ids),
            held_out=False,
            remark="chosen and reported on the same queries: a description of them, not a test",
        )


@dataclass(frozen=True)
class OnSamples:
    """The optimum of each of `samples` independent samples of `size` queries, and the mean of the optima.

    The queries of a sample depend on the seed, the sample's number and the query ids.

    Attributes:
        samples: number of samples.
        size: queries of a sample.
        seed: seed of the draws.
        query_ids: queries to draw from and to test on; None: those of the table.
    """

    samples: int
    size: int
    seed: int
    query_ids: tuple[str, ...] | None = None

    def about(self) -> dict[str, Any]:
        """Return name and options."""
        return {"name": "samples", "samples": self.samples, "sample_size": self.size, "seed": self.seed}

    def chosen_on(self, query_ids: Sequence[str]) -> Sequence[str]:
        """Return the queries of the samples; see `TuningProtocol`."""
        drawn = {query_id for sample in self._drawn(query_ids) for query_id in sample}
        return [query_id for query_id in query_ids if query_id in drawn]

    def choose(self, table: GridValues) -> tuple[Choice, ...]:
        """Return the optimum of each sample.

        Raises:
            InputError: no sample, or a size that is not between 1 and the number of queries.
        """
        samples = self._drawn(self.query_ids or table.query_ids)
        return tuple(Choice(f"sample {number}", table.best(sample), sample) for number, sample in enumerate(samples, 1))

    def _drawn(self, query_ids: Sequence[str]) -> list[tuple[str, ...]]:
        if self.samples < 1:
            raise InputError("the number of samples must be at least 1", got=self.samples)
        if not 1 <= self.size <= len(query_ids):
            raise InputError(f"a sample can have between 1 and {len(query_ids)} queries", got=self.size)
        return [self._sample(query_ids, number) for number in range(1, self.samples + 1)]

    def _sample(self, query_ids: Sequence[str], number: int) -> tuple[str, ...]:
        drawn = set(shuffled(query_ids, self.seed, number)[: self.size])
        return tuple(query_id for query_id in query_ids if query_id in drawn)

    def conclude(self, table: GridValues, choices: tuple[Choice, ...], measured: Measured) -> Outcome:
        """Return the mean of the optima with its value on the queries of no sample; on all, if samples hold all."""
        setting = mean_setting([table.settings[choice.setting] for choice in choices])
        sampled = {query_id for choice in choices for query_id in choice.chosen_on}
        query_ids = self.query_ids or table.query_ids
        outside = tuple(query_id for query_id in query_ids if query_id not in sampled)
        tested_on = outside or query_ids
        remark = (
            f"the mean of the optima, tested on the {len(outside)} queries that are in no sample"
            if outside
            else "every query is in a sample: the mean of the optima is reported on queries that it was chosen on"
        )
        value = measured(setting, tested_on)
        return Outcome("mean", choices, setting, dict.fromkeys(tested_on, setting), value, bool(outside), remark)


@dataclass(frozen=True)
class OnFolds:
    """For each fold a setting chosen without its test queries, by a rule of `RULES`.

    `notes` counts queries of the folds that the table lacks.
    """

    folds: Mapping[str, Fold]
    rule: str
    notes: Notes

    def about(self) -> dict[str, Any]:
        """Return name and rule; the choices name the queries of each fold."""
        return {"name": "folds", "choose_by": self.rule}

    def chosen_on(self, query_ids: Sequence[str]) -> Sequence[str]:
        """Return all queries."""
        return query_ids

    def choose(self, table: GridValues) -> tuple[Choice, ...]:
        """Return the choice of each fold.

        Raises:
            InputError: a fold tests a query that it trains on or has no query to choose on, two folds test the same
                query, or no fold tests a query of the table.
        """
        check_folds(self.folds)
        tested = {query_id for fold in self.folds.values() for query_id in fold.test}
        if (missing := next((q for q in table.query_ids if q not in tested), None)) is not None:
            raise InputError(
                f"no fold tests query '{missing}', which has judgments",
                about=("folds",),
                fix="give folds that test all queries",
            )
        known = set(table.query_ids)
        folds = {name: fold.among(known) for name, fold in self.folds.items()}
        return tuple(self._for_fold(name, folds, table) for name in folds)

    def _for_fold(self, name: str, folds: Mapping[str, Fold], table: GridValues) -> Choice:
        rule = RULES[self.rule]
        chosen_on = rule.queries(name, folds)
        if not chosen_on:
            raise InputError(f"fold '{name}' has no query with judgments to choose on", about=("folds",), got=self.rule)
        return Choice(name, rule.best(table, name, folds), chosen_on, folds[name].test)

    def conclude(self, table: GridValues, choices: tuple[Choice, ...], measured: Measured) -> Outcome:
        """Return the choices with their value over all test queries together."""
        known = set(table.query_ids)
        for query_id in dict.fromkeys(q for fold in self.folds.values() for part in fold for q in part):
            if query_id not in known:
                self.notes.add("queries of the folds without text, judgments or results, left out", query_id)
        place_of = {query_id: choice.setting for choice in choices for query_id in choice.tested_on}
        values = [float(table.values[place_of[q], column]) for column, q in enumerate(table.query_ids)]
        setting_of = {query_id: table.settings[place_of[query_id]] for query_id in table.query_ids}
        remark = "each query is tested with the setting that its fold chose on other queries"
        value = summarise(table.measure, values)
        return Outcome("pooled", choices, None, setting_of, value, held_out=True, remark=remark)


def frozen(there: GridValues, place: int, here: GridValues) -> Outcome:
    """Return the outcome of a setting that another judged set chose.

    Args:
        there: table of the other set.
        place: place of the chosen setting in it.
        here: table of the chosen setting alone, over the queries that it is tested on.
    """
    setting, common = there.settings[place], len(set(there.query_ids) & set(here.query_ids))
    remark = "chosen on the queries of another judged set, and kept for these"
    return Outcome(
        "frozen",
        (Choice("other set", place, there.query_ids),),
        setting,
        dict.fromkeys(here.query_ids, setting),
        here.figure(0, here.query_ids),
        held_out=not common,
        remark=remark + (f"; {common} query ids are in both, so these may not be unseen" if common else ""),
    )


def make_protocol(
    name: str | None = None,
    *,
    folds: Mapping[str, Fold] | None = None,
    choose_by: str | None = None,
    samples: int | None = None,
    sample_size: int | None = None,
    seed: int = 42,
    query_ids: Sequence[str] | None = None,
    notes: Notes,
) -> TuningProtocol:
    """Return a protocol with its options; without a name, the protocol whose options are given, else ``all``.

    `query_ids` are all judged queries, if the table will have `TuningProtocol.chosen_on` only.

    Raises:
        InputError: an unknown protocol or rule, an option of another protocol, or one that is missing.
    """
    options = {"folds": folds, "choose_by": choose_by, "samples": samples, "sample_size": sample_size}
    owner = {"folds": "folds", "choose_by": "folds", "samples": "samples", "sample_size": "samples"}
    given = [option for option, value in options.items() if value is not None]
    name = name or next((owner[option] for option in given), "all")
    lookup(PROTOCOLS, name, "protocol")
    for option in given:
        if owner[option] != name:
            raise InputError(f"`{option}` is an option of protocol '{owner[option]}'", got=name)
    if name == "folds":
        if folds is None:
            raise InputError("protocol 'folds' needs `folds`", fix="give a file of folds, or a number of folds to make")
        lookup(RULES, choose_by or "rest", "rule to choose by")
        return OnFolds(folds, choose_by or "rest", notes)
    if name == "samples":
        if sample_size is None:
            raise InputError("protocol 'samples' needs `sample_size`", fix="the queries of no sample are tested on")
        population = None if query_ids is None else tuple(query_ids)
        return OnSamples(5 if samples is None else samples, sample_size, seed, population)
    return OnAll()


PROTOCOLS: dict[str, type[TuningProtocol]] = {"all": OnAll, "samples": OnSamples, "folds": OnFolds}
"""Protocols by name."""
