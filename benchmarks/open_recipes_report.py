"""Tables of docs/recipes.md: figures of the recipes on open collections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from longrank.evaluation.render import markdown_text, pipes


def as_markdown(found: Sequence[Mapping[str, Any]], still_to_run: Sequence[str] = ()) -> str:
    """Return the figures as tables: obtained, and in brackets the paper's on its own collection.

    Args:
        found: rows of `as_row`, in the order of `CASES`: those of one recipe follow each other.
        still_to_run: cases that have not run.
    """
    parts = [INTRODUCTION]
    for paper, of_paper in groupby(found, key=lambda one: one["paper"]):
        parts.append(f"## {paper}\n")
        for title, of_recipe in groupby(of_paper, key=lambda one: f"### {one['item']}: {one['about']}\n"):
            parts += [title, *map(_block, of_recipe)]
    still = f"- For want of time: {', '.join(still_to_run)}.\n" if still_to_run else ""
    return "\n".join([*parts, NOT_RUN + still])


INTRODUCTION = """# The papers' recipes on open collections

Written by `python -m benchmarks.open_recipes DATA --model CROSS-ENCODER`; each table by the command below it, too.
CROSS-ENCODER is the one [trained here](results.md#what-training-gains); where a table names it by the first digits of
its weights' SHA-256, it is of a second run of that training ([how they differ](results.md#end-to-end)). Obtained
figures come first; in brackets is what the paper has, on its own collection with its own models: the two are not to
be compared, only how rows stand to each other. Many conditions of a table would be the same here (TIME has one form
of queries), so one is run; some are on several collections. Of squad-dev-mixed, squad-dev-sections, qmsum and scifact
only queries count that nothing was trained on (150 of scifact's 300 had a say in how the cross-encoder's training is
set up). time-round2 is TIME with half of the documents judged for each query in a round before, from which is
learned; they are left out of what is measured. The commands are run after `mkdir -p work/open`; DATA and
CROSS-ENCODER stand for your folders, `work/doc2query` is made by `python -m benchmarks.doc2query_path DATA`, and
`work/open/collections`, time-round2 and those of which only some queries count, by the command above. What was
reduced (documents, steps, a frozen encoder) is in the command; nothing was tuned but what the recipes tune. Where
only ten or twenty documents are reranked, P@20 cannot change, or hardly. Trainings of so few steps show that a recipe
runs, and less of what its systems are worth; where no dev queries are used (PARADE's own code: its Tables 4, 5, 7, 8
and 10, Figure 3, its README), nothing is known of their convergence. Tests are the papers' own.
"""

NOT_RUN = """## Not run here

- What would be the same: descriptions and the other collections of a table that is there, SANTOS' Tables 3 and 4,
  PARADE's Table 4 for 2020.
- Rounds 3 and 4 of TREC-COVID (PARADE's Tables 11 and 12), which are like round 2.
- PARADE's Table 9 on TREC's and MS MARCO's passages, which are not at hand; on FiRA's it is among the
  [analyses](analyses.md#relevant-passages-of-a-document).
"""


def _block(one: Mapping[str, Any]) -> str:
    lines = _points(one["rows"]) if all("x" in row for row in one["rows"]) else _rows(one)
    table = pipes([lines[0], ["---", *("---:" for _ in lines[0][1:])], *lines[1:]])
    test = one["significance"]
    marked = f" \\* differs from {test['compare_with']}, p < {test['alpha']:g}." if test else ""
    weights = f" Cross-encoder {one['cross_encoder']}." if "cross_encoder" in one else ""
    where = f"On {one['collection']}; queries: {one['queries']}.{weights}{marked}"
    late = ", ".join(f"{name} in {n} folds" for name, n in one["late"].items())
    table += f"\nStill rising on dev at the last validation: {late}.\n" if late else ""
    return f"{where}\n\n{table}\n```sh\n{one['command']}\n```\n"


def _rows(one: Mapping[str, Any]) -> list[list[str]]:
    """Return a line for each row, a column for each measure."""
    columns = list(dict.fromkeys(column for row in one["rows"] for column in row["obtained"]))
    alpha = one["significance"].get("alpha", 0.0)
    body = [[markdown_text(row["row"]), *(_cell(row, column, alpha) for column in columns)] for row in one["rows"]]
    return [["", *map(markdown_text, columns)], *body]


def _points(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return a line for each point of a plot, a column for each of its lines and measures."""
    found = {(row["x"], row["series"], name): _cell(row, name, 0.0) for row in rows for name in row["obtained"]}
    columns = list(dict.fromkeys((series, name) for _, series, name in found))
    body = [[f"{x:g}", *(found.get((x, *one), "") for one in columns)] for x in sorted({row["x"] for row in rows})]
    return [["", *(markdown_text(f"{series}, {name}") for series, name in columns)], *body]


def _cell(row: Mapping[str, Any], column: str, alpha: float) -> str:
    if column not in row["obtained"]:
        return ""
    published = row["published"].get(column)
    beside = "" if published is None else f" ({_figure(published)})"
    p = row.get("p", {}).get(column)
    mark = "\\*" if p is not None and p < alpha else ""
    return f"{_figure(row['obtained'][column])}{mark}{beside}"


def _figure(value: float) -> str:
    """Return a share with four decimals, anything else as it is."""
    return f"{value:.4f}".lstrip("0") if 0 < abs(value) < 1 else f"{value:.6g}"
