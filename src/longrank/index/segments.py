"""Write a batch of documents as a segment, a small inverted index: the first half of a build.

A segment is a pure function of its documents and the options, whatever process writes it. Its terms and ids are
sorted by their UTF-8 bytes, so that `merge` can stream.

    terms              sorted; postings of term i are docs/tfs[starts[i]:starts[i + 1]]
    docs, tfs          document number within the segment, ascending; occurrences of the term there
    forward_counts, forward_terms, forward_tfs   of each document: the number of its terms, their numbers,
                       ascending, and their occurrences
    lengths            terms per document
    ids, titles, texts, places (FILE:LINE), span_counts and spans
    metadata           JSON objects, if any document has metadata
    sorted_ids, id_order   the sorted ids, and the document number of each
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from longrank.errors import InputError
from longrank.index.arrays import Array, ArrayFile, Strings, StringsWriter, write_array, write_strings
from longrank.index.batches import Batch
from longrank.index.options import IndexOptions

if TYPE_CHECKING:  # it loads Numba, which reading an index without a search does without
    from longrank.index.lexicon import Lexicon, Texts

METADATA = "metadata"
PLACES = "metadata_places"
"""New numbers of the documents of the metadata file in a segment that is merged again; 2^32 - 1: deleted."""
FORWARD = ("forward_counts", "forward_terms", "forward_tfs")


class Segment(NamedTuple):
    """A written segment: its folder, and the counts that the merge needs."""

    folder: Path
    n_docs: int
    n_nonempty: int
    n_tokens: int
    n_postings: int
    max_tf: int

    def strings(self, name: str) -> Strings:
        """Open a list of strings."""
        return Strings.filed(self.folder, name)

    def array(self, name: str) -> ArrayFile:
        """Open an array."""
        return ArrayFile(self.folder / name, self.type_of(name))

    def type_of(self, name: str) -> str:
        """Return the type of an array."""
        types = {
            "starts": "<u8",
            "texts.bytes": "<u1",
            "texts.offsets": "<u8",
            "tfs": narrowest(self.max_tf),
            "forward_tfs": narrowest(self.max_tf),
        }
        return types.get(name, "<u4")


def narrowest(largest: int) -> str:
    """Return the narrowest type for numbers up to `largest`: ``<u1``, ``<u2`` or ``<u4``."""
    return next(width for width in ("<u1", "<u2", "<u4") if largest <= np.iinfo(width).max)


class _Columns(NamedTuple):
    """Texts of a batch that are indexed."""

    titles: Texts
    texts: Texts
    expansions: Texts


def write_segment(folder: Path, batch: Batch, options: IndexOptions, lexicon: Lexicon) -> Segment:
    """Index a batch of documents into the new folder `folder`.

    Args:
        folder: must not exist.
        batch: the documents.
        options: the options of the build.
        lexicon: of this process; it saves time, and no result depends on it.

    Raises:
        InputError: a text cannot be written as UTF-8.
    """
    from longrank.index.lexicon import Texts

    folder.mkdir()
    expansions = [text.encode(errors="surrogatepass") for text in batch.expansions]
    columns = (_encoded(batch, batch.titles), _encoded(batch, batch.texts), expansions)
    texts = _Columns(*map(Texts.of, columns))
    _write_documents(folder, batch, texts)
    return _write_postings(folder, batch, texts, options, lexicon)


def _write_documents(folder: Path, batch: Batch, texts: _Columns) -> None:
    ids = _encoded(batch, batch.ids)
    order = sorted(range(len(ids)), key=ids.__getitem__)
    write_strings(folder, "ids", ids)
    write_strings(folder, "sorted_ids", [ids[i] for i in order])
    write_array(folder / "id_order", order, "<u4")
    for name in ("titles", "texts"):
        with StringsWriter(folder, name) as writer:
            writer.extend_joined(*getattr(texts, name))
    if any(batch.metadata):
        write_strings(folder, METADATA, _encoded(batch, batch.metadata))
    places = zip(batch.paths, batch.lines, strict=True)
    write_strings(folder, "places", [f"{path}\n{line or 0}".encode(errors="surrogatepass") for path, line in places])
    write_array(folder / "span_counts", [len(spans) for spans in batch.passages], "<u4")
    write_array(folder / "spans", [offset for spans in batch.passages for span in spans for offset in span], "<u4")


def _encoded(batch: Batch, texts: list[str]) -> list[bytes]:
    try:
        return [text.encode() for text in texts]
    except UnicodeEncodeError as error:
        doc_id = batch.ids[texts.index(error.object)]
        raise InputError(f"document {doc_id!r}: {error.reason}", got=error.object[error.start]) from None


def _write_postings(folder: Path, batch: Batch, texts: _Columns, options: IndexOptions, lexicon: Lexicon) -> Segment:
    parts = [(texts.titles, options.original_copies)] if options.index_title else []
    parts += [(texts.texts, options.original_copies), (texts.expansions, 1)]
    inverted = lexicon.inverted(parts, [name or options.analyzer for name in batch.analyzers])
    write_strings(folder, "terms", inverted.terms)
    lengths, tfs = inverted.lengths, inverted.tfs
    counts = int(np.count_nonzero(lengths)), int(lengths.sum()), len(tfs), int(tfs.max(initial=0))
    segment = Segment(folder, len(batch), *counts)
    arrays: dict[str, Array] = {"starts": inverted.starts, "docs": inverted.docs, "tfs": tfs, "lengths": lengths}
    arrays |= zip(FORWARD, (inverted.counts, inverted.forward_terms, inverted.forward_tfs), strict=True)
    for name, values in arrays.items():
        write_array(folder / name, values, segment.type_of(name))
    return segment
