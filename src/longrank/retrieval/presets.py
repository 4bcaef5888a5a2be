"""BM25 parameters by name, with where they come from."""

from __future__ import annotations

from types import MappingProxyType

PRESETS = MappingProxyType(
    {
        "bm25-anserini": {"k1": 0.9, "b": 0.4},  # Anserini's default; MaxP, Birch, h2oloo, PARADE
        "bm25-lucene": {"k1": 1.2, "b": 0.75},  # Lucene's and Solr's default; Santos et al.
        "bm25-msmarco-passage": {"k1": 0.82, "b": 0.68},  # h2oloo, tuned for recall at 1000
        "bm25-msmarco-doc": {"k1": 3.44, "b": 0.87},  # h2oloo, tuned for average precision
    }
)
