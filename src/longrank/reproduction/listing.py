"""What can be reproduced: the recipes by paper, and what each needs, in lines of a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from longrank.collections.catalogue import catalogue
from longrank.reproduction.recipe import Recipe
from longrank.reproduction.results import is_input

_INDENT = " " * 6


def listing(recipes: Sequence[tuple[str, Recipe]], width: int = 100) -> str:
    """Return recipes by name as lines of at most `width` characters, grouped by paper.

    Names are not broken, so that they can be copied.
    """
    lines: list[str] = []
    for paper in dict.fromkeys(recipe.paper for _, recipe in recipes):
        own = [(name, recipe) for name, recipe in recipes if recipe.paper == paper]
        lines += ["", f"{paper}: {len(own)} recipe{'s' * (len(own) != 1)}"]
        for name, recipe in own:
            lines += _entry(name, recipe, width)
    return "\n".join([*lines[1:], "", *textwrap.wrap(_LEGEND, width)]) + "\n"


_LEGEND = (
    "on: the paper's collection, or the open one on which the recipe shows how rows compare. models: roles; "
    "--model ROLE=FOLDER says which to use instead of the published one. inputs: settings that name files or folders "
    "of yours, if you have them (--set); a file of the collection's folder needs its name alone."
)


def _entry(name: str, recipe: Recipe, width: int) -> list[str]:
    return [f"  {name}  {recipe.item}", *_wrapped(recipe.about, width), *_wrapped(_needs(recipe), width)]


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=_INDENT,
        subsequent_indent=f"{_INDENT}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _needs(recipe: Recipe) -> str:
    if recipe.program is None:
        return f"nothing to run: {recipe.expected[0].reason}"
    known = catalogue().get(recipe.collection)
    on = f"on {recipe.collection} ({known.licence})" if known else f"on {recipe.collection}"
    instead = f" or {recipe.open}" if recipe.open and recipe.open != recipe.collection else ""
    models = f"; models {', '.join(recipe.models)}" if recipe.models else ""
    inputs = [key for key, value in recipe.settings.items() if is_input(recipe, key, value)]
    files = f"; inputs {', '.join(inputs)}" if inputs else ""
    return f"{on}{instead}{models}{files}"
