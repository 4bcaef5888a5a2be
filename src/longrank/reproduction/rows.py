"""Rows of a table as they were obtained: of a ranking, measured query by query, or of something else."""

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
        name: the one that it has among the recipe's expected rows, if it has one there.
        values: measure -> figure; empty if nothing was run.
        run: what was evaluated; None if it is not a ranking.
        per_query: measure -> query_id -> value, of a run.
        series: which line of a plot it belongs to.
        x: where on that line.
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
        recipe: says which measures, and how they are computed.
        run: a run file.
        tested: judgments of the queries that some fold tests: all rows are of the same.
        judged_before: judgments of earlier rounds, whose documents are left out; None: there are none.
    """
    how, notes = recipe.evaluate, Notes()
    judged: Qrels = read_qrels(tested, notes)
    ranked = read_run(run, notes)
    if judged_before is not None:
        before = judged_documents([read_qrels(judged_before, notes)])
        judged, ranked = residual_qrels(judged, before), residual_run(ranked, before)
    per_query = evaluate(
        judged,
        ranked,
        recipe.measures,
        level=how.level,
        max_depth=how.depth,
        queries="complete" if how.complete else "intersection",
    )
    return dict(zip(recipe.measures, per_query.values(), strict=True))


def ranked_row(
    name: str, run: Path, per_query: Mapping[str, Mapping[str, float]], series: str | None, x: float | None
) -> ObtainedRow:
    """Return the row of a run: each measure's values of all queries become one."""
    values = {measure: summarise(measure, list(found.values())) for measure, found in per_query.items()}
    return ObtainedRow(name, values, run, per_query, series, x)
