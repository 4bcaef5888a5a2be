"""Measure an index that changes: added documents, searches over segments, and many small commits.

    python -m benchmarks.changing_index --folder DIR [--docs 1000000] [--commits 10000]

The index is that of `python -m benchmarks.filters --words 300`, and is built if the folder lacks it. Its files are
linked, not copied, since segments never change. Measured are

- `longrank index --add` of 1,000 documents: seconds, processor seconds and peak anonymous memory of the whole command;
- BM25 searches for the best 1,000 over eight segments (after seven such commands), and over the same documents merged,
  query by query in turn, one thread;
- commits of one document each to a small index: seconds, memory and bytes by quarters of the commits, and the most
  files of the index and open files of the process.

Prints one JSON object; `--skip-search` leaves out the merge and the searches.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.filters import milliseconds, records
from benchmarks.million import anonymous_mib, queries, watched
from longrank.index import Index
from longrank.retrieval import make_retriever
from longrank.types import Query

ADDED, SEGMENTS, WORDS = 1000, 8, 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="keeps the index")
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--commits", type=int, default=10_000, help="of one document each; 0: none")
    parser.add_argument("--small", type=int, default=5000, help="documents of the index that these commits change")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--skip-search", action="store_true")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    report: dict[str, Any] = {"documents": args.docs}
    segmented = linked(built(args.folder, args.docs), args.folder / "segmented.index")
    report["add_1000"] = [added(segmented, args.docs + n * ADDED) for n in range(SEGMENTS - 1)]
    if not args.skip_search:
        report["search"] = searched(segmented, args.folder / "merged.index", args.queries)
    if args.commits:
        report["commits"] = committed(linked(built(args.folder, args.small), args.folder / "small.index"), args.commits)
    print(json.dumps(report, indent=1))


def built(folder: Path, n: int) -> Path:
    """Return the index of n generated documents."""
    path = folder / f"filters-{n}-{WORDS}.index"
    if not path.exists():
        Index.build(records(n, WORDS), path)
    return path


def linked(index: Path, place: Path) -> Path:
    """Make a changeable twin of an index, whose segments are links."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(index, place, copy_function=os.link)
    return place


def added(index: Path, first: int) -> dict[str, float]:
    """Add 1,000 documents with numbers from `first` on, by the command; return its times and memory."""
    source = index.parent / "added.jsonl"
    with source.open("w") as stream:
        for number, record in enumerate(records(ADDED, WORDS), first):
            stream.write(json.dumps({**record, "doc_id": f"d{number:08d}"}) + "\n")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    figures = watched([sys.executable, "-m", "longrank.cli.main", "index", "--add", str(source), str(index)])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**figures, "processor_seconds": round(used, 2)}


def searched(segmented: Path, place: Path, n: int) -> dict[str, Any]:
    """Search the segments and the merged index in turn; the results must be equal."""
    began = time.perf_counter()
    merged = Index(linked(segmented, place)).merge()
    report: dict[str, Any] = {"merge_s": round(time.perf_counter() - began, 1)}
    asked = [Query(str(number), text) for number, text in enumerate(queries(n, 1))]
    retrievers = [make_retriever(index) for index in (Index(segmented), merged)]
    firsts = [round(milliseconds(lambda q, r=r: r.retrieve(q, 1000), asked[0])) for r in retrievers]
    for query in asked[:20]:
        first, second = (retriever.retrieve(query, 1000) for retriever in retrievers)
        if first != second:
            sys.exit(f"query {query.query_id}: the segments have other results than the merged index")
    taken = [[milliseconds(lambda q, r=r: r.retrieve(q, 1000), query) for r in retrievers] for query in asked]
    segments, one = (statistics.median(times) for times in zip(*taken, strict=True))
    ratio = statistics.median(before / after for before, after in taken)
    report |= {"first_query_ms": firsts, "segments_ms": round(segments, 2), "merged_ms": round(one, 2)}
    return report | {"median_ratio": round(ratio, 3)}


def committed(path: Path, n: int) -> dict[str, Any]:
    """Commit n documents, one at a time; return times, memory and bytes, and the most files on disk and open."""
    index, times, quarters, most = Index(path), [], [], (0, 0)
    for number, record in enumerate(records(n, WORDS), 1):
        began = time.perf_counter()
        with index.writer() as writer:
            writer.add([{**record, "doc_id": f"new{number}"}])
        times.append(time.perf_counter() - began)
        if number % 10 == 0:
            files = sum(1 for file in path.rglob("*") if file.is_file())
            opened = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counts, reads no names
            most = max(most[0], files), max(most[1], opened)
        if number % max(n // 4, 1) == 0:
            quarters.append(state(path, times[-(n // 4) :]))
            print(number, quarters[-1], file=sys.stderr, flush=True)
    return {
        "commits": n,
        "quarters": quarters,
        "max_s": round(max(times), 2),
        "most_files": most[0],
        "most_open": most[1],
    }


def state(path: Path, times: list[float]) -> dict[str, float]:
    """Return the mean time of some commits, and memory of the process, documents and bytes of the index after them."""
    return {
        "mean_s": round(statistics.mean(times), 4),
        "rss_anon_mib": round(anonymous_mib(os.getpid()), 1),
        "documents": len(Index(path)),
        "index_mib": round(sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / 2**20, 1),
    }


if __name__ == "__main__":
    main()
