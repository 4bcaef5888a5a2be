"""First stages against peers, on the same documents and queries, in turn, in the same run.

    python -m benchmarks.first_stage --folder DIR [--lucene-python PYTHON] [--real COLLECTION...]

Peers: bm25s (numba backend), tantivy, and Lucene through the pyserini of another Python. One that is not
installed is a row that says so. `engines.py` says how each is asked, `texts.py` what is indexed. Every engine
runs in a process of its own. Building: from JSONL to an index on disk, on all cores; the memory is the peak of
the anonymous memory of the process and its children. Searching: each process is warmed up, then they take turns
in rounds; a time includes the analysis of the query. ``numbers``: document numbers and scores as the engine
keeps them; ``ids``: rows of document id and score in Python; ``batch``: all queries at once, on all cores.
Medians over the rounds, and of the ratios within each round: above 1, ours is faster, or takes less memory.
Prints Markdown tables, and one JSON line at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

from benchmarks.texts import WordCollection, generated, real
from benchmarks.worker import Failure, Worker, watched

PROGRAM = Path(__file__).resolve().with_name("engines.py")
OURS = "longrank"
PEERS = {"bm25s": {"doc_lengths": "exact"}, "lucene": {}, "tantivy": {"k1": 1.2, "b": 0.75}}
"""Our settings that rank as each peer does, since bm25s keeps exact lengths and tantivy has parameters of its own."""
FACTORS = {"tantivy": 2.2}  # it multiplies by k1 + 1, as Lucene did before 8.0
KINDS = {"arrays": "numbers", "rows": "ids"}
WARM_UP = 2  # passes over all queries; Java compiles on the way


class Measuring:
    """A collection, its queries, and the figures of each engine.

    Attributes:
        status: reason why an engine has no figures.
        values: quantity -> engine -> one value per round; times are in ms, memory in MiB.
    """

    def __init__(self, args: argparse.Namespace, collection: WordCollection, work: Path) -> None:
        self.args, self.collection, self.work = args, collection, work
        self.k = min(args.k, collection.n_docs)
        self.status: dict[str, str] = {}
        self.values: dict[str, dict[str, list[float]]] = {}
        self.checks: dict[str, dict[str, float]] = {}

    def run(self) -> None:
        """Build, search, compare."""
        for engine in self.args.engines:
            if reason := absent(self.args, engine):
                self.status[engine] = reason
        for _ in range(self.args.builds):
            self._each(self._build)
        workers: dict[str, Worker] = {}
        try:
            self._each(lambda engine: workers.__setitem__(engine, self._opened(engine)))
            for number in range(-WARM_UP, self.args.rounds):
                for kind in KINDS:
                    self._each(lambda engine, kind=kind, keep=number >= 0: self._time(workers[engine], kind, keep))
                    self._each(lambda engine, kind=kind, keep=number >= 0: self._batch(workers[engine], kind, keep))
            if OURS in self.engines:
                self._each(lambda engine: self._compare(workers, engine))
                self._feedback(workers[OURS])
        finally:
            for worker in workers.values():
                worker.stop()

    @property
    def engines(self) -> list[str]:
        """Those that still take part."""
        return [engine for engine in self.args.engines if engine not in self.status]

    def _each(self, work: Any) -> None:
        for engine in self.engines:
            try:
                self.current = engine
                work(engine)
            except Failure as failure:
                self.status[engine] = str(failure)

    def _keep(self, quantity: str, value: float) -> None:
        self.values.setdefault(quantity, {}).setdefault(self.current, []).append(value)

    def _command(self, engine: str, *arguments: str) -> list[str]:
        return [python_of(self.args, engine), str(PROGRAM), engine, *arguments]

    def _build(self, engine: str) -> None:
        index = self.work / f"{engine}.index"
        shutil.rmtree(index, ignore_errors=True)
        command = self._command(engine, "build", str(self.collection.source), str(index), str(self.args.cores))
        seconds, peak = watched(command, self.work / f"{engine}.log", self.args.timeout)
        self._keep("build", 1000 * seconds)
        self._keep("memory", peak)

    def _opened(self, engine: str) -> Worker:
        command = self._command(engine, "serve", str(self.work / f"{engine}.index"))
        return Worker(command, self.work / f"{engine}.log", self.args.timeout)

    def _time(self, worker: Worker, kind: str, keep: bool) -> None:
        times = worker.ask(kind, self.collection.queries, self.k)
        if keep:
            p50, p95 = np.percentile(times, (50, 95))
            for name, value in (("p50", p50), ("p95", p95), ("mean", np.mean(times))):
                self._keep(f"{KINDS[kind]} {name}", float(value))

    def _batch(self, worker: Worker, kind: str, keep: bool) -> None:
        taken = worker.ask("batch", self.collection.queries, self.k, cores=self.args.cores, kind=kind)
        if keep and taken is not None:
            self._keep(f"{KINDS[kind]} batch", taken)

    def _compare(self, workers: dict[str, Worker], engine: str) -> None:
        if engine == OURS:
            return
        queries = self.collection.queries
        theirs = workers[engine].ask("found", queries, min(10, self.k))
        ours = workers[OURS].ask("top", queries, min(10, self.k), settings=PEERS[engine])
        self.checks[engine] = compared(ours, theirs, FACTORS.get(engine, 1.0))

    def _feedback(self, worker: Worker) -> None:
        self.current = OURS
        for number in range(-1, self.args.rounds):
            times = np.array(worker.ask("feedback", self.collection.queries, self.k))
            if number >= 0:
                rm3, parts = np.median(times, axis=0)
                self._keep("RM3", float(rm3))
                self._keep("RM3's searches", float(parts))

    def summary(self) -> dict[str, Any]:
        """Return medians over the rounds, ratios to ours, and how results compare."""
        medians = {name: {e: median(v) for e, v in of.items()} for name, of in self.values.items()}
        ratios = {
            name: {e: median(b / a for a, b in zip(of[OURS], v, strict=True)) for e, v in of.items() if e != OURS}
            for name, of in self.values.items()
            if OURS in of and len(of) > 1
        }
        mine = {name: of.get(OURS, []) for name, of in self.values.items()}
        rm3 = [a / b for a, b in zip(mine.get("RM3", []), mine.get("RM3's searches", []), strict=True)]
        return {
            "collection": self.collection.name,
            "n_docs": self.collection.n_docs,
            "queries": len(self.collection.queries),
            "k": self.k,
            "cores": self.args.cores,
            "engines": self.args.engines,
            "left_out": self.status,
            "medians": medians,
            "peer_over_ours": ratios,
            "rm3_over_searches": median(rm3) if rm3 else None,
            "checks": self.checks,
        }


def compared(ours: list[list[Any]], theirs: list[list[Any]], factor: float) -> dict[str, float]:
    """Compare rankings of (id, score) of the same queries.

    Returns:
        ``overlap``: mean share of our documents (of at most 10) that they have, where one that ties with our last
        counts as had; ``score_difference``: the largest between scores of the same rank, relative to the first.
    """
    shares, differences = [], []
    for mine, other in zip(ours, theirs, strict=True):
        scaled = [(doc_id, score / factor) for doc_id, score in other if score > 0][: len(mine)]
        if mine:
            close = 1e-4 * mine[0][1]
            known = {doc_id for doc_id, _ in mine}
            had = sum(doc_id in known or abs(score - mine[-1][1]) <= close for doc_id, score in scaled)
            shares.append(had / len(mine))
            pairs = zip(mine, scaled, strict=False)
            differences.append(max((abs(a - b) / mine[0][1] for (_, a), (_, b) in pairs), default=1.0))
    return {"overlap": mean(shares), "score_difference": max(differences)}


def python_of(args: argparse.Namespace, engine: str) -> str:
    return str(args.lucene_python) if engine == "lucene" else sys.executable


def absent(args: argparse.Namespace, engine: str) -> str | None:
    """Return the row of an engine that cannot be started."""
    if engine == "lucene" and args.lucene_python is None:
        return "not installed (--lucene-python)"
    command = [python_of(args, engine), str(PROGRAM), engine, "installed"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=args.timeout, check=False)
    except OSError as error:
        return f"not installed ({error.strerror})"
    return "not installed" if done.returncode else None


TIMES = [f"{kind} {name}" for kind in KINDS.values() for name in ("p50", "p95", "mean")]
BATCHES = [f"{kind} batch" for kind in KINDS.values()]


def tables(summary: dict[str, Any]) -> str:
    """Return the Markdown of one collection: figures, ratios, and how results compare."""
    queries, left_out, medians = summary["queries"], summary["left_out"], summary["medians"]
    units = {"build": "docs/s", "memory": "MiB"} | dict.fromkeys(TIMES, "ms") | dict.fromkeys(BATCHES, "queries/s")
    amounts = {"docs/s": 1000 * summary["n_docs"], "queries/s": 1000 * queries}

    def figure(name: str, engine: str) -> str:
        value, unit = medians.get(name, {}).get(engine), units[name]
        if value is None:
            return "-"
        return f"{value:.2f}" if unit == "ms" else f"{amounts[unit] / value if unit in amounts else value:,.0f}"

    def ratio(name: str, engine: str) -> str:
        value = summary["peer_over_ours"].get(name, {}).get(engine)
        return "-" if value is None else f"{value:.2f}"

    figures = [[f"{engine}: {left_out[engine]}" if engine in left_out else engine] for engine in summary["engines"]]
    for row, engine in zip(figures, summary["engines"], strict=True):
        row += [figure(name, engine) for name in units]
    ratios = [[engine, *(ratio(name, engine) for name in units)] for engine in summary["engines"] if engine != OURS]
    return "\n".join(
        [
            f"## {summary['collection']}; {queries} queries, k = {summary['k']}, {summary['cores']} cores\n",
            table(["engine", *(f"{name}, {unit}" for name, unit in units.items())], figures),
            table(["peer / ours", *units], ratios),
            *_remarks(summary),
            "",
        ]
    )


def _remarks(summary: dict[str, Any]) -> list[str]:
    lines = [
        f"- {engine}: {100 * c['overlap']:.2f}% of our top 10, scores within {c['score_difference']:.1e}"
        for engine, c in summary["checks"].items()
    ]
    if "RM3" in summary["medians"]:
        rm3, parts = (summary["medians"][name][OURS] for name in ("RM3", "RM3's searches"))
        ours = f"{rm3:.2f} ms; its two searches alone: {parts:.2f} ms"
        lines.append(f"- RM3 (10 documents, 10 terms), median: {ours}; ratio {summary['rm3_over_searches']:.2f}")
    return lines


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="keeps the generated documents")
    parser.add_argument("--docs", type=int, default=200_000, help="generated documents; 0: none")
    parser.add_argument("--real", type=Path, nargs="*", default=[], help="collection folders")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--k", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--builds", type=int, default=1)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engines", nargs="*", default=[OURS, *PEERS], choices=[OURS, *PEERS])
    parser.add_argument("--lucene-python", type=Path, help="a Python that has pyserini")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for any one step of an engine")
    return parser.parse_args()


def main() -> None:
    args, summaries = parsed(), []
    args.folder = args.folder.resolve()
    args.folder.mkdir(parents=True, exist_ok=True)
    collections = [real(path, args.queries, args.folder) for path in args.real]
    if args.docs:
        collections.insert(0, generated(args.docs, args.queries, args.seed, args.folder))
    for collection in collections:
        with tempfile.TemporaryDirectory(dir=args.folder) as work:
            measuring = Measuring(args, collection, Path(work))
            measuring.run()
        summaries.append(measuring.summary())
        print(tables(summaries[-1]), flush=True)
    print(json.dumps(summaries))


if __name__ == "__main__":
    main()
