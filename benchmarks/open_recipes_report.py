"""Tables of docs/recipes.md: figures of the recipes on open collections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from longrank.evaluation.render import markdown_text, pipes


def as_markdown(results: Sequence[Mapping[str, Any]], still_to_run: Sequence[str] = ()) -> str:
    """Return tables of obtained figures, with the paper's figures in brackets.

    Args:
        results: rows of `as_row`, in the order of `CASES`.
        still_to_run: cases that have not run.
    """
    parts = [INTRODUCTION]
    for paper, group in groupby(results, key=lambda result: result["paper"]):
        of_paper = list(group)
        parts += [f"## {paper}\n", *_overview(of_paper)]
        for title, of_recipe in groupby(of_paper, key=lambda result: f"### {result['item']}: {result['about']}\n"):
            parts += [title, *map(_block, of_recipe)]
    still = f"- Not run yet: {', '.join(still_to_run)}.\n" if still_to_run else ""
    return "\n".join([*parts, NOT_RUN + still])


INTRODUCTION = """# The papers' recipes on open collections

The procedures of the papers run here on open collections. No paper's own collection could be read, and most published
models were replaced, so no published figure is confirmed or refuted. For each paper, the first table has one row of
each recipe; the commands there stand in full below the recipe's own tables.

These tables show how the rows of the papers' tables compare on open collections. Each obtained figure stands first;
the paper's figure, on its own collection with its own models, follows in brackets. Compare the order of rows, not the
two figures. To repeat a table, run the command below it after `mkdir -p work/open`; to repeat all tables and this
page, run `python -m benchmarks.open_recipes DATA --model CROSS-ENCODER`, which also prepares the collections.

- **Folders.** DATA is your folder of collections; `python -m benchmarks.doc2query_path DATA` makes `work/doc2query`.
- **Models.** CROSS-ENCODER is the model of [`make model`](results-training.md#gains-of-training). Tables with trained
  passage models, among them those that name a SHA-256 prefix, used earlier models that are [lost](lost-models.md): the
  command runs, and gives other figures.
- **Conditions.** Conditions that are equal on a collection are run once: TIME has one form of queries.
- **Queries.** On squad-dev-mixed, squad-dev-sections, qmsum and scifact, only queries that no model was trained on
  count. Of scifact's 300 queries, 150 were used to choose settings of the cross-encoder's training.
- **time-round2.** TIME with half of the documents judged in an earlier round. Systems learn from that round, and its
  documents are left out of the figures.
- **Reductions.** The command shows them: fewer documents or steps, a frozen encoder. Only the recipe's own settings are
  tuned. If only ten or twenty documents are reranked, P@20 hardly changes. Trainings of so few steps show that a recipe
  runs, not the quality of its systems. Without development queries, convergence is unknown (PARADE's own code: Tables
  4, 5, 7, 8 and 10, Figure 3, README).
- **Tests.** The papers' own.
- **PARADE-Transformer** was measured without position embeddings of passages (`network.options.positions=0`), which are
  now its default.
- **Sentences.** Birch and Santos' fine-tuned rows were measured before the rules that lines and paired marks bound
  sentences
  ([before and after](results-mixing.md#birch-and-santos-before-and-after-the-rules-for-sentences)).
"""

NOT_RUN = """## Not run here

- Equal conditions: descriptions, other collections of a table above, SANTOS' Tables 3 and 4, PARADE's Table 4 for
  2020.
- Rounds 3 and 4 of TREC-COVID (PARADE's Tables 11 and 12), which resemble round 2.
- PARADE's Table 9 on passages of TREC and MS MARCO, which are not available here. Its figures for FiRA are among the
  [analyses](analyses.md#relevant-passages-of-a-document).
"""


def _overview(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a table with a line for each recipe: its last published row, on its first collection."""
    lines, seen = [], set[str]()
    for one in results:
        found = [(row, name) for row in one["rows"] for name in row["obtained"] if name in row["published"]]
        if not found or one["recipe"] in seen:
            continue
        seen.add(one["recipe"])
        row, name = next(pair for pair in found if pair[0] is found[-1][0])
        cells = (f"{row['row']}, {name}", _figure(row["published"][name]), _figure(row["obtained"][name]))
        command = f"`longrank reproduce {one['recipe']}`"
        lines.append([one["item"], *map(markdown_text, cells), one["collection"], command])
    head = ["", "row and measure", "published", "ours", "ours on", "command"]
    return [pipes([head, ["---", "---", "---:", "---:", "---", "---"], *lines])] if lines else []


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
