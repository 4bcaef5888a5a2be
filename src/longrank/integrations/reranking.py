"""A reranker that the integrations share: loaded at its first use, with its evidence as plain values."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, PrivateAttr

from longrank.config import Assignments, listed
from longrank.errors import InputError
from longrank.integrations.following import Following, absolute, absolute_pipeline
from longrank.networks.model_files import absolute_model
from longrank.ranking.found import Partial, RankedText, ShownPassage, passage_json
from longrank.ranking.settings import load_pipeline, with_absolute_paths
from longrank.ranking.texts import Reranker
from longrank.ranking.timed import Deadline, check_deadline
from longrank.registries import check_at_least
from longrank.types import Document, Notes

KEY = "longrank"
"""Key of the evidence in a document's metadata."""

Lazy = TypeVar("Lazy")

_log = logging.getLogger("longrank")


class LazyReranker:
    """A reranker that is loaded at its first use and called by one thread at a time; copies load their own.

    Notes, such as a model that is replaced or a query that is cut, are logged as warnings.

    Args:
        pipeline: a shipped pipeline's name or a TOML file; None: ``maxp`` with a model, ``minilm`` without.
        model: a Hugging Face name, a folder or an alias; replaces the pipeline's own.
        index: folder of an index whose statistics the ``lexical`` pipeline takes; None: those of each call's documents.
            A changed index is opened again.
        assignments: ``section.key=value`` on top of the pipeline.
        deadline: seconds for a call, after which what is read by then is ranked; loading the model is not counted.
            None: all is read.

    Raises:
        InputError: no such pipeline, a setting is unknown or wrong, or an index at an address of another kind.
    """

    def __init__(
        self,
        pipeline: str | None = None,
        *,
        model: str | None = None,
        index: str | None = None,
        assignments: Assignments = (),
        deadline: float | None = None,
    ) -> None:
        if deadline is not None:
            check_deadline(deadline)
        self.deadline = deadline
        self.pipeline, self.assignments = absolute_pipeline(pipeline), tuple(listed(assignments))
        self.model, self.index = absolute_model(model), absolute(index)
        self.name = self.pipeline or ("maxp" if model else "minilm")
        self._settings = with_absolute_paths(load_pipeline(self.name, self.assignments, model=model))
        self._lock, self._notes = Lock(), Notes()
        self._following = Following(self.index, self._opened)

    def __reduce__(self) -> tuple[Any, ...]:
        options: dict[str, Any] = {"model": self.model, "index": self.index, "assignments": self.assignments}
        return partial(LazyReranker, **options, deadline=self.deadline), (self.pipeline,)

    def load(self) -> Reranker:
        """Return the reranker, with the newest statistics of the index if there is one; raises as `Reranker`."""
        return self._following.current().value

    def _opened(self) -> Reranker:
        before = self._notes.copy()
        reranker = Reranker(self._settings, model=self.model, index=self.index, notes=self._notes)
        log_notes(self._notes.since(before))
        return reranker

    def rank(
        self, query: str, documents: Sequence[Document], *, top_n: int | None = None, passages: int
    ) -> list[tuple[RankedText, dict[str, Any]]]:
        """Rank documents, best first, each with its evidence (`evidence_of`); an empty list if there are none.

        Time in which another thread ranks counts for the deadline.

        Raises:
            InputError: the query is empty; or as `load`.
        """
        if not documents:
            return []
        reranker = self.load()
        by = None if self.deadline is None else Deadline(self.deadline)
        with self._lock:
            before = self._notes.copy()
            ranked = reranker.rank(query, documents, top_n, passages=passages, deadline=by)
            log_notes(self._notes.since(before))
        return [(result, evidence_of(result, reranker, ranked.partial)) for result in ranked]


def log_notes(notes: Notes) -> None:
    """Log notes as warnings."""
    for line in notes.lines():
        _log.warning("%s", line)


def check_counts(name: str, n: int | None, passages: int) -> None:
    """Check the numbers of documents and of passages to return.

    Args:
        name: name of the setting of documents.
        n: documents to return; None: all.
        passages: passages of each.

    Raises:
        InputError: `n` is below 1, or `passages` below 0.
    """
    if n is not None:
        check_at_least(name, n, 1)
    check_at_least("passages", passages, 0)


_LOADED = ("pipeline", "model", "index", "assignments", "deadline")
"""Settings that `LazyReranker` and `LazySearcher` take."""


def made_with(settings: BaseModel, kind: Callable[..., Lazy], made: Lazy | None) -> Lazy:
    """Return the object that was made by the same settings, else a new one: settings can be assigned or copied.

    Relative paths become absolute in the settings: they lead to the same index, model and file as long as they live.

    Raises:
        InputError: as `kind`.
    """
    for name, kept in (("index", absolute), ("model", absolute_model), ("pipeline", absolute_pipeline)):
        given = getattr(settings, name)
        if given != (same := kept(given)):
            settings.__dict__[name] = same  # also of a frozen model
    now = {name: getattr(settings, name) for name in _LOADED}
    now["assignments"] = tuple(now["assignments"])
    if made is not None and all(getattr(made, name) == value for name, value in now.items()):
        return made
    return kind(**now)


class RerankerSettings(BaseModel):
    """Settings of a reranker, as a pydantic model for frameworks whose components are models.

    Attributes:
        pipeline: a shipped pipeline's name or a TOML file; only its passage scorer and aggregator are used.
            None: ``maxp`` with a model, ``minilm`` without.
        model: a Hugging Face name, a folder or an alias; replaces the pipeline's own.
        index: folder of an index whose statistics the ``lexical`` pipeline takes; None: those of each call's documents.
        assignments: ``section.key=value`` on top of the pipeline.
        top_n: documents, or nodes, to return; None: all.
        passages: passages in the evidence of each, best first.
        deadline: seconds for a call, after which what is read by then is ranked; loading the model is not counted.
            None: all is read.
    """

    model_config = ConfigDict(extra="forbid")

    pipeline: str | None = None
    model: str | None = None
    index: str | Path | None = None
    assignments: tuple[str, ...] = ()
    top_n: int | None = None
    passages: int = 3
    deadline: float | None = None
    _made: LazyReranker | None = PrivateAttr(None)

    def model_post_init(self, context: Any, /) -> None:
        """Check the settings; raises InputError for a pipeline or a setting that is unknown or wrong."""
        super().model_post_init(context)
        check_counts("top_n", self.top_n, self.passages)
        self._made = self._reranker

    @property
    def _reranker(self) -> LazyReranker:
        """Return the reranker of the settings as they are now; raises as `LazyReranker`."""
        self._made = made_with(self, LazyReranker, self._made)
        return self._made


def document(doc_id: object, text: object, title: object = "") -> Document:
    """Return a document for a reranker; a title that is not a string is ignored.

    Raises:
        InputError: the text is not a string, but an image or a missing value.
    """
    if not isinstance(text, str):
        raise InputError(f"document {str(doc_id)!r} has no text to rerank", got=type(text).__name__)
    return Document(str(doc_id), title if isinstance(title, str) else "", text)


def evidence_of(result: RankedText, reranker: Reranker, partial: Partial | None = None) -> dict[str, Any]:
    """Return a document's score and best passages as JSON values; ``text[start:end]`` is a passage.

    `highlights` are the offsets of a passage's best sentence in the same text. The score is in the scorer's unit;
    `truncated` is True if some tokens of the document were not read. If a deadline cut the ranking short, `partial` has
    its counts, and the score of a document of which nothing was read is None.
    """
    return {
        "score": None if partial is not None and result.n_scored == 0 else result.score,
        "unit": reranker.unit,
        "aggregator": reranker.aggregator_name,
        "truncated": result.truncated,
        "passages": passages_of(result.passages),
        **({} if partial is None else {"partial": partial.json()}),
    }


def passages_of(passages: Sequence[ShownPassage]) -> list[dict[str, Any]]:
    """Return passages as JSON values: offsets, score, text and the offsets of the best sentence."""
    shown = map(passage_json, passages)
    return [{name: values[name] for name in ("start", "end", "score", "text", "highlights")} for values in shown]
