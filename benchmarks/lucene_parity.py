"""Our runs against Lucene's, query by query, and against Anserini's published figures.

    PYTHONPATH=tests python -m benchmarks.lucene_parity DATA

DATA is a folder of the collections cacm, cranfield, time and scifact, with `lucene-runs/` in each: what Anserini
0.22.1 (Lucene 9.5) found with its default options. Prints two Markdown tables: for how many queries the
first ten documents, and all 100, are the same in the same order; and AP and P@30 on CACM.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from longrank.index import Index
from lucene_runs import COLLECTIONS, PRESETS_OF_RUNS, PUBLISHED, compared, effectiveness, indexed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    with tempfile.TemporaryDirectory() as work:
        indexes = {name: indexed(data / name, Path(work) / name) for name in COLLECTIONS}
        print_agreement(data, indexes)
        print_effectiveness(data / "cacm", indexes["cacm"])


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


if __name__ == "__main__":
    main()
