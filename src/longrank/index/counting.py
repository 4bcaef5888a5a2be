# ruff: noqa: PLR0917 - compiled code takes plain arrays, by position
"""Compiled loops that count the terms of documents, and sort the counts by term and by document."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.index.arrays import Array
from longrank.index.compiling import compiled


class Tokens(NamedTuple):
    """The units of a part of all documents, such as their titles.

    Attributes:
        units: uint32, numbers of units, document by document.
        ends: int64[D + 1], ends of the units of each document, from 0.
        weight: int64[1], how often each unit counts.
    """

    units: NDArray[np.uint32]
    ends: NDArray[np.int64]
    weight: NDArray[np.int64]


class Counts(NamedTuple):
    """Terms of documents, with the documents in order and the terms of a document in any order.

    Attributes:
        terms: uint32[P], a term of a document.
        tfs: uint32[P], its occurrences there.
        ends: int64[D + 1], ends of the terms of each document, from 0.
        lengths: int64[D], occurrences of all terms of each document.
        dfs: int64[T], the documents of each term.
    """

    terms: NDArray[np.uint32]
    tfs: NDArray[np.uint32]
    ends: NDArray[np.int64]
    lengths: NDArray[np.int64]
    dfs: NDArray[np.int64]


@compiled
def count(parts: Any, term_ends: Array, unit_terms: Array, counts: Counts) -> None:
    """Count the terms of each document.

    Args:
        parts: a tuple of `Tokens`.
        term_ends: int64[U + 1], ends of the terms of each unit, from 0.
        unit_terms: uint32, the terms of all units.
        counts: terms and tfs have room for all occurrences, dfs are 0; changed.
    """
    places, n = np.full(len(counts.dfs), -1, np.int64), np.int64(0)
    for doc in range(len(counts.lengths)):
        begin = n
        for part in parts:
            weight = part.weight[0]
            for i in range(part.ends[doc], part.ends[doc + 1]):
                unit = part.units[i]
                for j in range(term_ends[unit], term_ends[unit + 1]):
                    term = unit_terms[j]
                    if places[term] < begin:
                        places[term] = n
                        counts.terms[n], counts.tfs[n] = term, 0
                        counts.dfs[term] += 1
                        n += 1
                    counts.tfs[places[term]] += weight
                    counts.lengths[doc] += weight
        counts.ends[doc + 1] = n


@compiled
def by_term(counts: Counts, ranks: Array, starts: Array, docs: Array, tfs: Array) -> None:
    """Sort counts by term, then by document.

    Args:
        counts: result of `count`.
        ranks: uint32, the number of each term in sorted order.
        starts: int64[n + 1], the place of the first document of each sorted term; changed by moving on by a term.
        docs, tfs: uint32[P], documents and occurrences; changed.
    """
    for doc in range(len(counts.lengths)):
        for i in range(counts.ends[doc], counts.ends[doc + 1]):
            rank = ranks[counts.terms[i]]
            place = starts[rank]
            docs[place], tfs[place] = doc, counts.tfs[i]
            starts[rank] = place + 1


@compiled
def by_document(starts: Array, docs: Array, tfs: Array, places: Array, terms: Array, doc_tfs: Array) -> None:
    """Sort postings by document, then by term.

    Args:
        starts: int64[n + 1], the place of the first posting of each term.
        docs, tfs: postings, term by term.
        places: int64[D], the place of the first term of each document; changed.
        terms, doc_tfs: uint32[P], terms and occurrences; changed.
    """
    for term in range(len(starts) - 1):
        for i in range(starts[term], starts[term + 1]):
            place = places[docs[i]]
            terms[place], doc_tfs[place] = term, tfs[i]
            places[docs[i]] = place + 1
