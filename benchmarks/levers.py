"""Change one setting of the pipeline `mixed` at a time, on dev queries.

    python -m benchmarks.levers DATA [--only scifact] [--folder work/mixing] [--results docs/results]

The base has windows of 200 wordpieces, half overlapping, with which the weights of `mixed` were chosen. Dev queries are
those of `benchmarks.mixing`: no figure of a test split is looked at. RESULTS/levers.json gets the value of each change,
its difference from the base and p of a paired two-sided t-test; it is not measured again if it is there. Indexes and
evidence stay in the folder.

The change "adaptive weight" gives BM25 of the passage, in each query, the weight ``l / (l + m)``: l and m are how far
the best passage of BM25 and of MiniLM stands above the mean passage, after scaling to 0 to 1.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import longrank
from benchmarks.mixing import LONGER, TASKS, Prepared, System, prepared
from longrank.formats.evidence import read_evidence
from longrank.fusion import scaled
from longrank.scoring.speed import machine
from longrank.types import Evidence, Run


class Lever(NamedTuple):
    """A change of the base: settings of `mixed`, the collections that it is for, and if it is MiniLM alone.

    MiniLM alone is what the pipeline `minilm` computes, on the candidates and the evidence of `mixed`.
    """

    settings: tuple[str, ...]
    only: tuple[str, ...] = ()
    alone: bool = False


def _windows(length: int, stride: int) -> tuple[str, ...]:
    return (f"passages.options.length={length}", f"passages.options.stride={stride}")


_TITLED = ("scifact", "cranfield")
_SHORT = ("squad-dev-mixed",)
BASE = "base"
ADAPTIVE = "adaptive weight"
LEVERS = {
    BASE: Lever(LONGER),
    "first stage .9/.4": Lever((*LONGER, "first_stage.preset=bm25-anserini")),
    "titles before passages": Lever((*LONGER, "title=true"), only=_TITLED),
    "windows of 128": Lever(_windows(128, 64)),
    "titles, windows of 128": Lever((*_windows(128, 64), "title=true"), only=_TITLED),
    "windows of 254": Lever(_windows(254, 127), only=_SHORT),
    "overlap of a quarter": Lever(_windows(200, 150), only=_SHORT),
    "no overlap": Lever(_windows(200, 200), only=_SHORT),
    "MiniLM alone": Lever(LONGER, alone=True),
    "MiniLM alone, windows of 128": Lever(_windows(128, 64), alone=True),
}


def main() -> None:
    """Measure the changes on each dev collection, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", action="append", help="a collection; repeatable")
    parser.add_argument("--folder", type=Path, default=Path("work/mixing"))
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    args = parser.parse_args()
    path = args.results / "levers.json"
    found = json.loads(path.read_text(encoding="utf-8"))["collections"] if path.exists() else {}
    for task in TASKS:
        if task.dev and (not args.only or task.name in args.only) and task.name not in found:
            dev = prepared(task, args.data, args.folder, task.dev, task.n_dev)
            found[task.name] = {"measure": task.measure, "queries": len(dev.queries), "systems": compared(dev)}
            record = {"command": "python -m benchmarks.levers DATA", "machine": machine(), "collections": found}
            path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print("\n".join(table(found)))


def compared(dev: Prepared) -> dict[str, dict[str, float]]:
    """Return the figures of each change."""
    levers = {name: lever for name, lever in LEVERS.items() if not lever.only or dev.task.name in lever.only}
    runs = {name: ranked(dev, lever) for name, lever in levers.items()}
    runs[ADAPTIVE] = adaptive(dev)
    result = longrank.evaluate(dev.qrels, runs, dev.task.measure, baseline=BASE)
    rows: dict[str, dict[str, float]] = {}
    for row in result.rows:
        rows[row.name] = {"value": round(row.values[0], 4)}
        if row.name != BASE and (comparison := row.comparisons[0]) is not None:
            rows[row.name]["p"] = float(f"{comparison.p:.2g}")
    for figures in rows.values():
        figures["difference"] = round(figures["value"] - rows[BASE]["value"], 4)
    return rows


def ranked(dev: Prepared, lever: Lever) -> Run:
    """Return the ranking of a change."""
    system = System("", "", "mixed", lever.settings)
    run = dev.reranked(system)
    if not lever.alone:
        return run
    first = dev.run("bm25-lucene")
    return longrank.aggregate(
        dev.evidence(system), mix={"lexical": 0}, interpolate=0.3, normalize="minmax", first_stage=first
    )


def adaptive(dev: Prepared) -> Run:
    """Return the ranking with a weight of BM25 of the passage for each query."""
    by_query: dict[str, list[Evidence]] = {}
    for evidence in read_evidence(dev.evidence(System("", "", "mixed", LONGER)))[1]:
        by_query.setdefault(evidence.query_id, []).append(evidence)
    again = [one for group in by_query.values() for one in mixed_again(group)]
    first = dev.run("bm25-lucene")
    return longrank.aggregate(again, "maxp", first_stage=first, interpolate=0.1, normalize="minmax")


def mixed_again(group: Sequence[Evidence]) -> list[Evidence]:
    """Return the evidence of a query with the weight of its score distributions."""
    parts = {name: scaled(np.concatenate([_part(one, name) for one in group])) for name in ("lexical", "bi-encoder")}
    peaks = {name: float(scores.max() - scores.mean()) for name, scores in parts.items()}
    total = sum(peaks.values())
    weight = peaks["lexical"] / total if total else 0.5
    mixed = weight * parts["lexical"] + (1 - weight) * parts["bi-encoder"]
    ends = np.cumsum([len(one.passage_score) for one in group])[:-1]
    return [
        replace(one, passage_score=scores, passage_parts=None)
        for one, scores in zip(group, np.split(mixed, ends), strict=True)
    ]


def _part(evidence: Evidence, name: str) -> np.ndarray:
    assert evidence.passage_parts is not None
    return np.asarray(evidence.passage_parts[name], dtype=np.float64)


def table(found: Mapping[str, Any]) -> list[str]:
    """Return a Markdown table: a row for each change, the difference from the base and p."""
    lines = [f"| | {' | '.join(found)} |", "|---|" + "---|" * len(found)]
    for name in (*LEVERS, ADAPTIVE):
        cells = []
        for collection in found.values():
            row = collection["systems"].get(name)
            p = f" (p {row['p']:.2g})" if row and "p" in row else ""
            cells.append("-" if row is None else f"{row['value']:.4f}".lstrip("0") + p)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
