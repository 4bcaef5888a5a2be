"""Bytes of the postings in the indexes of engines."""

from __future__ import annotations

import json
from pathlib import Path

POSTINGS = {
    "longrank": ("codes", "code_begins"),
    "bm25s": ("data.csc.*", "indices.csc.*", "indptr.csc.*"),
    "tantivy": ("*.idx",),
    "pisa": ("*.block_simdbp",),
    "lucene": ("*.doc",),
}
"""Engine -> files that hold postings; of LongRank, tantivy and Lucene, bounds of scores, too."""
BOUNDS = {"pisa": ("*.bmw.[0-9][0-9]",)}
"""Engine -> files of bounds beside them."""


def sizes(engine: str, folder: Path) -> dict[str, int]:
    """Return the bytes of ``postings`` and of ``bounds`` in an index."""
    return {"postings": _bytes(folder, POSTINGS[engine]), "bounds": _bytes(folder, BOUNDS.get(engine, ()))}


def _bytes(folder: Path, patterns: tuple[str, ...]) -> int:
    return sum(path.stat().st_size for pattern in patterns for path in folder.rglob(pattern))


def size(folder: Path) -> int:
    """Return the bytes of all files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def n_postings(source: Path) -> int:
    """Return the number of distinct words of each document, all documents together, in a folder of JSONL files."""
    total = 0
    for path in sorted(source.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            total += sum(len(set(json.loads(line)["contents"].split())) for line in lines)
    return total
