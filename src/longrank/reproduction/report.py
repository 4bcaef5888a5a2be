"""Reports: a result as Markdown and as one HTML page."""

from __future__ import annotations

from longrank.reproduction.results import Line, Result


def as_markdown(result: Result, script: str) -> str:
    """Return a result as Markdown: published beside obtained, what differs, what was decided."""
    recipe = result.recipe
    head = ["row", *(f"{measure} {what}" for measure in recipe.columns for what in ("published", "obtained"))]
    rows = [head, ["---"] * len(head), *(_cells(line, recipe.columns) for line in result.lines)]
    text = [f"# {recipe.paper}, {recipe.item}: {recipe.about}", f"On {result.collection}."]
    text += [f"Not comparable: {'; '.join(result.departures)}."] if result.departures else []
    text += ["\n".join(f"| {' | '.join(row)} |" for row in rows)]
    text += [f"- {one.about}: {one.text} Here: {one.choice}" for one in recipe.decision]
    return "\n\n".join(text) + "\n"


def _cells(line: Line, measures: list[str]) -> list[str]:
    found = [line.name]
    for measure in measures:
        for values in (line.published, line.obtained):
            found.append(f"{values[measure]:.4f}" if measure in values else "")
    return found
