"""CPU time of a query in first stages, by the number of its terms and of the documents asked for.

    python -m benchmarks.first_stage_cpu --folder DIR [--docs 200000] [--python pisa=PYTHON] [--words text frequent]

Engines: LongRank, bm25s, tantivy and PISA (`engines.py`), each in a process of its own with one thread. PISA's build
stood still once, for a reason not found; `--timeout` ends such a run. `--python` names another Python for an engine.
Documents are those of `texts.generated`. Words of a query are distinct, and either drawn as the documents' words are
(``text``) or from the 1,000 most frequent words (``frequent``). After a pass to warm up, engines take turns in rounds.
Prints the CPU seconds and the bytes of each index; then, for each setting, the mean CPU time of a query in ms, median
of the rounds. The time includes the analysis of the query and leaves document numbers and scores as the engine keeps
them; PISA gives ids. Last comes the share of LongRank's best documents that each peer finds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean, median

import numpy as np

from benchmarks.first_stage import FACTORS, PEERS, PROGRAM, compared, table
from benchmarks.million import ranks, word
from benchmarks.texts import generated
from benchmarks.worker import Worker, watched

ENGINES = ("longrank", "bm25s", "tantivy", "pisa")
# PISA's idf has no 1 + in its logarithm, so frequent words weigh less and its best documents can differ
SETTINGS = PEERS | {"pisa": {"doc_lengths": "exact"}}
MOST_FREQUENT = {"text": 2**40, "frequent": 1000}
"""Words of queries -> ranks that they are drawn from."""


def queries(n: int, n_terms: int, words: str, seed: int) -> list[str]:
    """Return queries of distinct words."""
    rng = np.random.default_rng([seed, n_terms, MOST_FREQUENT[words]])
    return [" ".join(word(rank) for rank in _distinct(rng, n_terms, MOST_FREQUENT[words])) for _ in range(n)]


def _distinct(rng: np.random.Generator, n: int, end: int) -> list[int]:
    drawn: dict[int, None] = {}
    while len(drawn) < n:
        drawn.update(dict.fromkeys(rank for rank in ranks(rng, n).tolist() if rank < end))
    return list(drawn)[:n]


def built(command: list[str], index: Path, args: argparse.Namespace) -> tuple[float, int]:
    """Build an index; return its CPU seconds, those of child processes included, and its bytes."""
    before = os.times()
    watched([*command, "build", str(args.source), str(index), "1"], index.with_suffix(".log"), args.timeout)
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, sum(path.stat().st_size for path in index.rglob("*") if path.is_file())


def searched(workers: dict[str, Worker], args: argparse.Namespace) -> list[list[str]]:
    """Return the rows of the table of times."""
    rows = []
    for words in args.words:
        for n_terms in args.terms:
            texts = queries(args.queries, n_terms, words, args.seed)
            for k in args.k:
                times: dict[str, list[float]] = {engine: [] for engine in workers}
                for _ in range(args.rounds + 1):
                    for engine, worker in workers.items():
                        times[engine].append(mean(worker.ask("cpu", texts, k)))
                figures = [f"{median(values[1:]):.2f}" for values in times.values()]
                rows.append([words, str(n_terms), str(k), *figures])
    return rows


def agreement(workers: dict[str, Worker], args: argparse.Namespace) -> list[str]:
    """Return a line for each peer: its share of LongRank's ten best documents at the peer's settings."""
    texts, k = queries(args.queries, 5, args.words[0], args.seed), min(10, args.docs)
    lines = []
    for engine, worker in workers.items():
        if engine in SETTINGS and "longrank" in workers:
            ours = workers["longrank"].ask("top", texts, k, settings=SETTINGS[engine])
            share = compared(ours, worker.ask("found", texts, k), FACTORS.get(engine, 1.0))["overlap"]
            lines.append(f"- {engine}: {100 * share:.2f}% of LongRank's top 10")
    return lines


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="keeps the generated documents")
    parser.add_argument("--docs", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--words", nargs="*", choices=list(MOST_FREQUENT), default=list(MOST_FREQUENT))
    parser.add_argument("--terms", type=int, nargs="*", default=[2, 5, 10])
    parser.add_argument("--k", type=int, nargs="*", default=[10, 100, 1000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engines", nargs="*", default=list(ENGINES), choices=ENGINES)
    parser.add_argument("--python", nargs="*", default=[], metavar="ENGINE=PYTHON")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for any one step of an engine")
    return parser.parse_args()


def commands(args: argparse.Namespace) -> dict[str, list[str]]:
    """Return the command of each engine that can be imported; say which cannot."""
    pythons = dict(pair.split("=", 1) for pair in args.python)
    found = {engine: [pythons.get(engine, sys.executable), str(PROGRAM), engine] for engine in args.engines}
    for engine, command in list(found.items()):
        if reason := _absent(command):
            print(f"{engine}: not installed{reason}")
            del found[engine]
    return found


def _absent(command: list[str]) -> str:
    """Return why the engine of a command cannot be started: its last words, in brackets; empty if it can."""
    try:
        done = subprocess.run([*command, "installed"], capture_output=True, text=True, check=False)
    except OSError as error:
        return f" ({error.strerror})"
    return f" ({done.stderr.strip().splitlines()[-1]})" if done.returncode else ""


def main() -> None:
    args = parsed()
    args.folder = args.folder.resolve()
    args.folder.mkdir(parents=True, exist_ok=True)
    args.source = generated(args.docs, 1, args.seed, args.folder).source
    engines, workers = commands(args), {}
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        sizes = {engine: built(command, folder / f"{engine}.index", args) for engine, command in engines.items()}
        rows = [[engine, f"{seconds:.1f}", f"{size / 2**20:,.0f}"] for engine, (seconds, size) in sizes.items()]
        print(table(["engine", "build, CPU s", "index, MiB"], rows), flush=True)
        try:
            for engine, command in engines.items():
                log = folder / f"{engine}.log"
                workers[engine] = Worker([*command, "serve", str(folder / f"{engine}.index")], log, args.timeout)
            print(table(["words", "terms", "k", *workers], searched(workers, args)))
            print("\n".join(agreement(workers, args)))
        finally:
            for worker in workers.values():
                worker.stop()


if __name__ == "__main__":
    main()
