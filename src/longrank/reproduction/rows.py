"""Obtained rows of a table: measures of a ranking, query by query, or other quantities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from longrank.evaluation.measures import evaluate, summarise
from longrank.evaluation.residual import judged_documents, residual_qrels, residual_run
from longrank.formats.trec import read_qrels, read_run
from longrank.reproduction.recipe import Recipe
from longrank.types import Notes, Qrels


@dataclass(frozen=True, slots=True)
class ObtainedRow:
    """A row as it was obtained.

    Attributes:
        name: name of the row, as among the recipe's expected rows.
        values: measure -> figure; empty in a dry run.
        run: the evaluated run; None for other quantities.
        per_query: measure -> query_id -> value, for a run.
        series: the row's line in a plot.
        x: the row's position on that line.
    """

    name: str
    values: Mapping[str, float]
    run: Path | None = None
    per_query: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    series: str | None = None
    x: float | None = None


def measured_by_query(
    recipe: Recipe, run: Path, tested: Path, judged_before: Path | None
) -> dict[str, Mapping[str, float]]:
    """Return measure -> query_id -> value of a run, by the recipe's measures.

    Args:
        recipe: the recipe, with measures and options of evaluation.
        run: a run file.
        tested: judgments of the queries that the folds test; all rows use the same queries.
        judged_before: judgments of earlier rounds, whose documents are left out; may be None.
    """
    options, notes = recipe.evaluate, Notes()
    judged: Qrels = read_qrels(tested, notes)
    ranked = read_run(run, notes)
    if judged_before is not None:
        before = judged_documents([read_qrels(judged_before, notes)])
        judged, ranked = residual_qrels(judged, before), residual_run(ranked, before)
    per_query = evaluate(
        judged,
        ranked,
        recipe.measures,
        level=options.level,
        max_depth=options.depth,
        queries="complete" if options.complete else "intersection",
    )
    return dict(zip(recipe.measures, per_query.values(), strict=True))


def ranked_row(
    name: str, run: Path, per_query: Mapping[str, Mapping[str, float]], series: str | None, x: float | None
) -> ObtainedRow:
    """Return the row of a run: the values of each measure, summarised over queries."""
    values = {measure: summarise(measure, list(values_of.values())) for measure, values_of in per_query.items()}
    return ObtainedRow(name, values, run, per_query, series, x)
