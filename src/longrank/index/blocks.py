# ruff: noqa: PLR0917 - compiled code takes plain arrays, by position
"""Packed postings: blocks of 128 postings of a term, each posting a code of 1, 2, 3, 4 or 8 bytes.

    code = (document - first document possible) << tf_bits | (tf - 1)

The first document possible is one past the document of the posting before. All codes of a block have the same number of
bytes and the same `tf_bits`, the fewest for its postings. Numbers are little-endian. The bytes of a term:

    at most 128 postings    kind, u2; codes
    more                    last document of each block, u4; place of each block, u4, in bytes from the term's first;
                            kind of each block, u2; the largest scores possible, 16 bytes; codes

A kind is ``bytes of a code | tf_bits << 8``. Blocks begin at even places, terms at multiples of 4. Scores of BM25 grow
with tf and shrink with length, so a posting can have a term's best score, for any k1 and b, only if no other posting
has a larger tf and a shorter document. At most eight such pairs (tf, length code) are kept; of more, the pairs of the
longest documents are one pair, which no score exceeds. A tf of 255 stands for larger ones, too; 0 for no pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.index.arrays import Array
from longrank.index.compiling import compiled

BLOCK = 128
PAIRS = 8  # (tf, length code) of the best scores of a term
_U = np.uint64
_MOST_TF = 255
PER_BLOCK = 10  # bytes of its last document, place and kind


@compiled
def encode(
    docs: NDArray[np.uint32],
    tfs: NDArray[np.uint32],
    dfs: NDArray[np.int64],
    classes: NDArray[np.uint8],
    out: NDArray[np.uint8],
    ends: NDArray[np.int64],
) -> Any:
    """Write the bytes of some terms, one after another.

    Args:
        docs: documents of all postings, ascending for each term.
        tfs: occurrences, at least 1.
        dfs: int64[T], postings of each term, at least 1.
        classes: length code of each document.
        out: zeros, as many bytes as `most_bytes` says.
        ends: int64[T], set to the end of each term in `out`.

    Returns:
        The number of bytes written.
    """
    start, place = 0, 0
    for term in range(len(dfs)):
        stop = start + dfs[term]
        if dfs[term] > BLOCK:
            place = _encode_long(docs[start:stop], tfs[start:stop], classes, out, place)
        else:
            kind = _kind(docs[start:stop], tfs[start:stop], 0)
            _write(out, place, kind, 2)
            _encode_block(docs[start:stop], tfs[start:stop], 0, kind, out[place + 2 :])
            place += 2 + dfs[term] * (kind & 255)
        place = (place + 3) & ~3
        ends[term] = place
        start = stop
    return place


@compiled
def _encode_long(docs: Array, tfs: Array, classes: Array, out: Array, begin: Any) -> Any:
    """Write the bytes of a term of several blocks at `begin`; return their end."""
    n_blocks = (len(docs) + BLOCK - 1) // BLOCK
    place = begin + n_blocks * PER_BLOCK
    _encode_pairs(docs, tfs, classes, out[place:])
    place += 2 * PAIRS
    first = np.int64(0)
    for block in range(n_blocks):
        some_docs, some_tfs = docs[block * BLOCK : (block + 1) * BLOCK], tfs[block * BLOCK : (block + 1) * BLOCK]
        kind = _kind(some_docs, some_tfs, first)
        _encode_block(some_docs, some_tfs, first, kind, out[place:])
        last = np.int64(some_docs[-1])
        _write(out, begin + 4 * block, last, 4)
        _write(out, begin + 4 * (n_blocks + block), place - begin, 4)
        _write(out, begin + 8 * n_blocks + 2 * block, kind, 2)
        place = (place + len(some_docs) * (kind & 255) + 1) & ~1
        first = last + 1
    return place


@compiled
def _encode_pairs(docs: Array, tfs: Array, classes: Array, out: Array) -> None:
    largest = np.zeros(256, np.int64)
    for i in range(len(docs)):
        code = classes[docs[i]]
        largest[code] = max(largest[code], np.int64(tfs[i]))
    n, most = 0, 0
    for code in range(256):
        if largest[code] > most:
            most = largest[code]
            n = min(n + 1, PAIRS)
            out[2 * n - 2] = min(most, _MOST_TF)
            if out[2 * n - 1] == 0:  # the last pair keeps its shortest document
                out[2 * n - 1] = code


@compiled
def _kind(docs: Array, tfs: Array, first: Any) -> Any:
    gap, most = np.int64(0), np.int64(0)
    for i in range(len(docs)):
        gap |= np.int64(docs[i]) - first
        most |= np.int64(tfs[i]) - 1
        first = np.int64(docs[i]) + 1
    bits, tf_bits = 0, 0
    while gap >> bits:
        bits += 1
    while most >> tf_bits:
        tf_bits += 1
    n_bytes = (bits + tf_bits + 7) // 8
    n_bytes = max(n_bytes, 1) if n_bytes <= 4 else 8
    return n_bytes | tf_bits << 8


@compiled
def _encode_block(docs: Array, tfs: Array, first: Any, kind: Any, out: Array) -> None:
    n_bytes, tf_bits = kind & 255, kind >> 8
    for i in range(len(docs)):
        _write(out, i * n_bytes, (np.int64(docs[i]) - first) << tf_bits | (np.int64(tfs[i]) - 1), n_bytes)
        first = np.int64(docs[i]) + 1


@compiled
def _write(out: Array, place: Any, number: Any, n_bytes: Any) -> None:
    for i in range(n_bytes):
        out[place + i] = (number >> (8 * i)) & 255


@compiled
def decode_block(codes: Array, n_bytes: Any, tf_bits: Any, first: Any, docs: Array, tfs: Array) -> None:
    """Read ``len(docs)`` postings.

    Args:
        codes: the bytes from the first code on.
        n_bytes: bytes of a code.
        tf_bits: bits of a code for the tf.
        first: the first document possible.
        docs: unsigned, set to the documents.
        tfs: unsigned, set to the occurrences.
    """
    mask, shift, doc = (_U(1) << _U(tf_bits)) - _U(1), _U(tf_bits), _U(first)
    for i in range(_U(len(docs))):
        code = _code(codes, i, n_bytes)
        doc += code >> shift
        docs[i] = doc
        tfs[i] = (code & mask) + _U(1)
        doc += _U(1)


@compiled
def _code(codes: Array, i: Any, n_bytes: Any) -> Any:
    if n_bytes == 1:
        return _U(codes[i])
    if n_bytes == 2:
        return _U(codes[_U(2) * i]) | _U(codes[_U(2) * i + _U(1)]) << _U(8)
    code, place = _U(0), i * _U(n_bytes)
    for j in range(_U(n_bytes)):
        code |= _U(codes[place + j]) << (j << _U(3))
    return code


@compiled
def decode(codes: Array, begins: Array, dfs: Array, docs: Array, tfs: Array) -> None:
    """Read the postings of some terms.

    Args:
        codes: the bytes of all terms.
        begins: int64[T], the first byte of each term.
        dfs: int64[T], postings of each term; a term may have none.
        docs: unsigned[sum of dfs], set to the documents, term by term.
        tfs: unsigned, set to the occurrences.
    """
    numbers, kinds = codes.view(np.uint32), codes.view(np.uint16)
    done = 0
    for term in range(len(dfs)):
        begin, left = begins[term], dfs[term]
        n_blocks = (left + BLOCK - 1) // BLOCK
        first = _U(0)
        for block in range(n_blocks):
            kind, place = kinds[begin >> 1], begin + 2
            if n_blocks > 1:
                kind = kinds[(begin >> 1) + 4 * n_blocks + block]
                place = begin + np.int64(numbers[(begin >> 2) + n_blocks + block])
            n = min(left, BLOCK)
            some = slice(done, done + n)
            decode_block(codes[place:], kind & 255, kind >> 8, first, docs[some], tfs[some])
            if n_blocks > 1:
                first = _U(numbers[(begin >> 2) + block]) + _U(1)
            done += n
            left -= n


def most_bytes(n_postings: int, n_terms: int) -> int:
    """Return the number of bytes that no postings of some terms exceed."""
    return 8 * n_postings + n_terms * (8 + 2 * PAIRS) + (n_postings // BLOCK + n_terms) * (PER_BLOCK + 2)
