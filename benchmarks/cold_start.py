"""Cold start of `longrank search`: the time of the command in a new process, its imports left out.

    python -m benchmarks.cold_start INDEX QUERY [--pipelines bm25 lexical] [--times 5]

Imports are measured wherever they happen, and the time of each import contains those inside it. Compiled functions are
taken from numba's files on disk, which a first run makes; the index is in the memory of the operating system as far as
earlier runs left it there. Prints the medians of wall and CPU time in ms: the imports, and the rest.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

from benchmarks.first_stage import table

Clocks = tuple[Callable[[], float], Callable[[], float]]
CLOCKS: Clocks = (time.perf_counter, time.process_time)


@contextmanager
def imports_timed() -> Iterator[list[float]]:
    """Yield [wall, CPU] seconds of all imports until now; one inside another counts once."""
    system: Any = importlib._bootstrap  # type: ignore[attr-defined]
    find, taken, depth = system._find_and_load, [0.0, 0.0], 0

    def timed(*arguments: Any) -> Any:
        nonlocal depth
        starts, depth = [clock() for clock in CLOCKS], depth + 1
        try:
            return find(*arguments)
        finally:
            depth -= 1
            if not depth:
                taken[:] = [t + clock() - start for t, clock, start in zip(taken, CLOCKS, starts, strict=True)]

    system._find_and_load = timed
    try:
        yield taken
    finally:
        system._find_and_load = find


def once(index: str, query: str, pipeline: str) -> list[float]:
    """Run the command in this process; return ms of imports, wall and CPU, then of the rest, wall and CPU."""
    starts = [clock() for clock in CLOCKS]
    with imports_timed() as imports:
        from longrank.cli.main import main

        if code := main(["search", index, query, "--pipeline", pipeline, "--json"]):
            sys.exit(code)
        totals = [clock() - start for clock, start in zip(CLOCKS, starts, strict=True)]
    rest = [total - part for total, part in zip(totals, imports, strict=True)]
    return [1000 * seconds for seconds in (*imports, *rest)]


def measured(index: str, query: str, pipeline: str, times: int) -> list[float]:
    """Return the medians of `once` over new processes, after one that compiles functions."""
    command = [sys.executable, "-m", "benchmarks.cold_start", index, query, "--once", pipeline]
    runs = []
    for _ in range(times + 1):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        runs.append(json.loads(done.stderr.splitlines()[-1]))
    return [median(column) for column in zip(*runs[1:], strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index")
    parser.add_argument("query")
    parser.add_argument("--pipelines", nargs="+", default=["bm25", "lexical"])
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--once", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.once:
        print(json.dumps(once(args.index, args.query, args.once)), file=sys.stderr)
        return
    rows = []
    for pipeline in args.pipelines:
        figures = measured(args.index, args.query, pipeline, args.times)
        rows.append([pipeline, *(f"{figure:.0f}" for figure in figures)])
    print(table(["pipeline", "imports, wall", "imports, CPU", "the rest, wall", "the rest, CPU"], rows))


if __name__ == "__main__":
    main()
