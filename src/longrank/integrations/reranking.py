"""What the integrations share: a reranker that is loaded at its first use, and its evidence as plain values."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from longrank.errors import InputError
from longrank.index import Index
from longrank.ranking.settings import load_pipeline
from longrank.ranking.texts import RankedText, TextReranker, open_text_reranker
from longrank.types import Document, Notes

KEY = "longrank"
"""Where a document's metadata keeps its evidence."""

_log = logging.getLogger("longrank")


class LazyReranker:
    """A reranker that is loaded at its first use and asked by one thread at a time; copies load their own.

    What was decided on the user's behalf while loading is logged as warnings.

    Args:
        pipeline: the name of a shipped pipeline, or a TOML file.
        model: a Hugging Face name, a folder or an alias; replaces the pipeline's own.
        index: the folder of an index that gives BM25 its statistics; None: the documents of each call do.
        assignments: ``section.key=value`` on top of the pipeline.

    Raises:
        InputError: no such pipeline, or a setting is unknown or wrong.
    """

    def __init__(
        self, pipeline: str, *, model: str | None = None, index: str | None = None, assignments: Sequence[str] = ()
    ) -> None:
        load_pipeline(pipeline, assignments)  # a mistake is told here, before anything is loaded
        self.pipeline, self.model, self.index, self.assignments = pipeline, model, index, tuple(assignments)
        self._lock = Lock()
        self._loaded: TextReranker | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.pipeline, self.model, self.index, self.assignments)

    def load(self) -> TextReranker:
        """Return the reranker; raises as `open_text_reranker` and `Index.open` do."""
        with self._lock:
            if self._loaded is None:
                notes = Notes()
                index = None if self.index is None else Index.open(Path(self.index))
                options = {"model": self.model, "assignments": self.assignments, "index": index}
                self._loaded = open_text_reranker(self.pipeline, notes=notes, **options)  # type: ignore[arg-type]
                for line in notes.lines():
                    _log.warning("%s", line)
            return self._loaded

    def rank(
        self, query: str, documents: Sequence[Document], *, top_n: int | None = None, passages: int
    ) -> list[tuple[RankedText, dict[str, Any]]]:
        """Rank documents, best first, each with its evidence (`evidence_of`); no documents: an empty list.

        Raises:
            InputError: the query is empty; or as `load`.
        """
        if not documents:
            return []
        reranker = self.load()
        with self._lock:
            ranked = reranker.rank(query, documents, top_n=top_n, passages=passages)
        return [(one, evidence_of(one, reranker)) for one in ranked]


def _again(pipeline: str, model: str | None, index: str | None, assignments: Sequence[str]) -> LazyReranker:
    return LazyReranker(pipeline, model=model, index=index, assignments=assignments)


def document(doc_id: object, text: object, title: object = "") -> Document:
    """Return a document as rerankers take it; a title that is no string counts as none.

    Raises:
        InputError: the text is no string: an image, a missing value.
    """
    if not isinstance(text, str):
        raise InputError(f"document {str(doc_id)!r} has no text to rerank", got=type(text).__name__)
    return Document(str(doc_id), title if isinstance(title, str) else "", text)


def evidence_of(one: RankedText, reranker: TextReranker) -> dict[str, Any]:
    """Return why a document is where it is, as values that JSON has; ``text[start:end]`` is a passage.

    The score is in the scorer's unit; `truncated` says that not every token of the document was read.
    """
    shown = [{"start": p.start, "end": p.end, "score": p.score, "text": p.text} for p in one.passages]
    return {
        "score": one.score,
        "unit": reranker.unit,
        "aggregator": reranker.aggregator_name,
        "truncated": one.cut or one.n_truncated > 0,
        "passages": shown,
    }
