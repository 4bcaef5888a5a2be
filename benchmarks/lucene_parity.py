"""Compare LongRank's runs with Lucene's, query by query, and with Anserini's published figures.

    PYTHONPATH=tests python -m benchmarks.lucene_parity DATA

DATA is a folder of the collections cacm, cranfield, time and scifact, with `lucene-runs/` in each: what Anserini
0.22.1 (Lucene 9.5) found with its default options. Prints Markdown tables: for how many queries the
first ten documents, and all 100, are the same in the same order; AP and P@30 on CACM; and what feedback costs.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from timeit import repeat

from longrank.index import Index
from longrank.protocols import Retriever
from longrank.retrieval import FEEDBACKS, make_retriever
from longrank.types import Query
from lucene_runs import COLLECTIONS, PRESETS_OF_RUNS, PUBLISHED, compared, effectiveness, indexed, queries_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    with tempfile.TemporaryDirectory() as work:
        indexes = {name: indexed(data / name, Path(work) / name) for name in COLLECTIONS}
        print_agreement(data, indexes)
        print_effectiveness(data / "cacm", indexes["cacm"])
        print_costs(queries_of(data / "scifact")[:300], indexes["scifact"])


def print_agreement(data: Path, indexes: dict[str, Index]) -> None:
    print("| run | collection | queries | first 10 the same | all the same | largest difference of scores |")
    print("|---|---|---|---|---|---|")
    for run in PRESETS_OF_RUNS:
        for name, index in indexes.items():
            found = compared(index, data / name, run)
            if found:
                print(
                    f"| {run} | {name} | {found.queries} | {found.top} | {found.all} | {found.score:.5f} |", flush=True
                )


def print_effectiveness(folder: Path, index: Index) -> None:
    print("\n| preset | AP published | AP | P@30 published | P@30 |\n|---|---|---|---|---|")
    for preset, published in PUBLISHED.items():
        ap, p30 = effectiveness(index, folder, preset)
        print(f"| {preset} | {published[0]:.4f} | {ap:.4f} | {published[1]:.4f} | {p30:.4f} |", flush=True)


def print_costs(queries: Sequence[Query], index: Index) -> None:
    print("\n| scifact, k = 1000 | median of a query, ms | with BM25 = 1 |\n|---|---|---|")
    bm25 = median_milliseconds(queries, make_retriever(index))
    print(f"| bm25-anserini | {bm25:.2f} | 1 |")
    for name in FEEDBACKS:
        found = median_milliseconds(queries, make_retriever(index, f"bm25-anserini+{name}"))
        print(f"| with {name} | {found:.2f} | {found / bm25:.1f} |", flush=True)


def median_milliseconds(queries: Sequence[Query], retriever: Retriever) -> float:
    """Return the median of the best times of each query."""
    return 1000 * median(min(repeat(partial(retriever.retrieve, query, 1000), number=1)) for query in queries)


if __name__ == "__main__":
    main()
