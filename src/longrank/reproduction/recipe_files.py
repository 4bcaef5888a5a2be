"""Recipe files: one TOML file for each table or figure of a paper, ``recipes/PAPER/NAME.toml``.

``paper.toml`` beside them holds groups of keys and decisions that tables share. ``shared = "NAME"`` in a table takes a
group; the table's own keys win, section by section. ``decisions`` lists names of decisions; the topic of a decision is
its name without a qualifier in parentheses. A file with ``paper`` stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from longrank.config import read_toml, validated
from longrank.errors import InputError
from longrank.registries import lookup
from longrank.reproduction.changes import changed_settings
from longrank.reproduction.recipe import Recipe

RECIPES = Path(__file__).parent / "recipes"
PAPER = "paper.toml"


class _Paper(BaseModel):
    """Shared parts: group -> keys of a table; decision -> ``text`` and ``choice``."""

    model_config = ConfigDict(extra="forbid")
    paper: str
    shared: dict[str, dict[str, Any]] = Field(default_factory=dict)
    decisions: dict[str, dict[str, str]] = Field(default_factory=dict)


class _Table(BaseModel):
    """Keys of a table that refer to its paper; the other keys are a recipe's."""

    shared: str | None = None
    decisions: list[str] = Field(default_factory=list)


def recipe_names() -> list[str]:
    """Return the names of the recipes that come with the package: ``parade/table2-robust04-title``."""
    paths = [path.relative_to(RECIPES) for path in RECIPES.glob("*/*.toml") if path.name != PAPER]
    return sorted((str(path.with_suffix("")) for path in paths), key=_by_number)


def _by_number(name: str) -> list[tuple[str, int]]:
    """Return a sort key that puts table2 before table10."""
    return [(text, int(number or 0)) for text, number in re.findall(r"(\D*)(\d*)", name)]


def named(names: Iterable[str]) -> list[str]:
    """Return recipes, each once.

    Args:
        names: recipes, TOML files, papers (``parade``) or tables with all conditions (``parade/table2``).

    Raises:
        InputError: no such recipe.
    """
    known = recipe_names()
    recipes: dict[str, None] = {}
    for name in names:
        matches = [name] if name in known else [recipe for recipe in known if recipe.startswith(_prefixes(name))]
        if not matches and not name.endswith(".toml"):
            raise InputError("unknown recipe", got=name, fix=f"{_near(name, known)}; longrank reproduce --list")
        recipes.update(dict.fromkeys(matches or [name]))
    return list(recipes)


def _prefixes(name: str) -> tuple[str, str]:
    name = name.rstrip("/").lower()
    return f"{name}/", f"{name}-"


def load_recipe(name_or_path: str, assignments: Iterable[str] = ()) -> tuple[Recipe, dict[str, tuple[Any, Any]]]:
    """Read a recipe and change settings.

    Args:
        name_or_path: one of `recipe_names`, or a TOML file.
        assignments: ``key=value`` for keys of ``[settings]``.

    Returns:
        The recipe, and changed setting -> (the paper's value, the new value).

    Raises:
        InputError: no such recipe, a fault in its file, or an unknown key.
    """
    path = RECIPES / f"{name_or_path}.toml"
    if name_or_path.endswith(".toml"):
        path = Path(name_or_path)
    recipe = validated(Recipe, _resolved(path), name_or_path)
    settings = changed_settings(recipe.settings, assignments, f"{recipe.paper}, {recipe.item}")
    paper = recipe.settings
    changes = {key: (paper[key], value) for key, value in settings.items() if paper[key] != value}
    return recipe.model_copy(update={"settings": settings}), changes


def _resolved(path: Path) -> dict[str, Any]:
    """Read a recipe's file, with what it takes of its paper."""
    table, beside = read_toml(path), path.with_name(PAPER)
    if "paper" in table or not beside.is_file():
        return table
    paper, takes = validated(_Paper, read_toml(beside), str(beside)), validated(_Table, table, str(path))
    group = lookup(paper.shared, takes.shared, f"group of {beside}") if takes.shared else {}
    named = {name: lookup(paper.decisions, name, f"decision of {beside}") for name in takes.decisions}
    decisions = [{"about": re.sub(r" \([^()]*\)$", "", name), **decision} for name, decision in named.items()]
    own = {key: value for key, value in table.items() if key not in _Table.model_fields}
    return {"paper": paper.paper, **_merged(group, own), "decision": [*decisions, *own.get("decision", ())]}


def _merged(group: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of both, section by section; those of `own` come first."""
    sections = {
        k: _merged(group[k], v) for k, v in own.items() if isinstance(v, dict) and isinstance(group.get(k), dict)
    }
    return {**group, **own, **sections}


def _near(name: str, known: Iterable[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.4)
    return f"did you mean {' or '.join(near)}?" if near else "no recipe has a similar name"
