"""Query vectors for stores that search vectors, by a bi-encoder that is loaded with the first query."""

from __future__ import annotations

import threading
from typing import Any

from longrank.types import Notes, Query


class QueryEncoder:
    """Encodes queries, one at a time.

    Args:
        model: a bi-encoder: a name, a folder or an alias. It must be the encoder of the stored vectors.
    """

    def __init__(self, model: str) -> None:
        self.model = model
        self._lock = threading.Lock()
        self._encoder: Any = None

    def vector(self, query: Query, notes: Notes) -> list[float]:
        """Return the unit vector of a query, H numbers; `notes` tells if the model cuts it.

        Raises:
            InputError: the model cannot be loaded.
            MissingExtra: the extras for neural networks are not installed.
            LongRankError: the vector is not finite.
        """
        with self._lock:
            if self._encoder is None:
                self._encoder = self._load(notes)
            if self._encoder.cuts_query(query.text):
                notes.add(f"queries cut at the encoder's {self._encoder.max_tokens} tokens", f"query {query.query_id}")
            vector: list[float] = self._encoder.query_vector(query).tolist()
            return vector

    def _load(self, notes: Notes) -> Any:
        """Load the encoder. It keeps notes of its own: other searches have other notes."""
        from longrank.scoring import make_scorer

        loading = Notes()
        encoder = make_scorer("bi-encoder", index=None, model=self.model, notes=loading)
        notes.merge(loading)
        return encoder
