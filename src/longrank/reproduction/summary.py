"""A summary of the recipes in a folder: what each came to, and where its report is.

FOLDER/index.html, summary.md
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from longrank.errors import IntegrityError
from longrank.evaluation.render import aligned, markdown_text, pipes
from longrank.reproduction.report_html import page, text, verdict_class
from longrank.reproduction.results import VERDICTS, Verdict
from longrank.reproduction.selection import SelectedRecipe
from longrank.storage import atomic_write


class RecipeOutcome(NamedTuple):
    """What a recipe came to.

    Attributes:
        name: the recipe's.
        place: its folder, in the folder of all.
        shows: the paper and its table or figure.
        about: what that shows.
        counts: verdict -> figures that have it.
        instead: why there are none: it failed, or nothing is to be obtained.
    """

    name: str
    place: Path
    shows: str
    about: str
    counts: Mapping[Verdict, int]
    instead: str = ""


def nothing_of(asked: SelectedRecipe, instead: str) -> RecipeOutcome:
    """Return why a recipe that was asked for came to nothing."""
    recipe = asked.recipe
    return RecipeOutcome(asked.name, asked.place, f"{recipe.paper}, {recipe.item}", recipe.about, {}, instead)


def outcome_in(folder: Path, place: Path) -> RecipeOutcome:
    """Return what a recipe came to that was run in a folder.

    Raises:
        IntegrityError: its ``results.json`` is damaged.
    """
    path = folder / place / "results.json"
    try:
        result = json.loads(path.read_bytes())
        shows = f"{result['paper']}, {result['item']}"
        counts = Counter(verdict for row in result["rows"] for verdict in row.get("verdicts", {}).values())
        return RecipeOutcome(result["recipe"], place, shows, result["about"], counts)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise IntegrityError(f"{path}: is no recipe's result; run it again, or delete its folder") from error


def finished_before(folder: Path, now: Collection[Path]) -> list[RecipeOutcome]:
    """Return what the folder has of recipes that were run before; `now` are places of those that were run now.

    Raises:
        IntegrityError: a recipe's ``results.json`` is damaged.
    """
    files = sorted([*folder.glob("*/results.json"), *folder.glob("*/*/results.json")])
    places = [path.parent.relative_to(folder) for path in files]
    return [outcome_in(folder, place) for place in places if place not in now]


def write_summary(outcomes: Sequence[RecipeOutcome], collection: str, folder: Path) -> None:
    """Write the summary as a page and as Markdown; links lead to the recipes' reports."""
    for name, written in (("summary.md", _markdown(outcomes, collection)), ("index.html", _html(outcomes, collection))):
        with atomic_write(folder / name, "w") as stream:
            stream.write(written)


def summary_text(outcomes: Sequence[RecipeOutcome]) -> str:
    """Return the summary for a terminal."""
    body = [[one.name, one.shows, *(_count(one, verdict) for verdict in VERDICTS)] for one in outcomes]
    besides = [f"{one.name}: {one.instead}\n" for one in outcomes if one.instead]
    return f"{aligned([['recipe', 'shows', *VERDICTS], *body])}\n{''.join(besides)}"


def _markdown(outcomes: Sequence[RecipeOutcome], collection: str) -> str:
    lines = [["recipe", "shows", *VERDICTS, ""], ["---", "---", *("---:" for _ in VERDICTS), "---"]]
    for one in outcomes:
        name = markdown_text(one.name)
        link = name if one.instead else f"[{name}]({quote(str(one.place / 'report.md'))})"
        what = markdown_text(f"{one.shows}: {one.about}")
        lines.append([link, what, *(_count(one, v) for v in VERDICTS), markdown_text(one.instead)])
    return f"# Reproductions on {markdown_text(collection)}\n\n{pipes(lines)}"


def _html(outcomes: Sequence[RecipeOutcome], collection: str) -> str:
    words = '<th scope="col" class="words">recipe</th><th scope="col" class="words">shows</th>'
    heads = words + "".join(f'<th scope="col">{text(one)}</th>' for one in VERDICTS)
    head, rows = f"<thead><tr>{heads}</tr></thead>", "\n".join(_row(one) for one in outcomes)
    return page(
        f"Reproductions on {collection}",
        f"<h1>Reproductions on {text(collection)}</h1>\n"
        f'<p class="about">How many published figures each recipe matched; its name leads to its report.</p>\n'
        f'<div class="wide"><table>\n{head}\n<tbody>\n{rows}\n</tbody>\n</table></div>',
    )


def _row(one: RecipeOutcome) -> str:
    name = text(one.name)
    link = name if one.instead else f'<a href="{text(quote(str(one.place / "report.html")))}">{name}</a>'
    what = f'<td class="words"><b>{text(one.shows)}</b> {text(one.about)}</td>'
    if one.instead:
        came_to = f'<td class="words" colspan="{len(VERDICTS)}">{text(one.instead)}</td>'
    else:
        came_to = "".join(_cell(one, verdict) for verdict in VERDICTS)
    return f'<tr><th scope="row" class="name">{link}</th>{what}{came_to}</tr>'


def _cell(one: RecipeOutcome, verdict: Verdict) -> str:
    kind = verdict_class(verdict) if verdict in one.counts else ""
    return f'<td class="{kind}">{_count(one, verdict)}</td>'


def _count(one: RecipeOutcome, verdict: Verdict) -> str:
    return str(one.counts[verdict]) if verdict in one.counts else ""
