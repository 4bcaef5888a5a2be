"""Contradictions among examples: a text that is both relevant to a query and not."""

from __future__ import annotations

from array import array
from hashlib import blake2b

import numpy as np

from longrank.training.passage_data.examples import Example


class Labels:
    """The label of each text for its query, in eight bytes each: a digest whose last bit is the label."""

    def __init__(self) -> None:
        self._seen = array("Q")

    def add(self, example: Example) -> None:
        """Add the texts of an example."""
        query = blake2b(example.query.encode(), digest_size=16).digest()
        for text, label in zip(example.texts, example.labels, strict=True):
            digest = blake2b(text.encode(), digest_size=8, key=query).digest()
            self._seen.append(int.from_bytes(digest, "little") & ~1 | (label > 0))

    def contradictions(self) -> tuple[int, int]:
        """Return the number of (query, text) pairs with both labels, and the place of the last such text, from 0."""
        seen = np.frombuffer(self._seen, np.uint64)
        ordered = np.unique(seen)
        pairs = ordered[:-1][ordered[1:] - ordered[:-1] == 1]
        pairs = pairs[pairs % 2 == 0]
        places = np.flatnonzero(np.isin(seen - seen % 2, pairs))
        return len(pairs), int(places[-1]) if len(places) else 0
