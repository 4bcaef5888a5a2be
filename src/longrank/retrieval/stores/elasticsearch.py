"""Elasticsearch as a first stage, by its official client (extra ``elasticsearch``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longrank.errors import MissingExtra, first_line
from longrank.retrieval.stores.search_engine import Fault, SearchEngine, reason_in


class Elasticsearch(SearchEngine):
    """Candidates from Elasticsearch; see `SearchEngine`."""

    name = "Elasticsearch"

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        try:
            import elasticsearch
        except ImportError:
            raise MissingExtra("searching Elasticsearch", "elasticsearch") from None
        super().__init__(path, settings)
        self.errors = (elasticsearch.ApiError, elasticsearch.TransportError)
        self.unreadable = elasticsearch.SerializationError
        options: dict[str, Any] = {"request_timeout": self.settings.timeout, "max_retries": 0}
        if self.password is not None:
            options["basic_auth"] = (self.settings.user, self.password)
        if self.key is not None:
            options["api_key"] = self.key
        if self.ca_certs is not None:
            options["ca_certs"] = str(self.ca_certs)
        with self.connecting():
            self._client = elasticsearch.Elasticsearch(self.settings.url, **options)

    def _send(self, body: dict[str, Any]) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = self._client.search(index=self.settings.index, body=body).body
        return answer

    def _fault(self, error: Any) -> Fault:
        import elasticsearch

        if isinstance(error, elasticsearch.ApiError):
            return Fault(error.status_code, False, reason_in(error.body, first_line(error)))
        return Fault(None, isinstance(error, elasticsearch.ConnectionTimeout), first_line(error))
