"""Living documents of several segments, presented as an index of these documents alone.

A document has a *slot*: its place among the documents of all segments, deleted documents included. Numbers count the
living documents only, in the order of the slots. Terms are numbered in their sorted order, over all segments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from longrank.index.arrays import Array
from longrank.index.documents import Documents, Slots
from longrank.index.living_terms import LivingTerms
from longrank.index.parts import Int64s, Part
from longrank.index.postings import Forward, Postings
from longrank.index.sorted_lists import Union, united
from longrank.types import Document


class LivingDocuments:
    """Living documents by number and by id; has the methods of `longrank.index.documents.Documents`."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        dead = np.concatenate([part.dead for part in parts])
        self._bases = np.concatenate(([0], np.cumsum([len(part.dead) for part in parts])))
        self._dead, self._living = np.flatnonzero(dead), np.flatnonzero(~dead)

    @cached_property
    def slots(self) -> Slots:
        """The slots of all documents."""
        lengths = np.concatenate([part.documents.lengths for part in self._parts])
        lengths[self._dead] = 0
        numbers = united([part.documents.sorted_ids for part in self._parts]).numbers
        ranks = [ids[part.documents.id_ranks] for part, ids in zip(self._parts, numbers, strict=True)]
        return Slots(self._bases, lengths, np.concatenate(ranks).astype(np.uint32), self._dead)

    @cached_property
    def lengths(self) -> Array:
        """uint32[D], terms per document."""
        lengths: Array = self.slots.lengths[self._living]
        return lengths

    @cached_property
    def id_order(self) -> Array:
        """uint32[D], the documents in the order of their ids."""
        return np.argsort(self.slots.ranks[self._living], kind="stable").astype(np.uint32)

    @cached_property
    def id_ranks(self) -> Array:
        """uint32[D], the place of each document in sorted ids."""
        ranks = np.empty(len(self), np.uint32)
        ranks[self.id_order] = np.arange(len(self), dtype=np.uint32)
        return ranks

    def __len__(self) -> int:
        return len(self._living)

    def __iter__(self) -> Iterator[Document]:
        return map(self.at, range(len(self)))

    def place(self, number: int) -> tuple[int, int]:
        """Return (position of the segment, number in the segment) of a document."""
        slot = int(self._living[number])
        part = int(np.searchsorted(self._bases, slot, side="right")) - 1
        return part, slot - int(self._bases[part])

    def doc_id(self, number: int) -> str:
        """Return the id of a document."""
        part, place = self.place(number)
        return self._parts[part].documents.doc_id(place)

    def doc_ids(self, numbers: NDArray[np.integer]) -> list[str]:
        """Return the ids of some documents."""
        slots = self._living[numbers]
        homes = np.searchsorted(self._bases, slots, side="right") - 1
        return _by_home(homes, slots - self._bases[homes], [part.documents.doc_ids for part in self._parts])

    def number(self, doc_id: str) -> int:
        """Return the number of a document.

        Raises:
            KeyError: no such document.
        """
        for part, base in zip(self._parts, self._bases.tolist(), strict=False):
            place = part.documents.find(doc_id)
            if place is not None and not part.dead[place]:
                return int(np.searchsorted(self._living, base + place))
        raise KeyError(doc_id)

    def at(self, number: int) -> Document:
        """Return the document with a number."""
        part, place = self.place(number)
        return self._parts[part].documents.at(place)


class LivingPostings:
    """Terms of living documents; has the methods of `longrank.index.postings.Postings`."""

    def __init__(self, parts: Sequence[Part], documents: LivingDocuments) -> None:
        self._parts, self._documents = parts, documents
        self.found = LivingTerms(parts).found

    @cached_property
    def union(self) -> Union:
        """Numbers of the terms of each segment."""
        return united([part.postings.sorted_terms for part in self._parts])

    @cached_property
    def _statistics(self) -> tuple[Int64s, Int64s]:
        dfs, counts = np.zeros(self.union.size, np.int64), np.zeros(self.union.size, np.int64)
        for part, numbers in zip(self._parts, self.union.numbers, strict=True):
            own = np.arange(len(part.postings))
            dfs[numbers] += part.dfs(own)
            counts[numbers] += part.counts(own)
        return dfs, counts

    def __len__(self) -> int:
        return int(np.count_nonzero(self._statistics[0]))

    def __iter__(self) -> Iterator[str]:
        return iter(self.strings(np.flatnonzero(self._statistics[0])))

    def number(self, term: str) -> int | None:
        """Return the number of a term; None if no living document has it."""
        for part, numbers in zip(self._parts, self.union.numbers, strict=True):
            place = part.postings.number(term)
            if place is not None:
                number = int(numbers[place])
                return number if self._statistics[0][number] else None
        return None

    def strings(self, numbers: NDArray[np.integer]) -> list[str]:
        """Return the terms with these numbers."""
        homes = self.union.homes[numbers]
        places = np.empty(len(numbers), np.int64)
        for i in np.unique(homes).tolist():
            places[homes == i] = np.searchsorted(self.union.numbers[i], numbers[homes == i])
        return _by_home(homes, places, [part.postings.strings for part in self._parts])

    def spelled(self, numbers: NDArray[np.integer]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return (the UTF-8 bytes of these terms, one after another; their offsets, int64[n + 1])."""
        terms = [term.encode() for term in self.strings(numbers)]
        bounds = np.concatenate(([0], np.cumsum(list(map(len, terms)), dtype=np.int64)))
        return np.frombuffer(b"".join(terms), np.uint8), bounds

    def dfs(self, numbers: NDArray[np.integer]) -> Int64s:
        """Return the number of living documents with each of these terms."""
        dfs: Int64s = self._statistics[0][numbers]
        return dfs

    def counts(self, numbers: NDArray[np.integer]) -> Int64s:
        """Return the occurrences of each of these terms in all living documents together."""
        counts: Int64s = self._statistics[1][numbers]
        return counts

    def df(self, term: str) -> int:
        """Return the number of living documents with the term."""
        return int(self.found([term]).dfs.sum())

    def count(self, term: str) -> int:
        """Return the occurrences of the term in all living documents together."""
        return int(self.found([term]).counts.sum())

    def of(self, term: str) -> tuple[NDArray[np.uint32], Array]:
        """Return (document numbers, ascending; occurrences in each), both [df]."""
        slots = self._documents.slots
        docs, tfs = [np.empty(0, np.int64)], [np.empty(0, np.uint32)]
        for part, base in zip(self._parts, slots.bases.tolist(), strict=False):
            some_docs, some_tfs = part.postings.of(term)
            living = ~part.dead[some_docs]
            docs.append(slots.numbers(some_docs[living].astype(np.int64) + base))
            tfs.append(some_tfs[living].astype(np.uint32))
        return np.concatenate(docs).astype(np.uint32), np.concatenate(tfs)


class LivingForward:
    """Terms of each living document; has the method of `longrank.index.postings.Forward`."""

    def __init__(self, parts: Sequence[Part], documents: LivingDocuments, postings: LivingPostings) -> None:
        self._parts, self._documents, self._postings = parts, documents, postings

    def of(self, number: int) -> tuple[NDArray[np.uint32], Array]:
        """Return (term numbers, ascending; occurrences in the document), both [distinct terms]."""
        part, place = self._documents.place(number)
        terms, tfs = self._parts[part].forward.of(place)
        return self._postings.union.numbers[part][terms].astype(np.uint32), tfs


Readers: TypeAlias = tuple[Documents | LivingDocuments, Postings | LivingPostings, Forward | LivingForward]


def documents_of(parts: Sequence[Part]) -> Documents | LivingDocuments:
    """Return the living documents of some segments."""
    is_whole = len(parts) == 1 and not parts[0].dead.any()
    return parts[0].documents if is_whole else LivingDocuments(parts)


def readers_of(parts: Sequence[Part]) -> Readers:
    """Return documents, postings and forward index of the living documents of some segments."""
    documents = documents_of(parts)
    if not isinstance(documents, LivingDocuments):
        return documents, parts[0].postings, parts[0].forward
    postings = LivingPostings(parts, documents)
    return documents, postings, LivingForward(parts, documents, postings)


def _by_home(homes: NDArray[np.integer], places: Int64s, readers: Sequence[Callable[[Int64s], list[str]]]) -> list[str]:
    """Read strings from several segments, each `places[i]` by the reader of the segment ``homes[i]``."""
    if len(readers) == 1:
        return readers[0](places)
    values = np.empty(len(homes), np.object_)
    order = np.argsort(homes, kind="stable")
    bounds = np.searchsorted(homes[order], np.arange(len(readers) + 1))
    for reader, (first, end) in zip(readers, pairwise(bounds.tolist()), strict=True):
        if first < end:
            values[order[first:end]] = reader(places[order[first:end]])
    return values.tolist()
