"""A store that the server searches instead of an index: each search gets its candidates, in an index of their own."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.protocols import PassageScorer
from longrank.ranking.from_store import pipeline_of_candidates
from longrank.ranking.pipeline import Pipeline
from longrank.ranking.settings import PipelineSettings
from longrank.retrieval.stores import Store
from longrank.retrieval.stores.found import SeveralTexts
from longrank.scoring import keeping_models
from longrank.service.errors import Refusal
from longrank.types import Document, Notes

_NO_ANSWER = "the store does not answer; the server's log says why"
_LOG = logging.getLogger("longrank.service.served_store")


@dataclass(frozen=True, slots=True)
class ServedStore:
    """A store, and its name on the command line: ``postgres:library.toml``."""

    source: str
    store: Store

    @property
    def kind(self) -> str:
        """The kind of store: ``postgres``."""
        return self.source.partition(":")[0]

    @property
    def name(self) -> str:
        """The store's name for clients: that of its settings file, ``library``."""
        return Path(self.source.partition(":")[2]).stem

    def describe(self) -> dict[str, Any]:
        """Return the entry of ``/info``; the digest and the number of documents are not known."""
        return {"name": self.name, "digest": None, "n_docs": None, "fields": [], "example": ""}

    def bind(
        self,
        text: str,
        settings: PipelineSettings,
        model: str | None,
        models: dict[Any, PassageScorer],
        *,
        k: int,
        notes: Notes,
    ) -> Pipeline | None:
        """Return a pipeline on the candidates of a query, with loaded models; None: the store finds nothing.

        `notes` takes the store's remarks on this search. The log has their places, too, which may name hosts and users.

        Raises:
            Refusal: 502, the store cannot be reached or refuses.
        """
        own = Notes()
        try:
            with keeping_models(models):
                return pipeline_of_candidates(self.store, text, settings, k=k, model=model, notes=own, opening=Notes())
        except InputError as error:
            raise _refused(error) from None
        finally:
            _log(own)
            notes.merge(own.copy(places=False))

    def document(self, doc_id: str) -> Document:
        """Return a document.

        Raises:
            Refusal: 404, no such document, or several texts with the id; 502, as `bind`, or the store answers in part,
                without the document.
        """
        notes = Notes()
        try:
            found = self.store.documents([doc_id], notes)
        except SeveralTexts:
            raise Refusal(404, "not_found", "the store has several texts with this id") from None
        except InputError as error:
            raise _refused(error) from None
        _log(notes)
        if not found and notes.lines():
            raise Refusal(502, "bad_gateway", _NO_ANSWER)
        document = next((one for one in found if one.doc_id == doc_id), None)  # a store may take 007 for 7
        if document is None:
            raise Refusal(404, "not_found", "no such document")
        return document


def _refused(error: InputError) -> Refusal:
    """Log an error of the store, which may name hosts and users, and return a refusal that does not."""
    _LOG.warning("the store does not answer: %s", error)
    return Refusal(502, "bad_gateway", _NO_ANSWER)


def _log(notes: Notes) -> None:
    for line in notes.lines():
        _LOG.warning("the store: %s", line)
