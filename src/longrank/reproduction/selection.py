"""What is asked for: recipes, with the settings and models that each of them knows among those given for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longrank.config import suggestion
from longrank.errors import InputError
from longrank.reproduction.recipe import Recipe
from longrank.reproduction.recipe_files import load_recipe


@dataclass(frozen=True, slots=True)
class SelectedRecipe:
    """A recipe as it is to be run.

    Attributes:
        name: the recipe's, or a TOML file.
        recipe: with the settings to use.
        changes: setting -> (the paper's value, the value to use), of those that differ.
        models: role -> model, where another than the published one is to be used.
    """

    name: str
    recipe: Recipe
    changes: Mapping[str, tuple[Any, Any]]
    models: Mapping[str, str]

    @property
    def place(self) -> Path:
        """Where its folder is, in the folder of all."""
        return Path(Path(self.name).stem if self.name.endswith(".toml") else self.name)


def select_recipes(names: Sequence[str], assignments: Sequence[str], models: Mapping[str, str]) -> list[SelectedRecipe]:
    """Read recipes; each takes of the settings and models what it knows.

    Args:
        names: of recipes, or TOML files.
        assignments: ``key=value`` of recipes' settings.
        models: role -> model.

    Raises:
        InputError: a fault in a recipe, a setting or role that none of them knows, or two files of one name.
    """
    read = [(name, load_recipe(name)[0]) for name in names]
    recipes = [recipe for _, recipe in read]
    for assignment in assignments:
        _known(_key(assignment), (recipe.settings for recipe in recipes), "setting", assignment)
    for role in models:
        _known(role, (recipe.models for recipe in recipes), "model", role)
    asked = [_asked(name, recipe, assignments, models) for name, recipe in read]
    places = [one.place for one in asked]
    twice = next((place for place in places if places.count(place) > 1), None)
    if twice is not None:
        raise InputError("two recipes would be written to one folder", got=str(twice), fix="rename a file")
    return asked


def _asked(name: str, recipe: Recipe, assignments: Sequence[str], models: Mapping[str, str]) -> SelectedRecipe:
    changed, changes = load_recipe(name, [one for one in assignments if _key(one) in recipe.settings])
    return SelectedRecipe(
        name, changed, changes, {role: model for role, model in models.items() if role in recipe.models}
    )


def _key(assignment: str) -> str:
    return assignment.partition("=")[0].strip().split(".")[0]


def _known(name: str, families: Iterable[Mapping[str, object]], kind: str, got: str) -> None:
    families = list(families)
    known = dict.fromkeys(key for family in families for key in family)
    if name in known:
        return
    who = "the recipe" if len(families) == 1 else f"none of the {len(families)} recipes"
    has = "has no such" if len(families) == 1 else "has such a"
    raise InputError(f"{who} {has} {kind}", got=got, fix=suggestion(name, known) if known else f"there is no {kind}")


def for_collection(asked: Sequence[SelectedRecipe], named: Sequence[str], collection: str) -> list[SelectedRecipe]:
    """Return, of a paper's recipes, those of a collection, or whose open substitute it is; all, if none are.

    Args:
        asked: recipes.
        named: those that were asked for by their own names, which stay.
        collection: its key in the catalogue, or another name.
    """
    of_it = [one for one in asked if collection in (one.recipe.collection, one.recipe.open)]
    return [one for one in asked if one.name in named or one in of_it] if of_it else list(asked)
