"""Pool of first-pass and random documents, and the mutual information of its terms."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.index import Index
from longrank.retrieval.feedback.java import random_ints
from longrank.retrieval.feedback.terms import LETTERS, Int64s, occurrences, spelling
from longrank.types import Float32s


class Pool(NamedTuple):
    """Terms of at least two characters [a-z] and their documents.

    Attributes:
        terms: int64[V], term numbers, ascending.
        dfs: int64[V], documents per term.
        columns: int64[n], position in `terms` of each occurrence.
        docs: int64[n], position of each occurrence's document, ascending.
        n_docs: documents with any of these terms.
    """

    terms: Int64s
    dfs: Int64s
    columns: Int64s
    docs: Int64s
    n_docs: int

    @classmethod
    def of(cls, index: Index, numbers: Int64s) -> Pool:
        """Return the pool of the documents `numbers`."""
        occurring = occurrences(index, numbers)
        terms, columns = np.unique(occurring.terms, return_inverse=True)
        written = spelling(index, terms)
        usable = (written.kinds == LETTERS) & (written.lengths > 1)
        renumbered, kept = np.cumsum(usable) - 1, usable[columns]
        columns, docs = renumbered[columns[kept]], occurring.docs[kept]
        dfs = np.bincount(columns, minlength=int(np.count_nonzero(usable)))
        return cls(terms[usable], dfs, columns, docs, int(np.count_nonzero(np.bincount(docs))))

    def place(self, number: int) -> int | None:
        """Return the position of a term; None: it is not in the pool."""
        place = int(np.searchsorted(self.terms, number))
        return place if place < len(self.terms) and self.terms[place] == number else None

    def information(self, place: int) -> NDArray[np.float64]:
        """Return the mutual information of the term at `place` and each term, float64[V]."""
        holds = np.zeros(int(self.docs[-1]) + 1, np.bool_)
        holds[self.docs[self.columns == place]] = True
        boths = np.bincount(self.columns[holds[self.docs]], minlength=len(self.terms))
        return mutual_information(int(self.dfs[place]), self.dfs, boths, self.n_docs)


def mutual_information(x: int, ys: Int64s, boths: Int64s, n: int) -> NDArray[np.float64]:
    """Return sum of p(X, Y) ln(p(X, Y) / (p(X) p(Y))) over presence and absence of two terms in n documents.

    Probabilities are in single precision, as in Anserini.

    Args:
        x: number of documents with the first term.
        ys: int64[m], numbers of documents with the second term.
        boths: int64[m], numbers of documents with both terms.
        n: number of documents.
    """
    whole = np.float32(n)
    p_x, p_no_x = np.float32(x) / whole, np.float32(n - x) / whole
    p_ys, p_no_ys = ys.astype(np.float32) / whole, (n - ys).astype(np.float32) / whole
    return (
        _cell((n - x - ys + boths).astype(np.float32) / whole, p_no_x * p_no_ys)
        + _cell((x - boths).astype(np.float32) / whole, p_x * p_no_ys)
        + _cell((ys - boths).astype(np.float32) / whole, p_no_x * p_ys)
        + _cell(boths.astype(np.float32) / whole, p_x * p_ys)
    )


def _cell(joint: Float32s, independent: Float32s) -> NDArray[np.float64]:
    """Return p ln(p / q), 0 where p is 0."""
    possible = joint > 0
    ratio = np.divide(joint, independent, out=np.ones_like(joint), where=possible)
    return np.where(possible, joint, 0) * np.log(ratio.astype(np.float64))


def pool_documents(index: Index, first: Int64s, size: int, seed: int) -> Int64s:
    """Return the numbers of `size` documents with terms: the `first` and random documents; all of a smaller index.

    The random documents are Anserini's: java.util.Random draws positions among the documents sorted by id, with the
    same seed for every query, until the pool is full.
    """
    if size >= index.n_nonempty:
        return np.flatnonzero(index.lengths)
    drawn = _by_id(index, _drawn(seed, index.n_nonempty, size))
    new = drawn[~np.isin(drawn, first)]
    return np.concatenate((first, new[: size - len(first)]))


@lru_cache(maxsize=16)
def _drawn(seed: int, bound: int, n: int) -> Int64s:
    """Return the first `n` distinct numbers that Java draws below `bound`; n <= bound."""
    numbers: dict[int, None] = {}
    for number in random_ints(seed, bound):
        numbers[number] = None
        if len(numbers) == n:
            break
    drawn = np.fromiter(numbers, np.int64, n)
    drawn.setflags(write=False)
    return drawn


def _by_id(index: Index, places: Int64s) -> Int64s:
    """Return the numbers of the documents at `places` among the documents with terms, sorted by id."""
    empty = index.empty_ranks
    places = places + np.searchsorted(empty - np.arange(len(empty)), places, side="right")
    return index.id_order[places].astype(np.int64)
