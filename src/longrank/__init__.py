"""LongRank: ranks long documents by the passages that make them relevant, and shows those passages.

Names are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longrank.types import Document as Document
    from longrank.types import Evidence as Evidence
    from longrank.types import Passage as Passage
    from longrank.types import Query as Query
    from longrank.types import Run as Run
    from longrank.types import ScoredDoc as ScoredDoc

_PUBLIC = {
    "Document": "longrank.types",
    "Evidence": "longrank.types",
    "Passage": "longrank.types",
    "Query": "longrank.types",
    "Run": "longrank.types",
    "ScoredDoc": "longrank.types",
}

__all__ = sorted(_PUBLIC)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'longrank' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return __all__
