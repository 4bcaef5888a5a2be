"""OpenSearch as a first stage, by its official client opensearch-py (extra ``opensearch``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longrank.errors import InputError, MissingExtra, first_line
from longrank.retrieval.stores.search_engine import Fault, SearchEngine, reason_in


class OpenSearch(SearchEngine):
    """Candidates from OpenSearch; see `SearchEngine`."""

    name = "OpenSearch"

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        try:
            import opensearchpy
        except ImportError:
            raise MissingExtra("searching OpenSearch", "opensearch") from None
        super().__init__(path, settings)
        if self.key is not None:
            raise InputError("OpenSearch takes a user and a password", path=path, got="key_file", fix="see `user`")
        self.errors, self.unreadable = (opensearchpy.TransportError,), opensearchpy.SerializationError
        with self.connecting():
            self._client = opensearchpy.OpenSearch(
                hosts=[self.settings.url],
                http_auth=None if self.password is None else (self.settings.user, self.password),
                ca_certs=None if self.ca_certs is None else str(self.ca_certs),
                timeout=self.settings.timeout,
                max_retries=0,
            )

    def _send(self, body: dict[str, Any]) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = self._client.search(index=self.settings.index, body=body)
        return answer

    def _fault(self, error: Any) -> Fault:
        import opensearchpy

        status = error.status_code if isinstance(error.status_code, int) else None
        late = isinstance(error, opensearchpy.ConnectionTimeout)
        cause = error.args[2] if status is None and len(error.args) > 2 else error
        return Fault(status, late, reason_in(error.info, first_line(cause)))
