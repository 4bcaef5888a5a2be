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

from array import array
from pathlib import Path
from typing import NamedTuple

import numpy as np

from longrank.errors import InputError
from longrank.index.arrays import Array, ArrayFile, Strings, write_array, write_strings
from longrank.index.batches import Batch
from longrank.index.options import IndexOptions
from longrank.text.analysis import ANALYZERS, Analyzer
from longrank.text.words import pieces

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


def write_segment(folder: Path, batch: Batch, options: IndexOptions) -> Segment:
    """Index a batch of documents into the new folder `folder`.

    Raises:
        InputError: a text cannot be written as UTF-8.
    """
    folder.mkdir()
    _write_documents(folder, batch)
    return _write_postings(folder, batch, options)


def _write_documents(folder: Path, batch: Batch) -> None:
    ids = _encoded(batch, batch.ids)
    order = sorted(range(len(ids)), key=ids.__getitem__)
    write_strings(folder, "ids", ids)
    write_strings(folder, "sorted_ids", [ids[i] for i in order])
    write_array(folder / "id_order", order, "<u4")
    write_strings(folder, "titles", _encoded(batch, batch.titles))
    write_strings(folder, "texts", _encoded(batch, batch.texts))
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


class _Numbers(dict[str, int]):
    """word -> number of its term from 1, in order of appearance; 0 for a word without a term.

    Each word of a text is looked up once; terms are never listed as strings.
    """

    def __init__(self, analyzer: Analyzer, terms: dict[str, int]) -> None:
        super().__init__()
        self._analyzer, self._terms = analyzer, terms

    def __missing__(self, word: str) -> int:
        term = self._analyzer.term(word)
        number = self[word] = self._terms.setdefault(term, len(self._terms) + 1) if term else 0
        return number

    def of(self, text: str) -> array[int]:
        """Return the numbers of the words of `text`, in order."""
        numbers = array("I")
        for piece in pieces(text):
            numbers.extend(filter(None, map(self.__getitem__, self._analyzer.words(piece))))
        return numbers


def _write_postings(folder: Path, batch: Batch, options: IndexOptions) -> Segment:
    known, tokens, ends = dict[str, int](), array("I"), array("q", [0])
    names = {name: _Numbers(ANALYZERS[name or options.analyzer], known) for name in sorted(set(batch.analyzers))}
    columns = (batch.titles, batch.texts, batch.expansions, batch.analyzers)
    for title, text, expansion, analyzer in zip(*columns, strict=True):
        numbers = names[analyzer]
        tokens += numbers.of(options.indexed(title, text)) * options.original_copies
        if expansion:
            tokens += numbers.of(expansion)
        ends.append(len(tokens))
    terms = sorted(known)  # by code point, the same order as by UTF-8 byte
    lengths = np.diff(ends)
    forward = _forward(_renumbered(tokens, [known[term] for term in terms]), lengths)
    starts, docs, tfs = _inverted(*forward, len(terms))
    write_strings(folder, "terms", [term.encode() for term in terms])
    nonempty = int(np.count_nonzero(lengths))
    segment = Segment(folder, len(batch), nonempty, len(tokens), len(docs), int(tfs.max(initial=0)))
    arrays: dict[str, Array] = {"starts": starts, "docs": docs, "tfs": tfs, "lengths": lengths}
    arrays |= zip(FORWARD, forward, strict=True)
    for name, values in arrays.items():
        write_array(folder / name, values, segment.type_of(name))
    return segment


def _renumbered(tokens: array[int], order: list[int]) -> Array:
    """Number the tokens' terms by their place in the sorted list."""
    places: Array = np.empty(len(order) + 1, np.uint64)
    places[order] = np.arange(len(order), dtype=np.uint64)
    renumbered: Array = places[np.asarray(tokens)]
    return renumbered


def _forward(tokens: Array, lengths: Array) -> tuple[Array, Array, Array]:
    """Turn the term numbers of all documents, one after another, into (terms per document, terms, tfs)."""
    keys = np.repeat(np.arange(len(lengths), dtype=np.uint64), lengths) << np.uint64(32) | tokens
    keys.sort()
    first = np.flatnonzero(np.diff(keys, prepend=np.uint64(2**64 - 1)))
    tfs = np.diff(first, append=len(keys))
    keys = keys[first]
    return (
        np.bincount((keys >> np.uint64(32)).astype(np.intp), minlength=len(lengths)),
        keys & np.uint64(2**32 - 1),
        tfs,
    )


def _inverted(counts: Array, terms: Array, tfs: Array, n_terms: int) -> tuple[Array, Array, Array]:
    """Invert the result of `_forward` into (starts, docs, tfs)."""
    docs = np.repeat(np.arange(len(counts), dtype=np.uint64), counts)
    order = np.argsort(terms << np.uint64(32) | docs)
    return np.searchsorted(terms[order], np.arange(n_terms + 1, dtype=np.uint64)), docs[order], tfs[order]
