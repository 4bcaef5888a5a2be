"""CPU time of a query in first stages, by the number of its terms and of the documents asked for.

    python -m benchmarks.first_stage_cpu --folder DIR [--docs 200000] [--python pisa=PYTHON lucene=PYTHON]

Engines: LongRank, bm25s, tantivy, PISA and Lucene (`engines.py`), each in a process of its own with one thread. PISA's
build stood still once, for a reason not found; `--timeout` ends such a run. `--python` names another Python for an
engine. Documents are those of `texts.generated`. Words of a query are distinct, and drawn as the documents' words are
(``text``), of them from the 1,000 most frequent words (``frequent``), or from the 99,000 after them (``rare``). After
passes to warm up, engines take turns in rounds.

Prints the CPU seconds, memory and bytes of each index; then, for each setting, the mean CPU time of a query in ms,
median of the rounds, and the ratio of LongRank's to the best peer's. The time includes the analysis of the query and
leaves document numbers and scores as the engine keeps them; PISA gives ids. CPU time is that of all threads, so Java's
compiler and collector count. Last come the memory of each process after its queries, without mapped files, and the
share of LongRank's best documents that each peer finds. `--indexes` keeps the indexes with the figures of their builds,
and uses them again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

from benchmarks.first_stage import FACTORS, PEERS, PROGRAM, compared, table
from benchmarks.index_sizes import n_postings, size, sizes
from benchmarks.million import anonymous_mib, ranks, word
from benchmarks.texts import generated
from benchmarks.worker import Worker, watched

ENGINES = ("longrank", "bm25s", "tantivy", "pisa", "lucene")
# PISA's idf has no 1 + in its logarithm, so frequent words weigh less and its best documents can differ
SETTINGS = PEERS | {"pisa": {"doc_lengths": "exact"}}
RANKS = {"text": (0, 2**40), "frequent": (0, 1000), "rare": (1000, 100_000)}
"""Words of queries -> ranks that they are drawn from: first, end."""


def queries(n: int, n_terms: int, words: str, seed: int) -> list[str]:
    """Return queries of distinct words."""
    rng = np.random.default_rng([seed, n_terms, RANKS[words][1]])
    return [" ".join(word(rank) for rank in _distinct(rng, n_terms, *RANKS[words])) for _ in range(n)]


def _distinct(rng: np.random.Generator, n: int, first: int, end: int) -> list[int]:
    drawn: dict[int, None] = {}
    while len(drawn) < n:
        drawn.update(dict.fromkeys(rank for rank in ranks(rng, n).tolist() if first <= rank < end))
    return list(drawn)[:n]


def built(engine: str, command: list[str], folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Build an index, unless it is in the folder; return figures of its build.

    Returns:
        CPU seconds, those of child processes included, the peak of the anonymous memory of all processes in MiB, and
        the bytes of the index, of its postings and of bounds in other files.
    """
    index, kept = folder / f"{engine}.index", folder / f"{engine}.json"
    if not kept.exists():
        before = os.times()
        _, peak = watched([*command, "build", str(args.source), str(index), "1"], folder / "build.log", args.timeout)
        after = os.times()
        seconds = after.children_user + after.children_system - before.children_user - before.children_system
        figures = {"cpu_s": seconds, "memory_mib": peak, "bytes": size(index), **sizes(engine, index)}
        kept.write_text(json.dumps(figures))
    return dict(json.loads(kept.read_text()))


def build_rows(figures: dict[str, dict[str, Any]], source: Path) -> list[list[str]]:
    """Return the rows of the table of builds."""
    n = n_postings(source)
    return [
        [
            engine,
            f"{one['cpu_s']:.1f}",
            f"{one['memory_mib']:,.0f}",
            f"{one['bytes'] / 2**20:,.0f}",
            *(f"{one[part] / n:.2f}" for part in ("postings", "bounds")),
        ]
        for engine, one in figures.items()
    ]


def searched(workers: dict[str, Worker], args: argparse.Namespace) -> list[list[str]]:
    """Return the rows of the table of times."""
    settings = [
        (words, n_terms, k, queries(args.queries, n_terms, words, args.seed))
        for words in args.words
        for n_terms in args.terms
        for k in args.k
    ]
    for _ in range(args.warm_up):  # Java compiles what it runs often
        for _, _, k, texts in settings:
            for worker in workers.values():
                worker.ask("cpu", texts, k)
    return [[words, str(n_terms), str(k), *_times(workers, texts, k, args)] for words, n_terms, k, texts in settings]


def _times(workers: dict[str, Worker], texts: list[str], k: int, args: argparse.Namespace) -> list[str]:
    """Return the figure of each engine in a setting, and the ratio of LongRank's to the best peer's."""
    times: dict[str, list[float]] = {engine: [] for engine in workers}
    for _ in range(args.rounds):
        for engine, worker in workers.items():
            times[engine].append(mean(worker.ask("cpu", texts, k)))
    figures = {engine: median(values) for engine, values in times.items()}
    peers = [value for engine, value in figures.items() if engine != "longrank"]
    ratio = f"{figures['longrank'] / min(peers):.2f}" if peers and "longrank" in figures else "-"
    return [*(f"{value:.2f}" for value in figures.values()), ratio]


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
    parser.add_argument("--words", nargs="*", choices=list(RANKS), default=list(RANKS))
    parser.add_argument("--terms", type=int, nargs="*", default=[2, 5, 10])
    parser.add_argument("--k", type=int, nargs="*", default=[10, 100, 1000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warm-up", type=int, default=2, help="passes over all queries before the rounds")
    parser.add_argument("--indexes", type=Path, help="keeps indexes and the figures of their builds")
    parser.add_argument("--builds-only", action="store_true", help="build and print the figures of the builds")
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


def measure(engines: dict[str, list[str]], folder: Path, args: argparse.Namespace) -> None:
    """Build, search and print."""
    figures = {engine: built(engine, command, folder, args) for engine, command in engines.items()}
    titles = ["engine", "build, CPU s", "memory of the build, MiB", "index, MiB"]
    print(table([*titles, "postings, bytes each", "bounds, bytes each"], build_rows(figures, args.source)), flush=True)
    if args.builds_only:
        return
    workers: dict[str, Worker] = {}
    try:
        for engine, command in engines.items():
            log = folder / f"{engine}.log"
            workers[engine] = Worker([*command, "serve", str(folder / f"{engine}.index")], log, args.timeout)
        print(table(["words", "terms", "k", *workers, "LongRank / best peer"], searched(workers, args)))
        memory = [[engine, f"{anonymous_mib(worker.process.pid):,.0f}"] for engine, worker in workers.items()]
        print(table(["engine", "memory of the process, MiB"], memory))
        print("\n".join(agreement(workers, args)))
    finally:
        for worker in workers.values():
            worker.stop()


def main() -> None:
    args = parsed()
    args.folder = args.folder.resolve()
    args.folder.mkdir(parents=True, exist_ok=True)
    args.source = generated(args.docs, 1, args.seed, args.folder).source
    engines = commands(args)
    if args.indexes:
        args.indexes.mkdir(parents=True, exist_ok=True)
        measure(engines, args.indexes.resolve(), args)
        return
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        measure(engines, Path(name), args)


if __name__ == "__main__":
    main()
