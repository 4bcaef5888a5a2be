"""Build an index in shards: segments that the workers of an engine write side by side.

documents -> batches -> segments (by workers) -> groups of neighbours -> shards (by workers) -> one atomic step

The statistics of an index are sums over its segments, so scores and ranks are those of a single segment. Batches and
groups depend on the documents and the number of shards alone, so the bytes do, too.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import chain, islice, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from longrank.engines import Engine
from longrank.errors import InputError
from longrank.index.batches import Batch
from longrank.index.merge import distinct_ids, merge
from longrank.index.options import IndexOptions
from longrank.index.publishing import Finished, finish
from longrank.index.rewriting import link
from longrank.index.segments import Segment
from longrank.index.workers import attempt

MOST = 256  # shards; a batch for each is in memory at the beginning


def check_shards(n: int) -> None:
    """Refuse a number of shards that is out of range.

    Raises:
        InputError: names the range.
    """
    if not isinstance(n, int) or not 1 <= n <= MOST:
        raise InputError(f"shards must be 1 to {MOST}", got=n)


def at_least(batches: Iterator[Batch], n: int) -> Iterator[Batch]:
    """Yield batches; where there are fewer than `n`, their documents in `n` batches.

    Raises:
        InputError: fewer than `n` documents.
    """
    first = list(islice(batches, n))
    parts = first if len(first) == n else _parted(first, n)
    while parts:
        yield parts.pop(0)
    yield from batches


def _parted(batches: Sequence[Batch], n: int) -> list[Batch]:
    columns = [list(chain.from_iterable(getattr(batch, field.name) for batch in batches)) for field in fields(Batch)]
    n_docs = len(columns[0])
    if n_docs < n:
        raise InputError("more shards than documents", got=n, fix=f"--shards {n_docs} or fewer" if n_docs else None)
    bounds = pairwise(n_docs * i // n for i in range(n + 1))
    return [Batch(*(column[first:last] for column in columns)) for first, last in bounds]


def grouped(segments: Sequence[Segment], n: int) -> list[Sequence[Segment]]:
    """Cut segments into `n` groups of neighbours with about the same number of words, none of them empty."""
    ends = np.cumsum([segment.n_tokens + segment.n_docs for segment in segments])
    groups, first = [], 0
    for i in range(1, n + 1):
        last = int(np.searchsorted(ends, ends[-1] * i // n)) + 1
        last = min(max(last, first + 1), len(segments) - (n - i))
        groups.append(segments[first:last])
        first = last
    return groups


class _Shard(NamedTuple):
    segments: Sequence[Segment]
    folder: Path
    options: IndexOptions


def write_shards(
    segments: Sequence[Segment], n: int, work: Path, options: IndexOptions, engine: Engine
) -> list[Finished]:
    """Merge segments into `n` shards in the folder `work`, and remove the segments.

    Raises:
        InputError: two documents have the same id; names both places.
        LongRankError: a worker was killed.
    """
    for _ in distinct_ids(segments):
        pass
    groups = grouped(segments, n)
    tasks = (_Shard(group, work / f"shard-{i:06d}", options) for i, group in enumerate(groups))
    finished: dict[int, Finished] = {}
    for number, shard in engine.each(_write, tasks):
        finished[number] = shard
        for segment in groups[number]:
            shutil.rmtree(segment.folder)
    return [finished[number] for number in range(n)]


def _write(shard: _Shard) -> Finished:
    with TemporaryDirectory(dir=shard.folder.parent, prefix=".links-") as links, attempt(shard.folder) as own:
        finished = finish(own, merge([_linked(segment, Path(links)) for segment in shard.segments], own, shard.options))
    return finished._replace(folder=shard.folder)


def _linked(segment: Segment, folder: Path) -> Segment:
    """Return the segment by links to its files: a merge removes these, and the segment stays until it is done."""
    linked = folder / segment.folder.name
    linked.mkdir()
    for file in segment.folder.iterdir():
        link(file, linked / file.name)
    return segment._replace(folder=linked)
