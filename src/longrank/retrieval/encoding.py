"""Query vectors of a first stage, by a bi-encoder whose remarks belong to each search."""

from __future__ import annotations

import threading
from typing import Any

from longrank.types import Float32s, Notes, Query


class QueryEncoder:
    """Encodes queries for a store, one at a time; the model is loaded with the first query.

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
                self._encoder = load_encoder(self.model, notes)
            vector: list[float] = query_vector(self._encoder, query, notes).tolist()
            return vector


def load_encoder(model: str, notes: Notes) -> Any:
    """Load a bi-encoder for `query_vector`. It keeps notes of its own: each search has other notes.

    Raises:
        InputError: the model cannot be loaded.
        MissingExtra: the extras for neural networks are not installed.
    """
    from longrank.scoring import make_scorer

    loading = Notes()
    encoder = make_scorer("bi-encoder", index=None, model=model, notes=loading)
    notes.merge(loading)
    return encoder


def query_vector(encoder: Any, query: Query, notes: Notes) -> Float32s:
    """Return the unit vector of a query, float32[H]; `notes` tells if the model cuts it.

    Raises:
        LongRankError: the vector is not finite.
    """
    if encoder.cuts_query(query.text):
        notes.add(f"queries cut at the encoder's {encoder.max_tokens} tokens", f"query {query.query_id}")
    vector: Float32s = encoder.query_vector(query)
    return vector
