"""Select recipes, and give each the settings and models that it knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.registries import suggestion
from longrank.reproduction.recipe import Recipe
from longrank.reproduction.recipe_files import load_recipe


@dataclass(frozen=True, slots=True)
class SelectedRecipe:
    """A recipe with the settings and models to use.

    Attributes:
        name: the recipe's name, or a TOML file.
        recipe: the recipe, with the settings to use.
        changes: changed setting -> (the paper's value, the new value).
        models: role -> model that replaces the published one.
    """

    name: str
    recipe: Recipe
    changes: Mapping[str, tuple[Any, Any]]
    models: Mapping[str, str]

    @property
    def place(self) -> Path:
        """The recipe's folder, relative to the folder of all recipes."""
        return Path(Path(self.name).stem if self.name.endswith(".toml") else self.name)


def select_recipes(names: Sequence[str], assignments: Sequence[str], models: Mapping[str, str]) -> list[SelectedRecipe]:
    """Read recipes; each takes the settings and models that it knows.

    Args:
        names: recipes, or TOML files.
        assignments: ``key=value`` of recipes' settings.
        models: role -> model.

    Raises:
        InputError: a fault in a recipe, a setting or role that no recipe knows, or two files of one name.
    """
    recipes = [load_recipe(name)[0] for name in names]
    for assignment in assignments:
        _check_known(_key(assignment), [recipe.settings for recipe in recipes], "setting", assignment)
    for role in models:
        _check_known(role, [recipe.models for recipe in recipes], "model", role)
    selected = [_selected(name, recipe, assignments, models) for name, recipe in zip(names, recipes, strict=True)]
    places = [recipe.place for recipe in selected]
    duplicate = next((place for place in places if places.count(place) > 1), None)
    if duplicate is not None:
        raise InputError("two recipes would be written to one folder", got=str(duplicate), fix="rename a file")
    return selected


def _selected(name: str, recipe: Recipe, assignments: Sequence[str], models: Mapping[str, str]) -> SelectedRecipe:
    changed, changes = load_recipe(name, [each for each in assignments if _key(each) in recipe.settings])
    roles = {role: model for role, model in models.items() if role in recipe.models}
    return SelectedRecipe(name, changed, changes, roles)


def _key(assignment: str) -> str:
    return assignment.partition("=")[0].strip().split(".")[0]


def _check_known(name: str, families: Sequence[Iterable[str]], kind: str, got: str) -> None:
    known = dict.fromkeys(key for family in families for key in family)
    if name not in known:
        subject = "the recipe has no such" if len(families) == 1 else f"none of the {len(families)} recipes has such a"
        fix = suggestion(name, known) if known else f"there is no {kind}"
        raise InputError(f"{subject} {kind}", got=got, fix=fix)


def for_collection(recipes: Sequence[SelectedRecipe], named: Sequence[str], collection: str) -> list[SelectedRecipe]:
    """Return the recipes of a collection, or whose open substitute it is; all recipes, if there are none.

    Args:
        recipes: recipes, of papers for instance.
        named: recipes that stay, since the user named them one by one.
        collection: its name in the catalogue, or another name.
    """
    fitting = [each for each in recipes if collection in (each.recipe.collection, each.recipe.open)]
    return [each for each in recipes if each.name in named or each in fitting] if fitting else list(recipes)
