"""Fits what an index costs to measurements, predicts one more size, measures it, and applies the fit to collections.

    python -m benchmarks.cost_model --folder DIR --sizes 100000 300000 1000000 --check 2000000

A cost is ``a + b * T``, with T the words of all documents. Least squares of relative errors choose a and b, neither
below 0. The memory of a build is bounded by its buffers: it is the cost of the largest size measured. The documents are
those of `benchmarks.million`, 300 words each in the mean. Measurements are kept in the folder and used again. Prints
the tables of docs/scale.md.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from benchmarks.million import WORDS_PER_DOC, measure


class Cost(NamedTuple):
    """A cost: its name and unit, and where a report of `measure` has it."""

    name: str
    unit: str
    of: Callable[[dict[str, Any]], float]
    bounded: bool = False  # does not grow with the collection


COSTS = [
    Cost("index with texts", "GB", lambda report: report["index_bytes"] / 1e9),
    Cost("build, processor time", "h", lambda report: report["build"]["cpu_seconds"] / 3600),
    Cost("build, memory", "MiB", lambda report: report["build"]["peak_rss_anon_mib"], bounded=True),
    Cost("search, memory", "MiB", lambda report: report["search"]["peak_rss_anon_mib"]),
    Cost("search, median", "ms", lambda report: report["search"]["p50_ms"]),
    Cost("search, 95th percentile", "ms", lambda report: report["search"]["p95_ms"]),
]

# Documents and length of the collections in millions and in thousands of wordpieces: Table 1 of PARADE for MS MARCO v1,
# GOV2 and ClueWeb12-B13. The others take the length of the last row of that table. A word has one wordpiece or more, so
# the words of a collection are fewer.
COLLECTIONS = {
    "MS MARCO documents v1": (3.2, 1.3),
    "MS MARCO documents v2": (12.0, 1.3),
    "GOV2": (25.0, 3.8),
    "ClueWeb22-B": (87.0, 1.9),
    "a web of 10^9 pages": (1000.0, 1.9),
}


# What a machine holds and may take, by cost: a disk, a day of 16 cores, answers within a second.
LIMITS = {
    "index with texts": 4000.0,
    "build, processor time": 24.0 * 16,
    "search, memory": 64.0 * 1024,
    "search, 95th percentile": 1000.0,
}

WINDOW, STEP = 150, 75  # words of a passage, and from one passage to the next
DIMENSIONS = 384  # of MiniLM


class Line(NamedTuple):
    """A cost as ``a + b * words``."""

    a: float
    b: float

    def at(self, words: float) -> float:
        return self.a + self.b * words


def fitted(words: Sequence[float], costs: Sequence[float]) -> Line:
    """Return the line with the least squares of relative errors, neither a nor b below 0."""
    weights = 1 / np.array(costs)
    scale = np.array([1.0, max(words)])
    solution, _ = nnls(np.stack([weights, weights * np.array(words)], axis=1) / [1, scale[1]], np.ones(len(costs)))
    a, b = (solution / scale).tolist()
    return Line(a, b)


def fit(cost: Cost, words: Sequence[float], reports: Sequence[dict[str, Any]]) -> Line:
    costs = [cost.of(report) for report in reports]
    return Line(max(costs), 0.0) if cost.bounded else fitted(words, costs)


def measured(folder: Path, n_docs: int, args: argparse.Namespace) -> dict[str, Any]:
    kept = folder / f"{n_docs}.json"
    if not kept.exists():
        report = measure(folder, n_docs, n_queries=args.queries, workers=args.workers, seed=args.seed)
        kept.write_text(json.dumps(report) + "\n")
    report = json.loads(kept.read_text())
    return dict(report)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--check", type=int, default=2_000_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--passages-per-second", type=float, default=65, help="of one core, by `longrank bench`")
    args = parser.parse_args()
    reports = [measured(args.folder, n_docs, args) for n_docs in args.sizes]
    words = [n_docs * WORDS_PER_DOC for n_docs in args.sizes]
    lines = {cost.name: fit(cost, words, reports) for cost in COSTS}
    predicted = {name: line.at(args.check * WORDS_PER_DOC) for name, line in lines.items()}
    print(json.dumps(predicted))  # before the size is measured
    print(table_of_fit(args, reports, lines, measured(args.folder, args.check, args)))
    print(table_of_collections(lines))
    print(table_of_machines(lines))
    print(table_of_passages(args.passages_per_second))


def table_of_fit(
    args: argparse.Namespace, reports: list[dict[str, Any]], lines: dict[str, Line], check: dict[str, Any]
) -> str:
    sizes = " | ".join(f"{n_docs:,}" for n_docs in args.sizes)
    rows = [f"| cost | {sizes} | a | b, per million words | {args.check:,}: predicted | measured | error |"]
    rows.append("|---" * (len(args.sizes) + 6) + "|")
    for cost in COSTS:
        line = lines[cost.name]
        predicted, found = line.at(args.check * WORDS_PER_DOC), cost.of(check)
        values = " | ".join(f"{cost.of(report):.3g}" for report in reports)
        error = f"{100 * (predicted / found - 1):+.0f}%"
        name = f"{cost.name}, {cost.unit}"
        rows.append(
            f"| {name} | {values} | {line.a:.3g} | {1e6 * line.b:.3g} | {predicted:.3g} | {found:.3g} | {error} |"
        )
    return "\n".join(rows) + "\n"


def table_of_collections(lines: dict[str, Line]) -> str:
    rows = [
        "| collection | million documents | words each | " + " | ".join(f"{c.name}, {c.unit}" for c in COSTS) + " |"
    ]
    rows.append("|---" * (3 + len(COSTS)) + "|")
    for name, (millions, thousands) in COLLECTIONS.items():
        costs = " | ".join(f"{lines[cost.name].at(millions * thousands * 1e9):,.3g}" for cost in COSTS)
        rows.append(f"| {name} | {millions:g} | {1000 * thousands:,.0f} | {costs} |")
    return "\n".join(rows) + "\n"


def machines(line: Line, words: float, limit: float) -> int:
    """Return how many machines with equal shares of the words keep a cost within the limit."""
    return max(1, math.ceil(line.b * words / (limit - line.a)))


def table_of_machines(lines: dict[str, Line]) -> str:
    rows = ["| collection | " + " | ".join(LIMITS) + " | breaks first |", "|---" * (2 + len(LIMITS)) + "|"]
    for name, (millions, thousands) in COLLECTIONS.items():
        words = millions * thousands * 1e9
        needed = {cost: machines(lines[cost], words, limit) for cost, limit in LIMITS.items()}
        first = max(needed, key=needed.__getitem__) if max(needed.values()) > 1 else "nothing"
        rows.append(f"| {name} | " + " | ".join(f"{n:,}" for n in needed.values()) + f" | {first} |")
    return "\n".join(rows) + "\n"


def table_of_passages(rate: float) -> str:
    rows = [
        "| collection | million passages | int8 vectors, GB | core hours of vectors "
        "| core seconds, 100 documents of a query |",
        "|---|---|---|---|---|",
    ]
    for name, (millions, thousands) in COLLECTIONS.items():
        each = 1 + math.ceil((1000 * thousands - WINDOW) / STEP)
        passages = 1e6 * millions * each
        hours, seconds = passages / rate / 3600, 100 * each / rate
        size = passages * DIMENSIONS / 1e9
        rows.append(f"| {name} | {passages / 1e6:,.3g} | {size:,.3g} | {hours:,.3g} | {seconds:,.3g} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
