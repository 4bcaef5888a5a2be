"""Recipes as tasks of an engine; their files are those of a single process, apart from seconds."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from longrank.collections.collection import Collection
from longrank.engines import Engine, in_order
from longrank.errors import InputError, LongRankError
from longrank.networks.threads import threads_here, use_threads
from longrank.reproduction.folders import IDENTITY
from longrank.reproduction.phases import RunCommand
from longrank.reproduction.results import Result
from longrank.reproduction.run_recipe import build_index, run_recipe
from longrank.reproduction.selection import SelectedRecipe
from longrank.types import Notes

Obtained: TypeAlias = tuple[Result | LongRankError, Notes]
"""The rows of a recipe, or the error that ended it, and the remarks on it."""


@dataclass(frozen=True)
class RecipeTask:
    """A function of recipes, which runs or resumes one.

    Attributes:
        folder: the folder of all recipes.
        collection: the collection.
        run: runs the arguments of a ``longrank`` command line; for an engine, picklable.
        threads: CPU threads of the commands in a worker, on which the last bits of trained weights depend; None: as
            they are.
    """

    folder: Path
    collection: Collection
    run: RunCommand
    threads: int | None = None

    def __call__(self, recipe: SelectedRecipe) -> Obtained:
        """Run a recipe.

        Raises:
            InputError: the worker's node does not see the folder.
        """
        if not (self.folder / IDENTITY).is_file():
            what = f"the node {platform.node()} does not see the folder of the recipes"
            raise InputError(what, path=self.folder.absolute(), fix="choose a folder that all nodes share")
        if self.threads is not None:
            os.environ["OMP_NUM_THREADS"] = str(self.threads)  # for PyTorch that is loaded later, here or in a command
            use_threads(self.threads)
        notes = Notes()
        try:
            return run_recipe(recipe, self.folder, self.collection, self.run, notes), notes
        except LongRankError as error:  # the other recipes go on
            return error, notes


def obtained(task: RecipeTask, recipes: Sequence[SelectedRecipe], engine: Engine | None) -> Iterator[Obtained]:
    """Yield the rows or the error of each recipe, in order, by the workers of an engine or by this process.

    Raises:
        LongRankError: the index that the recipes share cannot be built.
    """
    if engine is None:
        yield from map(task, recipes)
        return
    build_index(recipes, task.folder, task.collection, task.run)
    function = RecipeTask(task.folder, task.collection, task.run, threads_here())
    yield from in_order(engine.each(function, recipes))
