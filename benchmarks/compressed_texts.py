"""Measure an index with compressed texts beside an index with plain texts.

    python -m benchmarks.compressed_texts --folder DIR [COLLECTION...] [--docs 200000]

Collections are folders or files that `longrank index` takes; without any, `--docs` documents of 300 generated words.
For each collection: bytes of the texts and of the whole index, processor seconds of both builds, and the processor
milliseconds in which 100 random documents are read, from an index that was just opened (median of 50). Prints a JSON
object per collection. The indexes are removed.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks.filters import records
from longrank.index import Index

READ, TIMES = 100, 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="*", type=Path)
    parser.add_argument("--folder", type=Path, required=True, help="for the indexes")
    parser.add_argument("--docs", type=int, default=200_000)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for collection in args.collections or [None]:
        report: dict[str, Any] = {"collection": str(collection) if collection else f"{args.docs} generated"}
        for name, compress in (("plain", False), ("compressed", True)):
            source = records(args.docs, 300) if collection is None else str(collection)
            report[name] = measured(source, args.folder / "measured.index", compress=compress)
        ratio = report["compressed"]["text_bytes"] / report["plain"]["text_bytes"]
        print(json.dumps(report | {"ratio": round(ratio, 3)}), flush=True)


def measured(source: Any, path: Path, *, compress: bool) -> dict[str, float]:
    """Build an index, measure it and remove it."""
    began = time.process_time()
    index = Index.build(source, path, compress=compress)
    seconds = time.process_time() - began
    sizes = {file.name: file.stat().st_size for file in path.rglob("*") if file.is_file()}
    rng, ids = random.Random(1), [index.doc_id(number) for number in range(len(index))]
    times = [reading(path, rng.sample(ids, min(READ, len(ids)))) for _ in range(TIMES)]
    shutil.rmtree(path)
    return {
        "documents": len(ids),
        "text_bytes": sum(size for name, size in sizes.items() if name.startswith("text")),
        "index_bytes": sum(sizes.values()),
        "build_processor_s": round(seconds, 2),
        "read_100_ms": round(statistics.median(times), 2),
    }


def reading(path: Path, ids: list[str]) -> float:
    """Return the processor milliseconds in which documents are read from an index that was just opened."""
    index = Index(path)
    began = time.process_time()
    for doc_id in ids:
        index.document(doc_id)
    return 1000 * (time.process_time() - began)


if __name__ == "__main__":
    main()
