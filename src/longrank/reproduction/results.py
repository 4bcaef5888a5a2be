"""Results: obtained beside published figures, with a verdict on each figure.

A figure is comparable only if it was obtained on the paper's collection, with the paper's models and settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from longrank.errors import LongRankError, shown
from longrank.evaluation.significance import corrected, differences, randomization_test, t_test
from longrank.reproduction.recipe import Expected, Recipe
from longrank.reproduction.rows import ObtainedRow

Verdict = Literal["match", "lower", "higher", "not comparable here", "not obtained"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A row of the result.

    Attributes:
        name: name of the row.
        published: measure -> figure.
        obtained: measure -> figure.
        verdicts: measure -> verdict, for each published figure.
        p: measure -> p of the paper's test against the row's baseline, with the paper's correction.
        expected: the recipe's row; None if the paper lacks it.
        row: the program's row; None if not obtained.
    """

    name: str
    published: Mapping[str, float]
    obtained: Mapping[str, float]
    verdicts: Mapping[str, Verdict]
    p: Mapping[str, float | None] = field(default_factory=dict)
    expected: Expected | None = None
    row: ObtainedRow | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """A table or figure, obtained.

    Attributes:
        name: name of the recipe.
        recipe: the recipe, with the settings used.
        collection: name of the collection.
        n_queries: number of queries.
        models: role -> the model used.
        departures: differences from the paper; any difference makes all figures incomparable.
        lines: rows in the paper's order; rows that the paper lacks come last.
        inputs: inputs that the recipe leaves open and the user gave.
    """

    name: str
    recipe: Recipe
    collection: str
    n_queries: int
    models: Mapping[str, str]
    departures: Sequence[str]
    lines: Sequence[ResultRow]
    inputs: Sequence[str] = ()


def departures(
    recipe: Recipe, collection: str, models: Mapping[str, str], changes: Mapping[str, tuple[Any, Any]]
) -> list[str]:
    """Return the differences from the paper: collection, models and settings.

    Args:
        recipe: the recipe.
        collection: name of the collection.
        models: role -> model that the user chose.
        changes: setting -> (the paper's value, the value used); open inputs (`inputs_given`) are no difference.
    """
    differences = [] if collection == recipe.collection else [f"collection {collection}, paper {recipe.collection}"]
    differences += [
        f"{role} {name}, paper {recipe.models[role]}" for role, name in models.items() if name != recipe.models[role]
    ]
    protocol = {key: values for key, values in changes.items() if not is_input(recipe, key, values[0])}
    return differences + [line for key, (paper, used) in protocol.items() for line in _differences(key, paper, used)]


def inputs_given(recipe: Recipe, changes: Mapping[str, tuple[Any, Any]]) -> list[str]:
    """Return the inputs that the recipe leaves open and the user gave, such as topics to learn from.

    Args:
        recipe: the recipe.
        changes: setting -> (the paper's value, the value used).
    """
    return [f"{key} {shown(used)}" for key, (paper, used) in changes.items() if is_input(recipe, key, paper)]


def is_input(recipe: Recipe, key: str, paper: object) -> bool:
    """Say whether a setting is an input, which the user may fill without departing from the paper."""
    is_file = isinstance(paper, str) and paper.endswith((".txt", ".tsv"))  # a file of the collection
    return (is_file or paper in ("", [])) and key not in recipe.protocol


def _differences(key: str, paper: object, used: object) -> list[str]:
    """Return the difference in a setting, or in each key of a table."""
    if not isinstance(paper, dict) or not isinstance(used, dict):
        published = "all" if (key, paper) == ("queries", 0) else shown(paper) if paper not in ("", []) else "none"
        return [] if paper == used else [f"{key} {shown(used)}, paper {published}"]
    parts = [(f"{key}.{part}", paper.get(part, "none"), used.get(part, "none")) for part in {**paper, **used}]
    return [line for part in parts for line in _differences(*part)]


def lines(recipe: Recipe, rows: Sequence[ObtainedRow], comparable: bool) -> list[ResultRow]:
    """Put the program's rows beside the published rows of the same name."""
    obtained = {row.name: row for row in rows}
    if len(obtained) < len(rows):
        raise LongRankError(f"{recipe.program} gives two rows of one name")
    tested = _tests(recipe, rows)
    compared = []
    for expected in recipe.expected:
        row = obtained.get(expected.row)
        compared.append(_line(recipe, expected, row, tested.get(expected.row, {}), comparable))
    published = {expected.row for expected in recipe.expected}
    others = [row for row in rows if row.name not in published]
    return compared + [ResultRow(row.name, {}, row.values, {}, tested.get(row.name, {}), None, row) for row in others]


def _line(
    recipe: Recipe, expected: Expected, row: ObtainedRow | None, p: Mapping[str, float | None], comparable: bool
) -> ResultRow:
    values = {} if row is None else row.values
    verdicts = {
        column: _verdict(
            published,
            values.get(column),
            _tolerance(recipe, expected, column),
            comparable and column not in recipe.hardware,
        )
        for column, published in expected.values.items()
    }
    return ResultRow(expected.row, expected.values, values, verdicts, p, expected, row)


def _tolerance(recipe: Recipe, expected: Expected, column: str) -> float:
    """Return the tolerance of a figure: its row's, else its column's, else the recipe's.

    For quantities, the recipe's tolerance is relative, and any value that rounds to the published figure matches.
    """
    own = recipe.tolerances.get(column) if expected.tolerance is None else expected.tolerance
    if own is not None:
        return own
    if column in recipe.measures:
        return recipe.tolerance
    published = expected.values[column]
    decimals = 0 if published == round(published) else len(repr(published).partition(".")[2])
    return float(max(recipe.tolerance * abs(published), 0.5 * 10**-decimals))


def _verdict(published: float, obtained: float | None, tolerance: float, comparable: bool) -> Verdict:
    if obtained is None:
        return "not obtained"
    if not comparable:
        return "not comparable here"
    if abs(obtained - published) <= tolerance + 1e-9:
        return "match"
    return "lower" if obtained < published else "higher"


def _tests(recipe: Recipe, rows: Sequence[ObtainedRow]) -> dict[str, dict[str, float | None]]:
    """Return row -> measure -> p, for every ranking that the paper's test compares with a baseline."""
    significance = recipe.significance
    if significance is None:
        return {}
    ranked = {row.name: row for row in rows if row.per_query}
    baselines = {name: ranked[base] for name in ranked if (base := significance.baseline_of(name)) in ranked}
    compared = [ranked[name] for name in baselines]
    test = t_test if significance.test == "t" else randomization_test
    correction = None if significance.correction == "none" else significance.correction
    p_values: dict[str, dict[str, float | None]] = {row.name: {} for row in compared}
    for measure in recipe.measures:
        p = [test(differences(row.per_query[measure], baselines[row.name].per_query[measure])) for row in compared]
        for row, value in zip(compared, corrected(p, correction, len(compared)), strict=True):
            p_values[row.name][measure] = value
    return p_values


def as_json(result: Result, commands: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return the content of ``results.json``."""
    return {
        "recipe": result.name,
        "paper": result.recipe.paper,
        "item": result.recipe.item,
        "about": result.recipe.about,
        "collection": result.collection,
        "queries": result.n_queries,
        "models": dict(result.models),
        "settings": result.recipe.settings,
        "departures": list(result.departures),
        "given": list(result.inputs),
        "rows": [_row(line) for line in result.lines],
        "commands": [list(command) for command in commands],
    }


def _row(line: ResultRow) -> dict[str, Any]:
    values: dict[str, Any] = {"row": line.name, "published": dict(line.published), "obtained": dict(line.obtained)}
    if line.verdicts:
        values["verdicts"] = dict(line.verdicts)
    if line.p:
        values["p"] = dict(line.p)
    if line.expected is not None and (line.expected.reason or line.expected.note):
        values["remark"] = line.expected.reason or line.expected.note
    if line.row is not None and line.row.x is not None:
        values |= {"series": line.row.series, "x": line.row.x}
    return values
