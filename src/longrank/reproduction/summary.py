"""A summary of the recipes in a folder: verdict counts, with links to the reports.

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
    """The outcome of a recipe.

    Attributes:
        name: the recipe's name.
        place: the recipe's folder, relative to the folder of all recipes.
        shows: the paper and its table or figure.
        about: title of the table or figure.
        counts: verdict -> number of figures.
        instead: reason why there are no figures.
    """

    name: str
    place: Path
    shows: str
    about: str
    counts: Mapping[Verdict, int]
    instead: str = ""


def no_outcome(selected: SelectedRecipe, reason: str) -> RecipeOutcome:
    """Return the outcome of a recipe without figures."""
    recipe = selected.recipe
    return RecipeOutcome(selected.name, selected.place, f"{recipe.paper}, {recipe.item}", recipe.about, {}, reason)


def outcome_in(folder: Path, place: Path) -> RecipeOutcome:
    """Read the outcome of a recipe from its ``results.json``.

    Raises:
        IntegrityError: the file is damaged.
    """
    path = folder / place / "results.json"
    try:
        result = json.loads(path.read_bytes())
        shows = f"{result['paper']}, {result['item']}"
        counts = Counter(verdict for row in result["rows"] for verdict in row.get("verdicts", {}).values())
        return RecipeOutcome(result["recipe"], place, shows, result["about"], counts)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise IntegrityError(f"{path}: is not a recipe's result; run the recipe again, or delete its folder") from error


def finished_before(folder: Path, now: Collection[Path]) -> list[RecipeOutcome]:
    """Return the outcomes of recipes of earlier calls; `now` are the places of this call's recipes.

    Raises:
        IntegrityError: a recipe's ``results.json`` is damaged.
    """
    files = sorted([*folder.glob("*/results.json"), *folder.glob("*/*/results.json")])
    places = [path.parent.relative_to(folder) for path in files]
    return [outcome_in(folder, place) for place in places if place not in now]


def write_summary(outcomes: Sequence[RecipeOutcome], collection: str, folder: Path) -> None:
    """Write the summary as an HTML page and as Markdown, with links to the reports."""
    for name, written in (("summary.md", _markdown(outcomes, collection)), ("index.html", _html(outcomes, collection))):
        with atomic_write(folder / name, "w") as stream:
            stream.write(written)


def summary_text(outcomes: Sequence[RecipeOutcome]) -> str:
    """Return the summary for a terminal."""
    body = [[each.name, each.shows, *(_count(each, verdict) for verdict in VERDICTS)] for each in outcomes]
    reasons = [f"{each.name}: {each.instead}\n" for each in outcomes if each.instead]
    return f"{aligned([['recipe', 'shows', *VERDICTS], *body])}\n{''.join(reasons)}"


def _markdown(outcomes: Sequence[RecipeOutcome], collection: str) -> str:
    lines = [["recipe", "shows", *VERDICTS, ""], ["---", "---", *("---:" for _ in VERDICTS), "---"]]
    for outcome in outcomes:
        name = markdown_text(outcome.name)
        link = name if outcome.instead else f"[{name}]({quote(str(outcome.place / 'report.md'))})"
        shows = markdown_text(f"{outcome.shows}: {outcome.about}")
        lines.append([link, shows, *(_count(outcome, v) for v in VERDICTS), markdown_text(outcome.instead)])
    return f"# Reproductions on {markdown_text(collection)}\n\n{pipes(lines)}"


def _html(outcomes: Sequence[RecipeOutcome], collection: str) -> str:
    words = '<th scope="col" class="words">recipe</th><th scope="col" class="words">shows</th>'
    heads = words + "".join(f'<th scope="col">{text(verdict)}</th>' for verdict in VERDICTS)
    head, rows = f"<thead><tr>{heads}</tr></thead>", "\n".join(_row(outcome) for outcome in outcomes)
    return page(
        f"Reproductions on {collection}",
        f"<h1>Reproductions on {text(collection)}</h1>\n"
        f'<p class="about">Number of published figures by verdict; names link to reports.</p>\n'
        f'<div class="wide"><table>\n{head}\n<tbody>\n{rows}\n</tbody>\n</table></div>',
    )


def _row(outcome: RecipeOutcome) -> str:
    name = text(outcome.name)
    link = name if outcome.instead else f'<a href="{text(quote(str(outcome.place / "report.html")))}">{name}</a>'
    shows = f'<td class="words"><b>{text(outcome.shows)}</b> {text(outcome.about)}</td>'
    if outcome.instead:
        cells = f'<td class="words" colspan="{len(VERDICTS)}">{text(outcome.instead)}</td>'
    else:
        cells = "".join(_cell(outcome, verdict) for verdict in VERDICTS)
    return f'<tr><th scope="row" class="name">{link}</th>{shows}{cells}</tr>'


def _cell(outcome: RecipeOutcome, verdict: Verdict) -> str:
    kind = verdict_class(verdict) if verdict in outcome.counts else ""
    return f'<td class="{kind}">{_count(outcome, verdict)}</td>'


def _count(outcome: RecipeOutcome, verdict: Verdict) -> str:
    return str(outcome.counts[verdict]) if verdict in outcome.counts else ""
