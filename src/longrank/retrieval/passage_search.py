"""A first stage over stored vectors of passages: what dense and learned sparse retrieval share."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from copy import copy
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from longrank.errors import IntegrityError
from longrank.index import Index
from longrank.retrieval.noting import Noting
from longrank.retrieval.searcher import Hits, check
from longrank.types import Notes, Query, ScoredDoc, scored_docs

NOTHING = Hits(np.empty(0, np.int64), np.empty(0, np.float32))


class PassageSearch(Noting, ABC):
    """Ranks documents by their passages; safe to use from several threads.

    Args:
        index: the index of the documents.
        path: folder of the vectors, for messages.
        offsets: first passage of each document, [D + 1].
        notes: counts queries that are not searched.

    Raises:
        IntegrityError: a document without a passage.
    """

    def __init__(self, index: Index, path: Path, offsets: NDArray[np.integer], notes: Notes | None) -> None:
        if len(offsets) != len(index) + 1 or (np.diff(offsets.astype(np.int64)) < 1).any():
            raise IntegrityError(f"{path}: a document has no vector; store the vectors again")
        self.index, self.notes = index, Notes() if notes is None else notes
        self._lock = threading.Lock()
        """Held while a query is encoded: a tokenizer is not safe to share."""
        self._mask: NDArray[np.bool_] | None = None

    @property
    @abstractmethod
    def vectors(self) -> str:
        """Fingerprint of the stored vectors of an index, whose digest does not cover them."""

    def within(self, mask: NDArray[np.bool_]) -> Self:
        """Return the same first stage among the documents of a mask, bool[D]; scores stay the same."""
        retriever = copy(self)
        retriever._mask = mask
        return retriever

    def retrieve(self, query: Query, k: int) -> list[ScoredDoc]:
        """Return at most `k` documents, best first; none for a query that has nothing to search for.

        Raises:
            InputError: k < 1.
            IntegrityError: a stored value is not finite.
        """
        hits = self.search(query, k)
        return scored_docs(query.query_id, self.index.doc_ids(hits.numbers), hits.scores.tolist())

    def search(self, query: Query, k: int) -> Hits:
        """Return numbers and scores of the documents; raises as `retrieve`."""
        check("k", k, k >= 1, "at least 1")
        return self._search(query, k)

    @abstractmethod
    def _search(self, query: Query, k: int) -> Hits:
        """Encode the query and return the best documents among those of the mask."""
