"""Write the living documents of a segment as the input of a merge.

The result is the segment that `longrank.index.segments` would write for these documents, so merged segments have the
bytes of a new build.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from longrank.index.arrays import Array, ArrayWriter, StringsWriter, write_array
from longrank.index.parts import Bools, Part
from longrank.index.segments import FORWARD, METADATA, Segment

_DOCUMENTS = 64  # documents copied at a time
_POSTINGS = 1 << 21  # postings copied at a time


def write_living(part: Part, folder: Path) -> Segment:
    """Write the living documents of `part` into the new folder `folder`."""
    folder.mkdir()
    living = ~part.dead
    _write_documents(part, living, folder)
    _write_metadata(part, living, folder)
    max_tf = max((int(tfs.max(initial=0)) for _, tfs in _forward(part, living)), default=0)
    segment = Segment(folder, part.n_living, part.n_nonempty, part.total_terms, 0, max_tf)
    n_postings, numbers = _write_postings(part, living, segment)
    _write_forward(part, living, segment, numbers)
    return segment._replace(n_postings=n_postings)


def _write_documents(part: Part, living: Bools, folder: Path) -> None:
    documents, numbers = part.documents, np.flatnonzero(living)
    for name, strings in documents.strings.items():
        with StringsWriter(folder, name) as writer:
            for first in range(0, len(numbers), _DOCUMENTS):
                writer.extend([strings[number] for number in numbers[first : first + _DOCUMENTS].tolist()])
    with StringsWriter(folder, "places") as writer:  # ids are distinct, so no message names a place
        writer.extend([b"\n0"] * len(numbers))
    order = documents.id_order[living[documents.id_order]]
    with StringsWriter(folder, "sorted_ids") as writer:
        for first in range(0, len(order), _DOCUMENTS):
            writer.extend([documents.strings["ids"][n] for n in order[first : first + _DOCUMENTS].tolist()])
    write_array(folder / "id_order", (np.cumsum(living) - 1)[order], "<u4")
    write_array(folder / "lengths", documents.lengths[living], "<u4")
    counts, spans = documents.span_counts, documents.spans.reshape(-1, 2)
    write_array(folder / "span_counts", counts[living], "<u4")
    write_array(folder / "spans", spans[np.repeat(living, counts)].ravel(), "<u4")


def _write_metadata(part: Part, living: Bools, folder: Path) -> None:
    """Write the metadata of living documents as JSON objects, if any document has metadata."""
    if part.metadata is None or not any(living[number] for number, _ in part.metadata.texts()):
        return
    places = np.cumsum(living) - 1
    with StringsWriter(folder, METADATA) as writer:
        done = 0
        for number, text in part.metadata.texts():
            if living[number]:
                place = int(places[number])
                writer.extend([*[b""] * (place - done), text.encode()])
                done = place + 1
        writer.extend([b""] * (part.n_living - done))


def _write_postings(part: Part, living: Bools, segment: Segment) -> tuple[int, Array]:
    """Write the terms of living documents; return (postings, new number of each term)."""
    starts, docs, tfs = part.postings.starts, part.postings.docs, part.postings.tfs
    new_numbers = (np.cumsum(living) - 1).astype(np.uint32)
    dfs = part.dfs(np.arange(len(part.postings)))
    kept = np.flatnonzero(dfs)
    with StringsWriter(segment.folder, "terms") as terms:
        for first in range(0, len(kept), _POSTINGS >> 6):
            text, bounds = part.postings.spelled(kept[first : first + (_POSTINGS >> 6)])
            gathered = text.tobytes()
            terms.extend([gathered[a:b] for a, b in zip(bounds.tolist(), bounds[1:].tolist(), strict=False)])
    write_array(segment.folder / "starts", np.concatenate(([0], np.cumsum(dfs[kept]))), segment.type_of("starts"))
    with ExitStack() as stack:
        new_docs = stack.enter_context(ArrayWriter(segment.folder / "docs", segment.type_of("docs")))
        new_tfs = stack.enter_context(ArrayWriter(segment.folder / "tfs", segment.type_of("tfs")))
        for first in range(0, int(starts[-1]), _POSTINGS):
            some = docs[first : first + _POSTINGS]
            new_docs.append(new_numbers[some[living[some]]])
            new_tfs.append(tfs[first : first + _POSTINGS][living[some]])
    return int(dfs.sum()), (np.cumsum(dfs > 0) - 1).astype(np.uint32)


def _write_forward(part: Part, living: Bools, segment: Segment, numbers: Array) -> None:
    counts, terms, tfs = FORWARD
    write_array(segment.folder / counts, part.forward.counts[living], segment.type_of(counts))
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
