"""Plan a recipe: list its commands without running them, and refuse settings and measures that do not fit it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from longrank.collections.collection import Collection
from longrank.errors import InputError, first_line
from longrank.evaluation.names import parse_measure
from longrank.registries import lookup
from longrank.reproduction.inputs import QUERIES, fold_names
from longrank.reproduction.papers import PROGRAMS
from longrank.reproduction.phases import Phases
from longrank.reproduction.recipe import Recipe
from longrank.reproduction.rows import ObtainedRow
from longrank.reproduction.selection import SelectedRecipe
from longrank.reproduction.workbench import Workbench


def dry_run(
    selected: SelectedRecipe, folder: Path, collection: Collection, inputs: Mapping[str, str]
) -> tuple[Phases, Workbench]:
    """Return the commands that the program would run, and the workbench with the models and files it needs.

    Raises:
        InputError: the settings give no row or two rows of one name, or do not fit the program; a measure is unknown or
            named twice; or as the program.
    """
    _check_measures(selected.recipe)
    phases = Phases(folder, _refuse, dry=True)
    bench = bench_of(selected, folder, collection, inputs, phases)
    with _fitting(selected):
        names = [row.name for row in program_of(selected)(bench)]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise InputError("the recipe's settings give two rows of one name", got=duplicate, fix="name each value once")
    if not names:
        raise InputError("the recipe's settings give no row", got=selected.name)
    return phases, bench


def _check_measures(recipe: Recipe) -> None:
    parsed = [parse_measure(name, recipe.evaluate.level) for name in recipe.measures]
    for number, (name, measure) in enumerate(zip(recipe.measures, parsed, strict=True)):
        if measure in parsed[:number]:
            got = f"{recipe.measures[parsed.index(measure)]}, {name}"
            raise InputError(f"{recipe.paper}, {recipe.item}: a measure is named twice", got=got)


@contextmanager
def _fitting(selected: SelectedRecipe) -> Iterator[None]:
    """Refuse settings that a program cannot use: a setting that it needs is missing, or a value has another form.

    Raises:
        InputError: names the recipe.
    """
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        recipe = selected.recipe
        what = f"{recipe.paper}, {recipe.item}: the program {recipe.program} needs other settings"
        got = f"no setting {error.args[0]}" if isinstance(error, KeyError) else first_line(error)
        fix = "longrank reproduce --list names recipes that have all settings"
        raise InputError(what, got=got, fix=fix) from error


def _refuse(command: object, number: str) -> None:
    raise AssertionError("a dry run runs nothing")


def program_of(selected: SelectedRecipe) -> Callable[[Workbench], Iterator[ObtainedRow]]:
    """Return the program of a recipe.

    Raises:
        InputError: the recipe has no program; the message says why.
    """
    recipe = selected.recipe
    if recipe.program is None:
        what = f"{recipe.paper}, {recipe.item}: the recipe has no program"
        raise InputError(what, got=selected.name, fix=recipe.expected[0].reason)
    return lookup(PROGRAMS, recipe.program, "program")


def bench_of(
    selected: SelectedRecipe, folder: Path, collection: Collection, inputs: Mapping[str, str], phases: Phases
) -> Workbench:
    """Return the workbench of a recipe."""
    return Workbench(
        selected.recipe,
        folder / selected.place,
        folder / "index",
        models=selected.models,
        phases=phases,
        scores=folder / "scores.cache",
        collection=collection,
        fold_names=fold_names(inputs),
        n_queries=inputs[QUERIES].count("\n"),
    )
