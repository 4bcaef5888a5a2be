"""LongRank: ranks long documents by the passages that make them relevant, and shows those passages.

Names are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from longrank.aggregation.run import aggregate_run as aggregate_run
    from longrank.collections import read_qrels as read_qrels
    from longrank.collections import read_queries as read_queries
    from longrank.collections import read_run as read_run
    from longrank.formats.evidence import read_evidence as read_evidence
    from longrank.formats.trec import write_run as write_run
    from longrank.index import Index as Index
    from longrank.index import build_index as build_index
    from longrank.index import index_files as index_files
    from longrank.ranking.pipeline import open_pipeline as open_pipeline
    from longrank.ranking.texts import Reranker as Reranker
    from longrank.types import Document as Document
    from longrank.types import Evidence as Evidence
    from longrank.types import Notes as Notes
    from longrank.types import Passage as Passage
    from longrank.types import Query as Query
    from longrank.types import Run as Run
    from longrank.types import ScoredDoc as ScoredDoc
    from longrank.verbs.aggregate import aggregate as aggregate
    from longrank.verbs.analyze import analyze as analyze
    from longrank.verbs.check import check as check
    from longrank.verbs.compare import compare as compare
    from longrank.verbs.convert import convert as convert
    from longrank.verbs.evaluate import evaluate as evaluate
    from longrank.verbs.expand import expand as expand
    from longrank.verbs.fuse import fuse as fuse
    from longrank.verbs.publish import publish as publish
    from longrank.verbs.reproduce import reproduce as reproduce
    from longrank.verbs.rerank import rerank as rerank
    from longrank.verbs.retrieve import retrieve as retrieve
    from longrank.verbs.search import search as search
    from longrank.verbs.train import train as train
    from longrank.verbs.tune import tune as tune
    from longrank.verbs.weigh import weigh as weigh

_PUBLIC = {
    "Document": "longrank.types",
    "Evidence": "longrank.types",
    "Index": "longrank.index",
    "Notes": "longrank.types",
    "Passage": "longrank.types",
    "Query": "longrank.types",
    "Reranker": "longrank.ranking.texts",
    "Run": "longrank.types",
    "ScoredDoc": "longrank.types",
    "aggregate": "longrank.verbs.aggregate",
    "aggregate_run": "longrank.aggregation.run",
    "analyze": "longrank.verbs.analyze",
    "build_index": "longrank.index",
    "check": "longrank.verbs.check",
    "compare": "longrank.verbs.compare",
    "convert": "longrank.verbs.convert",
    "evaluate": "longrank.verbs.evaluate",
    "expand": "longrank.verbs.expand",
    "fuse": "longrank.verbs.fuse",
    "index_files": "longrank.index",
    "open_pipeline": "longrank.ranking.pipeline",
    "publish": "longrank.verbs.publish",
    "read_evidence": "longrank.formats.evidence",
    "read_qrels": "longrank.collections",
    "read_queries": "longrank.collections",
    "read_run": "longrank.collections",
    "reproduce": "longrank.verbs.reproduce",
    "rerank": "longrank.verbs.rerank",
    "retrieve": "longrank.verbs.retrieve",
    "search": "longrank.verbs.search",
    "train": "longrank.verbs.train",
    "tune": "longrank.verbs.tune",
    "weigh": "longrank.verbs.weigh",
    "write_run": "longrank.formats.trec",
}

__all__ = sorted(_PUBLIC)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in _PUBLIC:
        raise AttributeError(f"module 'longrank' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("longrank")
    except PackageNotFoundError as error:  # run from sources that are not installed
        raise AttributeError("longrank is not installed, so it has no version") from error


def __dir__() -> list[str]:
    return __all__
