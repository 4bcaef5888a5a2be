"""Merge segments, whatever their number, into an index: the second half of a build.

Terms are merged in blocks: ranges of the alphabet with a bounded number of terms in all segments together. In each
block, terms get their final numbers; then the postings of as many terms as fit a buffer are gathered from all
segments and appended. Ids are merged in such blocks, too, where equal ids meet. Memory grows with the collection by
5 bytes per document only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from longrank.errors import InputError
from longrank.index.arrays import Array, ArrayWriter, Strings, StringsWriter, write_array
from longrank.index.compressed_texts import write_compressed
from longrank.index.metadata import NAME as METADATA_FILE
from longrank.index.metadata_writing import Copied, Records, Source, write_metadata
from longrank.index.options import IndexOptions
from longrank.index.packing import PackedWriter
from longrank.index.postings import term_runs
from longrank.index.segments import FORWARD, METADATA, PLACES, Segment, narrowest
from longrank.index.similarity import length_codes

_BLOCK = 1 << 18  # strings of all segments merged at a time
_SAMPLE = 1 << 10  # every n-th string is read to find the blocks
_BUFFER = 1 << 21  # postings gathered at a time (20 bytes each)


def merge(segments: Sequence[Segment], folder: Path, options: IndexOptions) -> dict[str, Any]:
    """Write the merged index into the new folder `folder`, and remove the merged files of the segments.

    Args:
        segments: in the order of their documents.
        folder: must not exist.
        options: the options of the build.

    Returns:
        What the folder's manifest holds besides the files.

    Raises:
        InputError: two documents have the same id; names both places.
    """
    folder.mkdir()
    _merge_ids(segments, folder)
    tf_type = narrowest(max(segment.max_tf for segment in segments))
    _merge_postings(segments, folder)
    _merge_forward(segments, folder, tf_type)
    _merge_documents(segments, folder, options)
    _merge_metadata(segments, folder)
    return {
        "options": options.as_json(),
        "n_nonempty": sum(segment.n_nonempty for segment in segments),
        "total_terms": sum(segment.n_tokens for segment in segments),
        "tf_type": tf_type,
    }


def _remove(segments: Sequence[Segment], *names: str) -> None:
    """Remove merged files, so that the disk does not hold the data twice."""
    for segment in segments:
        for name in names:
            (segment.folder / name).unlink()


# --- blocks -----------------------------------------------------------------------------------


class _Part(NamedTuple):
    """The strings of a segment in a block: ``[start:start + len(strings)]``."""

    segment: int
    start: int
    strings: list[bytes]


def _blocks(lists: Sequence[Strings]) -> Iterator[list[_Part]]:
    """Cut sorted lists at the same places, so that about `_BLOCK` strings lie between two cuts."""
    cuts = _cuts(lists)
    begins = [0] * len(lists)
    for cut in [*cuts, None]:
        ends = [len(strings) if cut is None else bisect_left(strings, cut) for strings in lists]
        yield [_Part(i, b, lists[i][b:e]) for i, (b, e) in enumerate(zip(begins, ends, strict=True)) if b < e]
        begins = ends


def _cuts(lists: Sequence[Strings]) -> list[bytes]:
    if sum(map(len, lists)) <= _BLOCK:
        return []
    sample = sorted(strings[i] for strings in lists for i in range(0, len(strings), _SAMPLE))
    return sorted(set(sample[_BLOCK // _SAMPLE :: _BLOCK // _SAMPLE]))


def _bases(segments: Sequence[Segment]) -> list[int]:
    """Return the number of the first document of each segment."""
    return [0, *np.cumsum([s.n_docs for s in segments]).tolist()]


# --- ids --------------------------------------------------------------------------------------


def _merge_ids(segments: Sequence[Segment], folder: Path) -> None:
    rank = np.empty(_bases(segments)[-1], np.uint32)
    done = 0
    with ArrayWriter(folder / "id_order", "<u4") as order:
        for block in distinct_ids(segments):
            numbers = np.fromiter((number for _, number in block), np.uint32, len(block))
            rank[numbers] = np.arange(done, done + len(block), dtype=np.uint32)
            order.append(numbers)
            done += len(block)
    write_array(folder / "id_ranks", rank, "<u4")


def distinct_ids(segments: Sequence[Segment]) -> Iterator[list[tuple[bytes, int]]]:
    """Yield (id, document number) of all segments together, sorted, in blocks.

    Raises:
        InputError: two documents have the same id; names both places.
    """
    bases = _bases(segments)
    for parts in _blocks([s.strings("sorted_ids") for s in segments]):
        block = sorted(
            (doc_id, number)
            for part in parts
            for doc_id, number in zip(part.strings, _numbers(segments, bases, part), strict=True)
        )
        _refuse_duplicates(block, segments, bases)
        yield block


def _numbers(segments: Sequence[Segment], bases: Sequence[int], part: _Part) -> list[int]:
    local = segments[part.segment].array("id_order")[part.start : part.start + len(part.strings)]
    return (local.astype(np.int64) + bases[part.segment]).tolist()  # type: ignore[no-any-return]


def _refuse_duplicates(block: Sequence[tuple[bytes, int]], segments: Sequence[Segment], bases: Sequence[int]) -> None:
    for (doc_id, first), (other, second) in pairwise(block):
        if doc_id == other:
            path, line = _place(segments, bases, second)
            before, before_line = _place(segments, bases, first)
            where = f"{before}:{before_line}" if before_line else before
            raise InputError(f"doc_id occurs twice, first at {where}", path=path, line=line, got=doc_id.decode())


def _place(segments: Sequence[Segment], bases: Sequence[int], number: int) -> tuple[str, int | None]:
    segment = int(np.searchsorted(bases, number, side="right")) - 1
    path, line = segments[segment].strings("places")[number - bases[segment]].decode(errors="surrogatepass").split("\n")
    return path, int(line) or None


# --- postings ---------------------------------------------------------------------------------


def _merge_postings(segments: Sequence[Segment], folder: Path) -> None:
    bases = _bases(segments)
    with ExitStack() as stack:
        terms = stack.enter_context(StringsWriter(folder, "terms"))
        starts = stack.enter_context(ArrayWriter(folder / "starts", "<u8"))
        counts = stack.enter_context(ArrayWriter(folder / "term_counts", "<u8"))
        packed = stack.enter_context(PackedWriter(folder, _length_codes(segments)))
        end = n_terms = 0
        for parts in _blocks([s.strings("terms") for s in segments]):
            block = _number_terms(segments, bases, parts)
            _keep_numbers(block, n_terms)
            terms.extend(block.terms)
            n_terms += len(block.terms)
            starts.append(end + np.cumsum(block.dfs) - block.dfs)
            end += int(block.dfs.sum())
            for first, last in term_runs(block.dfs, _BUFFER):
                some_docs, some_tfs = _gather(block, first, last)
                packed.append(some_docs, some_tfs, block.dfs[first:last])
                offsets = np.cumsum(block.dfs[first:last]) - block.dfs[first:last]
                counts.append(np.add.reduceat(some_tfs.astype(np.uint64), offsets))
        starts.append([end])
    _remove(segments, "docs", "tfs")


def _length_codes(segments: Sequence[Segment]) -> Array:
    """Return the length code of each document, uint8[D]."""
    return np.concatenate([length_codes(segment.array("lengths")[:]) for segment in segments])


class _Numbered(NamedTuple):
    """A segment's terms in a block: term ``start + i`` of the segment is the block's ``numbers[i]``."""

    segment: Segment
    base: int
    numbers: Array
    starts: Array


class _Block(NamedTuple):
    terms: list[bytes]
    dfs: Array
    parts: list[_Numbered]


def _number_terms(segments: Sequence[Segment], bases: Sequence[int], parts: Sequence[_Part]) -> _Block:
    terms = sorted(set().union(*(part.strings for part in parts)))
    number = {term: i for i, term in enumerate(terms)}
    dfs = np.zeros(len(terms), np.int64)
    numbered = []
    for part in parts:
        numbers = np.fromiter(map(number.__getitem__, part.strings), np.int64, len(part.strings))
        segment = segments[part.segment]
        starts = segment.array("starts")[part.start : part.start + len(numbers) + 1].astype(np.int64)
        dfs[numbers] += np.diff(starts)
        numbered.append(_Numbered(segment, bases[part.segment], numbers, starts))
    return _Block(terms, dfs, numbered)


def _gather(block: _Block, first: int, last: int) -> tuple[Array, Array]:
    """Return docs and tfs of the block's terms ``[first:last]``, term by term, documents ascending."""
    dfs = block.dfs[first:last]
    total = int(dfs.sum())
    docs, tfs = np.empty(total, np.uint32), np.empty(total, np.uint32)
    cursors = np.cumsum(dfs) - dfs
    for part in block.parts:
        low, high = np.searchsorted(part.numbers, (first, last))
        if low == high:
            continue
        starts, terms = part.starts[low : high + 1], part.numbers[low:high] - first
        sizes = np.diff(starts)
        places = np.repeat(cursors[terms] - starts[:-1], sizes) + np.arange(starts[0], starts[-1])
        docs[places] = part.segment.array("docs")[starts[0] : starts[-1]] + np.uint32(part.base)
        tfs[places] = part.segment.array("tfs")[starts[0] : starts[-1]]
        cursors[terms] += sizes
    return docs, tfs


def _keep_numbers(block: _Block, first: int) -> None:
    """Record the final term number of each term of a segment; the block's numbers begin with `first`."""
    for part in block.parts:
        with (part.segment.folder / "numbers").open("ab") as stream:
            stream.write((part.numbers + first).astype("<u4").data)


def _merge_forward(segments: Sequence[Segment], folder: Path, tf_type: str) -> None:
    with ExitStack() as stack:
        offsets = stack.enter_context(ArrayWriter(folder / "forward_offsets", "<u8"))
        terms = stack.enter_context(ArrayWriter(folder / "forward_terms", "<u4"))
        tfs = stack.enter_context(ArrayWriter(folder / "forward_tfs", tf_type))
        offsets.append([0])
        end = 0
        for segment in segments:
            ends = end + np.cumsum(segment.array("forward_counts")[:], dtype=np.int64)
            offsets.append(ends)
            end = int(ends[-1])
            if segment.n_postings:  # or there are no numbers
                terms.append(segment.array("numbers")[:][segment.array("forward_terms")[:]])
                tfs.append(segment.array("forward_tfs")[:])
            _remove([segment], *FORWARD)


# --- documents --------------------------------------------------------------------------------


def _merge_documents(segments: Sequence[Segment], folder: Path, options: IndexOptions) -> None:
    if options.compressed:
        write_compressed(segments, folder)
        _remove(segments, "texts.bytes")
    for name in ("ids", "titles") if options.compressed else ("ids", "titles", "texts"):
        with StringsWriter(folder, name) as strings:
            for segment in segments:
                strings.extend_from(segment.folder, name)
                _remove([segment], f"{name}.bytes")
    for name in ("lengths", "spans"):
        with ArrayWriter(folder / name, "<u4") as array:
            for segment in segments:
                array.append(segment.array(name)[:])
    with ArrayWriter(folder / "span_offsets", "<u8") as offsets:
        offsets.append([0])
        end = 0
        for segment in segments:
            ends = end + np.cumsum(segment.array("span_counts")[:], dtype=np.int64)
            offsets.append(ends)
            end = int(ends[-1])


def _merge_metadata(segments: Sequence[Segment], folder: Path) -> None:
    """Write the metadata file, if any document has metadata."""
    sources: list[Source] = []
    for base, segment in zip(_bases(segments), segments, strict=False):
        if (segment.folder / f"{METADATA}.bytes").exists():
            sources.append(Records(base, segment.strings(METADATA)))
        elif (segment.folder / METADATA_FILE).exists():
            sources.append(Copied(base, segment.folder / METADATA_FILE, segment.array(PLACES)[:]))
    if sources:
        write_metadata(folder, sources)
