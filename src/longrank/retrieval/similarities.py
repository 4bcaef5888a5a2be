"""Similarities by name."""

from __future__ import annotations

from typing import Any

from longrank.registries import defaults_of
from longrank.retrieval.bm25 import BM25
from longrank.retrieval.presets import FirstStage
from longrank.retrieval.query_likelihood import QueryLikelihood
from longrank.retrieval.searcher import Searcher

SIMILARITIES: dict[str, type[Searcher]] = {
    "bm25": BM25,
    "ql": QueryLikelihood,
}
"""Searchers by the name of their similarity; their own keyword-only parameters are its options."""


def similarity_options(similarity: str) -> dict[str, Any]:
    """Return the options of a similarity with their defaults."""
    defaults, shared = defaults_of(SIMILARITIES[similarity]), defaults_of(Searcher)
    return {name: default for name, default in defaults.items() if name not in shared}


def parameters_of(stage: FirstStage) -> dict[str, Any]:
    """Return the parameters of a first stage's similarity, defaults included."""
    return {**similarity_options(stage.similarity), **stage.parameters}
