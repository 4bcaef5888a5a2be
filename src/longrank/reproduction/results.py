"""Results: what was obtained beside what was published, with a verdict on each figure.

A figure can be compared only if it was obtained as the paper did: on its collection, with its models and settings.
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
        name: of the row.
        published: measure -> figure.
        obtained: measure -> figure.
        verdicts: measure -> verdict, for each published figure.
        p: measure -> p of the paper's test against its row, corrected as the paper does.
        expected: the recipe's row; None: only ours.
        row: the program's row; None: not obtained.
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
        name: of the recipe.
        recipe: with the settings that were used.
        collection: what it was run on.
        n_queries: how many queries it has here.
        models: role -> the model that was used.
        departures: in what it differs from the paper; with any, nothing is comparable.
        lines: in the paper's order; what the paper has not, below.
        given: inputs that the recipe leaves open, and the user gave.
    """

    name: str
    recipe: Recipe
    collection: str
    n_queries: int
    models: Mapping[str, str]
    departures: Sequence[str]
    lines: Sequence[ResultRow]
    given: Sequence[str] = ()


def departures(
    recipe: Recipe, collection: str, models: Mapping[str, str], changes: Mapping[str, tuple[Any, Any]]
) -> list[str]:
    """Say in what a reproduction differs from the paper.

    Args:
        recipe: the paper's.
        collection: the catalogue's key of what it runs on, or the name of another.
        models: role -> model, of those that the user gave.
        changes: setting -> (the paper's value, the value used); inputs (`inputs_given`) do not depart.
    """
    found = [] if collection == recipe.collection else [f"collection {collection}, paper {recipe.collection}"]
    found += [
        f"{role} {name}, paper {recipe.models[role]}" for role, name in models.items() if name != recipe.models[role]
    ]
    settled = {key: values for key, values in changes.items() if not is_input(recipe, key, values[0])}
    return found + [line for key, (paper, used) in settled.items() for line in _differences(key, paper, used)]


def inputs_given(recipe: Recipe, changes: Mapping[str, tuple[Any, Any]]) -> list[str]:
    """Say which inputs were given that the recipe leaves open, such as other topics to learn from.

    Args:
        recipe: the paper's.
        changes: setting -> (the paper's value, the value used).
    """
    return [f"{key} {shown(used)}" for key, (paper, used) in changes.items() if is_input(recipe, key, paper)]


def is_input(recipe: Recipe, key: str, paper: object) -> bool:
    """Say whether a setting with this value of the paper's is for the user to fill, and no departure when filled."""
    is_file = isinstance(paper, str) and paper.endswith((".txt", ".tsv"))  # the name of one, as the collection has it
    return (is_file or paper in ("", [])) and key not in recipe.protocol


def _differences(key: str, paper: object, used: object) -> list[str]:
    """Return what differs of a setting; of a table, each of its keys that does."""
    if not isinstance(paper, dict) or not isinstance(used, dict):
        wanted = "all" if (key, paper) == ("queries", 0) else shown(paper) if paper not in ("", []) else "none"
        return [] if paper == used else [f"{key} {shown(used)}, paper {wanted}"]
    both = [(f"{key}.{part}", paper.get(part, "none"), used.get(part, "none")) for part in {**paper, **used}]
    return [line for one in both for line in _differences(*one)]


def lines(recipe: Recipe, rows: Sequence[ObtainedRow], comparable: bool) -> list[ResultRow]:
    """Put the program's rows beside the published ones of the same name."""
    obtained = {row.name: row for row in rows}
    if len(obtained) < len(rows):
        raise LongRankError(f"{recipe.program} gives two rows of one name")
    tested = _tests(recipe, rows)
    found = []
    for expected in recipe.expected:
        row = obtained.get(expected.row)
        found.append(_line(recipe, expected, row, tested.get(expected.row, {}), comparable))
    published = {expected.row for expected in recipe.expected}
    own = [row for row in rows if row.name not in published]
    return found + [ResultRow(row.name, {}, row.values, {}, tested.get(row.name, {}), None, row) for row in own]


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
    """Return how far a figure may lie off: as its row says, else its column, else the recipe.

    Of a quantity of which nothing is said, the recipe's tolerance is a share; one that rounds to the published figure
    matches, too.
    """
    said = recipe.tolerances.get(column) if expected.tolerance is None else expected.tolerance
    if said is not None:
        return said
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
    """Return row -> measure -> p, of every ranking that the paper's test compares with another one."""
    how = recipe.significance
    if how is None:
        return {}
    ranked = {row.name: row for row in rows if row.per_query}
    baselines = {name: ranked[base] for name in ranked if (base := how.baseline_of(name)) in ranked}
    others = [ranked[name] for name in baselines]
    test = t_test if how.test == "t" else randomization_test
    correction = None if how.correction == "none" else how.correction
    found: dict[str, dict[str, float | None]] = {row.name: {} for row in others}
    for measure in recipe.measures:
        p = [test(differences(row.per_query[measure], baselines[row.name].per_query[measure])) for row in others]
        for row, value in zip(others, corrected(p, correction, len(others)), strict=True):
            found[row.name][measure] = value
    return found


def as_json(result: Result, commands: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return a result as what goes into ``results.json``."""
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
        "given": list(result.given),
        "rows": [_row(line) for line in result.lines],
        "commands": [list(command) for command in commands],
    }


def _row(line: ResultRow) -> dict[str, Any]:
    found: dict[str, Any] = {"row": line.name, "published": dict(line.published), "obtained": dict(line.obtained)}
    if line.verdicts:
        found["verdicts"] = dict(line.verdicts)
    if line.p:
        found["p"] = dict(line.p)
    if line.expected is not None and (line.expected.reason or line.expected.note):
        found["remark"] = line.expected.reason or line.expected.note
    if line.row is not None and line.row.x is not None:
        found |= {"series": line.row.series, "x": line.row.x}
    return found
