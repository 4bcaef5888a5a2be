"""Builds and searches an index of a million generated documents, and measures memory and time.

    python benchmarks/million.py --docs 1000000 --folder /tmp/million

Documents have 300 words on average, drawn from a Zipfian vocabulary that keeps growing, as words
of real text do. Building and searching run in processes of their own, whose anonymous memory
(RssAnon of the process and all its children together) is sampled ten times a second. What is
generated and built is kept in the folder and used again. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

WORDS_PER_DOC = 300
EXPONENT = 1.6  # of the rank distribution; 1M documents then use about two million words
CONSONANTS, VOWELS = "bcdfghklmnprstvz", "aeiou"
BLOCK = 1000


@lru_cache(1 << 18)
def word(rank: int) -> str:
    """Spell a rank: two or more syllables of consonant and vowel, then a consonant; common words are short."""
    rank, last = divmod(rank, len(CONSONANTS))
    syllables: list[str] = []
    while rank or len(syllables) < 2:
        rank, one = divmod(rank, len(CONSONANTS) * len(VOWELS))
        syllables.append(CONSONANTS[one // len(VOWELS)] + VOWELS[one % len(VOWELS)])
    return "".join(syllables) + CONSONANTS[last]


def ranks(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw n word ranks from a Zipf-Mandelbrot distribution, at most 2^40."""
    drawn = 30 * (rng.random(n) ** (-1 / (EXPONENT - 1)) - 1)
    return np.minimum(drawn, 2.0**40).astype(np.int64)


def documents(n: int, seed: int, n_words: int = WORDS_PER_DOC) -> Iterator[str]:
    """Yield the lines of a JSONL collection; a document has `n_words` in the mean."""
    for first in range(0, n, BLOCK):
        rng = np.random.default_rng([seed, first])
        lengths = rng.poisson(n_words, min(BLOCK, n - first))
        words = [word(rank) for rank in ranks(rng, int(lengths.sum())).tolist()]
        end = 0
        for number, length in enumerate(lengths.tolist(), first):
            start, end = end, end + length
            title, text = " ".join(words[start : start + 5]), " ".join(words[start + 5 : end])
            yield json.dumps({"doc_id": f"d{number:08d}", "title": title, "text": text}) + "\n"


def queries(n: int, seed: int) -> list[str]:
    rng = np.random.default_rng([seed, n])
    return [" ".join(word(rank) for rank in ranks(rng, 4).tolist()) for _ in range(n)]


def anonymous_mib(pid: int) -> float:
    """Return the anonymous memory of a process and its descendants."""
    total = 0.0
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        total += sum(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("RssAnon"))
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += sum(anonymous_mib(int(child)) for child in (task / "children").read_text().split())
    except (FileNotFoundError, ProcessLookupError):
        pass
    return total


def watched(command: list[str]) -> tuple[dict[str, float], str]:
    """Run a command; return its seconds, processor seconds and peak of anonymous memory, and its (short) output."""
    start, peak, before = time.monotonic(), 0.0, processor_seconds()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            peak = max(peak, anonymous_mib(process.pid))
            time.sleep(0.1)
        assert process.stdout is not None
        output = process.stdout.read()
    if process.returncode:
        sys.exit(f"failed: {command}")
    seconds, cpu_seconds = time.monotonic() - start, processor_seconds() - before
    figures = {"seconds": round(seconds, 1), "cpu_seconds": round(cpu_seconds, 1), "peak_rss_anon_mib": round(peak)}
    return figures, output


def processor_seconds() -> float:
    """Return the processor seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def search(index: Path, n_queries: int, seed: int) -> None:
    """Search n queries for 1000 documents each and print the times."""
    from longrank.index import Index
    from longrank.retrieval import BM25
    from longrank.types import Query

    bm25, times = BM25(Index.open(index)), []
    for number, text in enumerate(queries(n_queries, seed)):
        start = time.perf_counter()
        bm25.retrieve(Query(str(number), text), 1000)
        times.append(1000 * (time.perf_counter() - start))
    p50, p95 = np.percentile(times, (50, 95))
    print(json.dumps({"p50_ms": round(p50, 2), "p95_ms": round(p95, 2), "mean_ms": round(float(np.mean(times)), 2)}))


def measure(folder: Path, n_docs: int, *, n_queries: int, workers: int, seed: int) -> dict[str, Any]:
    """Generate, build and search; what is in the folder is used again."""
    folder.mkdir(parents=True, exist_ok=True)
    source, index = folder / f"{n_docs}.jsonl", folder / f"{n_docs}.index"
    if not source.exists():
        partial = source.with_suffix(".partial")
        with partial.open("w") as stream:
            stream.writelines(documents(n_docs, seed))
        partial.rename(source)
    longrank = [sys.executable, "-m", "longrank.cli.main"]
    built, _ = watched([*longrank, "index", str(source), "-o", str(index), "--workers", str(workers)])
    me = [sys.executable, __file__, "--folder", str(folder), "--queries", str(n_queries), "--seed", str(seed)]
    searched, times = watched([*me, "--search-only", str(index)])
    size = sum(path.stat().st_size for path in index.rglob("*") if path.is_file())
    report = {"docs": n_docs, "source_bytes": source.stat().st_size, "index_bytes": size}
    return {**report, "build": built, "search": {**searched, **json.loads(times)}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--search-only", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.search_only:
        search(args.search_only, args.queries, args.seed)
        return
    options = {"n_queries": args.queries, "workers": args.workers, "seed": args.seed}
    print(json.dumps(measure(args.folder, args.docs, **options)))


if __name__ == "__main__":
    main()
