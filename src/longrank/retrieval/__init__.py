"""First stages: what finds the candidates of a query."""

from __future__ import annotations

from longrank.config import lookup
from longrank.index import Index
from longrank.protocols import Retriever
from longrank.retrieval.bm25 import BM25
from longrank.retrieval.presets import PRESETS
from longrank.retrieval.replay import Replay
from longrank.types import Notes

RETRIEVERS: dict[str, type[BM25]] = {"bm25": BM25}
"""Retrievers over an index, by the name of their similarity."""


def make_retriever(
    index: Index,
    preset: str,
    *,
    k1: float | None = None,
    b: float | None = None,
    doc_lengths: str = "lucene",
    notes: Notes | None = None,
) -> Retriever:
    """Return the retriever of a preset, with some of its parameters replaced; see `BM25`.

    Raises:
        InputError: unknown preset, or a parameter out of range.
    """
    values = lookup(PRESETS, preset, "preset")
    return BM25(
        index,
        values["k1"] if k1 is None else k1,
        values["b"] if b is None else b,
        doc_lengths=doc_lengths,
        notes=notes,
    )


__all__ = ["BM25", "PRESETS", "RETRIEVERS", "Replay", "make_retriever"]
