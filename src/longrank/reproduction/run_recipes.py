"""Run recipes in one folder, and summarise several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from longrank.collections.collection import Collection
from longrank.engines import Engine
from longrank.errors import LongRankError
from longrank.reproduction.folders import reproducing
from longrank.reproduction.phases import RunCommand
from longrank.reproduction.recipe_tasks import RecipeTask, obtained
from longrank.reproduction.report import as_text
from longrank.reproduction.results import Result
from longrank.reproduction.selection import SelectedRecipe
from longrank.reproduction.summary import (
    RecipeOutcome,
    finished_before,
    no_outcome,
    outcome_in,
    summary_text,
    write_summary,
)
from longrank.types import Notes

Tell = Callable[[str], object]
"""Takes a line of progress."""


class Reproduction(NamedTuple):
    """Recipes as they were obtained; printed as text, the table of one recipe or a summary of several.

    Attributes:
        folder: holds a folder with a report for each recipe, and ``index.html`` if there are several.
        results: recipe -> its rows beside the published figures.
        failures: recipe -> the error that ended it.
        outcomes: counts of verdicts, for each of several recipes.
        notes: remarks on accepted input.
    """

    folder: Path
    results: Mapping[str, Result]
    failures: Mapping[str, LongRankError]
    outcomes: Sequence[RecipeOutcome]
    notes: Notes

    def __str__(self) -> str:
        return summary_text(self.outcomes) if self.outcomes else "".join(map(as_text, self.results.values()))


def run_recipes(
    selected: Sequence[SelectedRecipe],
    folder: Path,
    collection: Collection,
    run: RunCommand,
    *,
    tell: Tell,
    notes: Notes,
    engine: Engine | None = None,
) -> Reproduction:
    """Run recipes in a folder that this call locks; several recipes get a summary, and one that fails stops no other.

    Args:
        selected: the recipes.
        folder: the folder of all recipes.
        collection: the collection.
        run: runs the arguments of a ``longrank`` command line.
        tell: called with each line of progress.
        notes: collects remarks on accepted input.
        engine: runs recipes, each by a worker; None: this process, one after the other.

    Raises:
        InputError: the folder holds something else or belongs to another collection.
        IntegrityError: a file of the folder is damaged.
        LongRankError: the only recipe failed.
    """
    done = Reproduction(folder, results := {}, failures := {}, outcomes := [], notes)

    several, runnable = len(selected) > 1, [recipe for recipe in selected if recipe.recipe.program is not None]
    with reproducing(folder, collection):
        found = obtained(RecipeTask(folder, collection, run), runnable if several else selected, engine)
        for number, recipe in enumerate(selected, 1):
            if several:
                tell(f"recipe {number} of {len(selected)}: {recipe.name}")
            if several and recipe.recipe.program is None:
                outcomes.append(no_outcome(recipe, f"nothing to run: {recipe.recipe.expected[0].reason}"))
                continue
            result, own = next(found)
            if isinstance(result, LongRankError):
                if not several:
                    raise result
                tell(f"{recipe.name}: {result}; the other recipes go on")
                outcomes.append(no_outcome(recipe, f"failed: {result}"))
                failures[recipe.name] = result
                continue
            results[recipe.name] = result
            tell_notes(own, tell)
            notes.merge(own)
            tell(f"{folder / recipe.place}: report.html, report.md, results.json")
            if several:
                outcomes.append(outcome_in(folder, recipe.place))
        if not several:
            return done
        earlier = finished_before(folder, {recipe.place for recipe in selected})
        write_summary([*outcomes, *earlier], collection.name, folder)
    tell(f"{folder}: index.html, summary.md")
    return done


def tell_notes(notes: Notes, tell: Tell) -> None:
    """Tell each note as a line."""
    for line in notes.lines():
        tell(f"note: {line}")
