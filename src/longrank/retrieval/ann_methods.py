"""Methods of approximate search by faiss: a graph (HNSW), and inverted lists of quantised vectors (IVF-PQ)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from longrank.types import Float32s

_MOST_CODES = 64
"""Most bytes of a quantised vector."""
_PER_LIST, _PER_CODE, _TRAINING = 39, 39, 64
"""Fewest vectors per list and per code that faiss advises, and vectors per list that training reads."""


class AnnMethod(Protocol):
    """A kind of faiss index over stored vectors."""

    more: int
    """Passages searched for each passage wanted; the stored vectors choose among them."""

    def options(self, n: int, dimension: int) -> Mapping[str, int]:
        """Return what is kept in the manifest, for n vectors."""

    def untrained(self, faiss: ModuleType, n: int, dimension: int) -> Any:
        """Return an empty faiss index for n vectors."""

    def parameters(self, faiss: ModuleType, n: int) -> Any:
        """Return the parameters of a search for n vectors."""


class Hnsw:
    """A graph (Malkov and Yashunin 2020): 16 links of a vector; 200 vectors compared to build, 400 to search."""

    links, building, beam, more = 16, 200, 400, 1

    def options(self, n: int, dimension: int) -> Mapping[str, int]:
        """Return links and vectors compared while building."""
        return {"links": self.links, "building": self.building}

    def untrained(self, faiss: ModuleType, n: int, dimension: int) -> Any:
        """Return an empty graph."""
        graph = faiss.IndexHNSWFlat(dimension, self.links, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = self.building
        return graph

    def parameters(self, faiss: ModuleType, n: int) -> Any:
        """Return the beam of a search."""
        return faiss.SearchParametersHNSW(efSearch=max(self.beam, n))


class IvfPq:
    """Inverted lists of product-quantised vectors (Jégou, Douze and Schmid 2011), at most 64 bytes a vector.

    A search reads the 64 nearest of 4 sqrt(n) lists and finds ten times the passages wanted.
    """

    probes, more = 64, 10

    def options(self, n: int, dimension: int) -> Mapping[str, int]:
        """Return lists, parts of a vector and bits of a part: fewer for few vectors."""
        lists = max(1, min(4 * math.isqrt(n), n // _PER_LIST))
        parts = max(k for k in range(1, _MOST_CODES + 1) if dimension % k == 0)
        return {"lists": lists, "parts": parts, "bits": min(8, max(1, int(math.log2(max(2, n // _PER_CODE)))))}

    def untrained(self, faiss: ModuleType, n: int, dimension: int) -> Any:
        """Return empty lists, before their centres are trained."""
        lists, parts, bits = self.options(n, dimension).values()
        metric = faiss.METRIC_INNER_PRODUCT
        made = faiss.IndexIVFPQ(faiss.IndexFlatIP(dimension), dimension, lists, parts, bits, metric)
        made.cp.min_points_per_centroid = made.pq.cp.min_points_per_centroid = 1  # faiss prints a warning otherwise
        return made

    def parameters(self, faiss: ModuleType, n: int) -> Any:
        """Return the lists that a search reads."""
        return faiss.SearchParametersIVF(nprobe=self.probes)


ANN_METHODS: Mapping[str, AnnMethod] = {"hnsw": Hnsw(), "ivf-pq": IvfPq()}
"""Name -> method of approximate search."""


def training_rows(n: int, lists: int) -> NDArray[np.int64]:
    """Return the vectors that train the centres of lists, spread over all n; a single vector twice."""
    return np.linspace(0, n - 1, max(2, min(n, _TRAINING * max(lists, 256)))).astype(np.int64)


def search(method: AnnMethod, faiss: ModuleType, built: Any, query: Float32s, n: int) -> NDArray[np.int64]:
    """Return vectors near a query by their places in `built`, int64[<= n * method.more], in no fixed order."""
    wanted = min(n * method.more, built.ntotal)
    rows = built.search(query[None], wanted, params=method.parameters(faiss, wanted))[1][0]
    found: NDArray[np.int64] = rows[rows >= 0].astype(np.int64)
    return found
