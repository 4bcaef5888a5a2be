"""Write the living documents of a segment as the input of a merge.

The result is the segment that `longrank.index.segments` would write for these documents, so merged segments have the
bytes of a new build. Files that stay as they are get a second name (a hard link) instead of a copy.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from longrank.index.arrays import Array, ArrayWriter, Strings, StringsWriter, write_array
from longrank.index.compressed_texts import CompressedTexts
from longrank.index.metadata import NAME as METADATA
from longrank.index.parts import Bools, Part
from longrank.index.segments import FORWARD, PLACES, Segment

_DOCUMENTS = 64  # compressed texts copied at a time
_STRINGS = 1 << 14  # ids or terms gathered at a time
_POSTINGS = 1 << 21  # postings copied at a time

_SAME = ("id_order", "lengths", "spans", "starts", *FORWARD[1:])


def write_living(part: Part, folder: Path) -> Segment:
    """Write the living documents of `part` into the new folder `folder`."""
    folder.mkdir()
    living = ~part.dead
    segment = _rewritten(part, living, folder) if part.dead.any() else _linked(part, folder)
    if isinstance(part.documents.texts, CompressedTexts):
        _write_texts(part.documents.texts, np.flatnonzero(living), folder)
    _write_strings(folder, "sorted_ids", part.documents.strings["ids"], _living_order(part, living))
    write_array(folder / "span_counts", part.documents.span_counts[living], segment.type_of("span_counts"))
    write_array(folder / FORWARD[0], part.forward.counts[living], segment.type_of(FORWARD[0]))
    if part.metadata is not None and part.metadata.firsts(part.dead):
        link(part.folder / METADATA, folder / METADATA)
        write_array(folder / PLACES, np.where(living, np.cumsum(living) - 1, -1), segment.type_of(PLACES))
    return segment


def _linked(part: Part, folder: Path) -> Segment:
    """Link the files of a segment without deletions, and decode its postings."""
    strings = (*part.documents.strings, "terms")
    for name in (*_SAME, *(f"{name}.{end}" for name in strings for end in ("bytes", "offsets"))):
        link(part.folder / name, folder / name)
    max_tf = int(np.iinfo(part.meta["tf_type"]).max)  # has the same type as the largest occurrences
    n_postings = int(part.postings.starts[-1])
    segment = Segment(folder, part.n_living, part.n_nonempty, part.total_terms, n_postings, max_tf)
    _copy_postings(part, segment, None)
    return segment


def link(path: Path, place: Path) -> None:
    """Give a file a second name, or copy it where the file system has no links."""
    try:
        os.link(path, place)
    except OSError:  # a file system without links, or too many links
        shutil.copyfile(path, place)


def _rewritten(part: Part, living: Bools, folder: Path) -> Segment:
    """Write all without the deleted documents."""
    _write_documents(part, living, folder)
    max_tf = max((int(tfs.max(initial=0)) for _, tfs in _forward(part, living)), default=0)
    segment = Segment(folder, part.n_living, part.n_nonempty, part.total_terms, 0, max_tf)
    n_postings, numbers = _write_postings(part, living, segment)
    _write_forward(part, living, segment, numbers)
    return segment._replace(n_postings=n_postings)


def _write_documents(part: Part, living: Bools, folder: Path) -> None:
    documents = part.documents
    edges = np.flatnonzero(np.diff(living.astype(np.int8), prepend=0, append=0))
    for name, strings in documents.strings.items():
        with StringsWriter(folder, name) as writer:
            for first, last in edges.reshape(-1, 2).tolist():
                writer.extend_between(strings, first, last)
    write_array(folder / "id_order", (np.cumsum(living) - 1)[_living_order(part, living)], "<u4")
    write_array(folder / "lengths", documents.lengths[living], "<u4")
    spans = documents.spans.reshape(-1, 2)
    write_array(folder / "spans", spans[np.repeat(living, documents.span_counts)].ravel(), "<u4")


def _write_texts(texts: CompressedTexts, numbers: Array, folder: Path) -> None:
    """Write the texts of some documents uncompressed."""
    with StringsWriter(folder, "texts") as writer:
        for first in range(0, len(numbers), _DOCUMENTS):
            writer.extend([texts.encoded(number) for number in numbers[first : first + _DOCUMENTS].tolist()])


def _living_order(part: Part, living: Bools) -> Array:
    """Return the living documents in the order of their ids."""
    order = part.documents.id_order
    chosen: Array = order[living[order]]
    return chosen


def _write_strings(folder: Path, name: str, strings: Strings, places: Array) -> None:
    """Write the strings at some places of a list."""
    with StringsWriter(folder, name) as writer:
        for first in range(0, len(places), _STRINGS):
            writer.extend_gathered(*strings.gathered(places[first : first + _STRINGS]))


def _write_postings(part: Part, living: Bools, segment: Segment) -> tuple[int, Array]:
    """Write the terms of living documents; return (postings, new number of each term)."""
    dfs = part.dfs(np.arange(len(part.postings)))
    kept = np.flatnonzero(dfs)
    _write_strings(segment.folder, "terms", part.postings.sorted_terms, kept)
    write_array(segment.folder / "starts", np.concatenate(([0], np.cumsum(dfs[kept]))), segment.type_of("starts"))
    _copy_postings(part, segment, living)
    return int(dfs.sum()), (np.cumsum(dfs > 0) - 1).astype(np.uint32)


def _copy_postings(part: Part, segment: Segment, living: Bools | None) -> None:
    """Write documents and occurrences of all postings, or of living documents, which get new numbers."""
    new_numbers = None if living is None else (np.cumsum(living) - 1).astype(np.uint32)
    with ExitStack() as stack:
        new_docs = stack.enter_context(ArrayWriter(segment.folder / "docs", segment.type_of("docs")))
        new_tfs = stack.enter_context(ArrayWriter(segment.folder / "tfs", segment.type_of("tfs")))
        for docs, tfs in part.postings.runs(_POSTINGS):
            kept = slice(None) if living is None else living[docs]
            new_docs.append(docs if new_numbers is None else new_numbers[docs[kept]])
            new_tfs.append(tfs[kept])


def _write_forward(part: Part, living: Bools, segment: Segment, numbers: Array) -> None:
    _, terms, tfs = FORWARD
    with ExitStack() as stack:
        new_terms = stack.enter_context(ArrayWriter(segment.folder / terms, segment.type_of(terms)))
        new_tfs = stack.enter_context(ArrayWriter(segment.folder / tfs, segment.type_of(tfs)))
        for some_terms, some_tfs in _forward(part, living):
            new_terms.append(numbers[some_terms])
            new_tfs.append(some_tfs)


def _forward(part: Part, living: Bools) -> Iterator[tuple[Array, Array]]:
    """Yield (terms, tfs) of the living documents, several documents at a time."""
    counts, offsets = part.forward.counts, part.forward.offsets
    first = 0
    while first < len(living):
        last = max(int(np.searchsorted(offsets, offsets[first] + np.uint64(_POSTINGS), side="right")) - 1, first + 1)
        kept = np.repeat(living[first:last], counts[first:last])
        terms, tfs = part.forward.between(first, last)
        yield terms[kept], tfs[kept]
        first = last
