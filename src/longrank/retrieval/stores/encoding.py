"""Query vectors for stores that search vectors, by a bi-encoder that is loaded with the first query."""

from __future__ import annotations

import threading
from typing import Any

from longrank.types import Notes, Query


class QueryEncoder:
    """Encodes queries, one at a time.

    Args:
        model: a bi-encoder: a name, a folder or an alias. It must be the encoder of the stored vectors.
        notes: counts queries that the model cuts.
    """

    def __init__(self, model: str, notes: Notes) -> None:
        self.model, self._notes = model, notes
        self._lock = threading.Lock()
        self._encoder: Any = None

    def vector(self, query: Query) -> list[float]:
        """Return the unit vector of a query, H numbers.

        Raises:
            InputError: the model cannot be loaded.
            MissingExtra: the extras for neural networks are not installed.
            LongRankError: the vector is not finite.
        """
        with self._lock:
            if self._encoder is None:
                self._encoder = self._load()
            vector: list[float] = self._encoder.query_vector(query).tolist()
            return vector

    def _load(self) -> Any:
        from longrank.scoring import make_scorer

        return make_scorer("bi-encoder", index=None, model=self.model, notes=self._notes)
