"""A list of the recipes by paper, with the collection, models and inputs that each needs."""

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
        of_paper = [(name, recipe) for name, recipe in recipes if recipe.paper == paper]
        lines += ["", f"{paper}: {len(of_paper)} recipe{'s' * (len(of_paper) != 1)}"]
        for name, recipe in of_paper:
            lines += [f"  {name}  {recipe.item}", *_wrapped(recipe.about, width), *_wrapped(_needs(recipe), width)]
    return "\n".join([*lines[1:], "", *textwrap.wrap(_LEGEND, width)]) + "\n"


_LEGEND = (
    "on: the paper's collection, or an open collection that shows how rows compare. models: roles; "
    "--model ROLE=FOLDER replaces the published model. inputs: settings that name your files or folders, if you have "
    "them (--set); for a file in the collection's folder the name is enough."
)


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
    entry = catalogue().get(recipe.collection)
    on = f"on {recipe.collection} ({entry.licence})" if entry else f"on {recipe.collection}"
    instead = f" or {recipe.open}" if recipe.open and recipe.open != recipe.collection else ""
    models = f"; models {', '.join(recipe.models)}" if recipe.models else ""
    inputs = [key for key, value in recipe.settings.items() if is_input(recipe, key, value)]
    files = f"; inputs {', '.join(inputs)}" if inputs else ""
    return f"{on}{instead}{models}{files}"
