"""The first half of a build: a batch of documents becomes a segment, a small inverted index of its own.

A segment is a pure function of its documents and the options, so it does not matter which process
writes it. Its terms and ids are sorted (by their UTF-8 bytes), which is what lets `merge` stream.

    terms              sorted; postings of term i are docs/tfs[starts[i]:starts[i + 1]]
    docs, tfs          document number within the segment, ascending; how often the term occurs there
    forward_counts, forward_terms, forward_tfs   the same the other way round: how many terms each
                       document has, their numbers, ascending, and how often each occurs
    lengths            terms per document
    ids, titles, texts, places (FILE:LINE), span_counts and spans
    sorted_ids, id_order   the ids in order, and the number of the document each belongs to
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from longrank.errors import InputError
from longrank.index.arrays import Array, ArrayFile, Strings, write_array, write_strings
from longrank.index.options import IndexOptions
from longrank.text.analysis import ANALYZERS
from longrank.types import Document

if TYPE_CHECKING:
    from longrank.formats.corpora import Located


FORWARD = ("forward_counts", "forward_terms", "forward_tfs")


class Segment(NamedTuple):
    """A written segment: where it is, and what is needed to plan the merge."""

    folder: Path
    n_docs: int
    n_nonempty: int
    n_tokens: int
    n_postings: int
    max_tf: int

    def strings(self, name: str) -> Strings:
        """Open one of its lists of strings."""
        return Strings.filed(self.folder, name)

    def array(self, name: str) -> ArrayFile:
        """Open one of its arrays."""
        return ArrayFile(self.folder / name, self.type_of(name))

    def type_of(self, name: str) -> str:
        """Return the type of one of its arrays."""
        types = {"starts": "<u8", "tfs": narrowest(self.max_tf), "forward_tfs": narrowest(self.max_tf)}
        return types.get(name, "<u4")


def narrowest(largest: int) -> str:
    """Return the narrowest type that holds all occurrences up to `largest`: ``<u1``, ``<u2`` or ``<u4``."""
    return next(width for width in ("<u1", "<u2", "<u4") if largest <= np.iinfo(width).max)


def write_segment(folder: Path, located: Sequence[Located], options: IndexOptions) -> Segment:
    """Index one batch of documents into the new folder `folder`.

    Raises:
        InputError: a text cannot be written as UTF-8.
    """
    folder.mkdir()
    _write_documents(folder, located)
    return _write_postings(folder, located, options)


def _write_documents(folder: Path, located: Sequence[Located]) -> None:
    documents = [one.document for one in located]
    ids = [_encoded(d, d.doc_id) for d in documents]
    order = sorted(range(len(ids)), key=ids.__getitem__)
    write_strings(folder, "ids", ids)
    write_strings(folder, "sorted_ids", [ids[i] for i in order])
    write_array(folder / "id_order", order, "<u4")
    write_strings(folder, "titles", [_encoded(d, d.title) for d in documents])
    write_strings(folder, "texts", [_encoded(d, d.text) for d in documents])
    write_strings(folder, "places", [f"{one.path}\n{one.line or 0}".encode(errors="surrogatepass") for one in located])
    write_array(folder / "span_counts", [len(d.passages) for d in documents], "<u4")
    write_array(folder / "spans", [offset for d in documents for span in d.passages for offset in span], "<u4")


def _encoded(document: Document, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"document {document.doc_id!r}: {error.reason}", got=text[error.start]) from None


class _Numbers(dict[str, int]):
    """term -> its number, given out as terms appear."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


def _write_postings(folder: Path, located: Sequence[Located], options: IndexOptions) -> Segment:
    analyzer, numbers = ANALYZERS[options.analyzer], _Numbers()
    tokens, lengths = array("I"), []
    for one in located:
        terms = analyzer(options.indexed(one.document)) * options.original_copies + analyzer(one.expansion)
        tokens.extend(map(numbers.__getitem__, terms))
        lengths.append(len(terms))
    terms = sorted(numbers)  # by code point, which is by UTF-8 byte
    forward = _forward(_renumbered(tokens, [numbers[t] for t in terms]), np.array(lengths))
    starts, docs, tfs = _inverted(*forward, len(terms))
    write_strings(folder, "terms", [term.encode() for term in terms])
    nonempty = sum(length > 0 for length in lengths)
    segment = Segment(folder, len(located), nonempty, len(tokens), len(docs), int(tfs.max(initial=0)))
    arrays: dict[str, Array] = {"starts": starts, "docs": docs, "tfs": tfs, "lengths": np.array(lengths)}
    arrays |= zip(FORWARD, forward, strict=True)
    for name, values in arrays.items():
        write_array(folder / name, values, segment.type_of(name))
    return segment


def _renumbered(tokens: array[int], order: list[int]) -> Array:
    """Number the tokens' terms by their place in the sorted list."""
    rank = np.empty(len(order), np.uint64)
    rank[order] = np.arange(len(order), dtype=np.uint64)
    return rank[np.frombuffer(tokens, np.uint32)] if len(tokens) else np.empty(0, np.uint64)


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
    """Turn that round into (starts, docs, tfs)."""
    order = np.argsort(terms, kind="stable")  # documents stay ascending
    docs = np.repeat(np.arange(len(counts), dtype=np.uint32), counts)[order]
    return np.searchsorted(terms[order], np.arange(n_terms + 1, dtype=np.uint64)), docs, tfs[order]
