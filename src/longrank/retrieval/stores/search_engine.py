"""OpenSearch and Elasticsearch as first stages: what their requests and answers have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from longrank.errors import InputError, first_line, printable
from longrank.retrieval.encoding import QueryEncoder
from longrank.retrieval.stores.found import Found, documents_of, scored
from longrank.retrieval.stores.payloads import Hit, records_of_hits
from longrank.retrieval.stores.settings import StoreSettings, secret_in, settings_of
from longrank.retrieval.stores.templates import check_template, filled
from longrank.types import Document, Notes, Query

Name = Annotated[str, Field(min_length=1)]
_BY_IDS = 100  # documents per request
_IN_PART = "time was over, or shards or other clusters failed"
_FIXES = {
    401: "see `user` and `password_file`, or `key_file`",
    403: "give this user the right to read the index",
    404: "see `index`",
}
"""HTTP status -> cure."""


class SearchEngineSettings(StoreSettings):
    """Settings of an index.

    Attributes:
        url: ``https://HOST:9200``.
        index: index, alias or pattern.
        id: field of the ids; None: the engine's own ``_id``.
        fields: searched fields, ``title^2`` too; None: title and text.
        body: a search request of your own; the strings ``%(query)s``, ``%(k)s`` and ``%(vector)s`` are placeholders.
        user: name of the user.
        password_file: file with the password, beside the file of the settings.
        key_file: file with an API key (Elasticsearch).
        ca_certs: file with certificates to trust.
    """

    url: Name
    index: Name
    id: Name | None = None
    fields: list[Name] | None = None
    body: dict[str, Any] | None = None
    user: Name | None = None
    password_file: Name | None = None
    key_file: Name | None = None
    ca_certs: Name | None = None

    @model_validator(mode="after")
    def _check_request(self) -> Self:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port is None or parts.username:
            raise ValueError("`url` must be http://HOST:PORT or https://HOST:PORT, without user and password")
        if (self.user is None) != (self.password_file is None):
            raise ValueError("`user` and `password_file` need each other")
        if self.body is not None:
            if self.fields:
                raise ValueError("`body` names its fields itself; remove `fields`")
            check_template(self.body, encoder=self.encoder is not None)
        elif self.encoder is not None:
            raise ValueError('`encoder` needs a `body` with "%(vector)s"')
        return self


class Fault(NamedTuple):
    """A failed request: HTTP status, None if there was no answer; True if the time was over; a message."""

    status: int | None
    late: bool
    message: str


class Answer(NamedTuple):
    """Hits of a search; in part: time was over, or shards or other clusters failed."""

    hits: list[Hit]
    in_part: bool


class SearchEngine(ABC):
    """Candidates from a search engine; `_send` and `_fault` are those of its client.

    Args:
        path: file of the settings.
        settings: its content.

    Raises:
        InputError: wrong settings, or no such file of a password or key.
        MissingExtra: the client is not installed.
    """

    name = ""
    errors: tuple[type[Exception], ...] = ()
    unreadable: type[Exception]

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        self.settings = settings_of(SearchEngineSettings, settings, path)
        self.password = secret_in(path, self.settings.password_file)
        self.key = secret_in(path, self.settings.key_file)
        certificates = self.settings.ca_certs
        self.ca_certs = None if certificates is None else path.parent / Path(certificates).expanduser()
        if self.ca_certs is not None and not self.ca_certs.is_file():
            raise InputError("no such file", path=self.ca_certs)
        encoder = self.settings.encoder
        self._encoder = None if encoder is None else QueryEncoder(encoder)
        self.analyzer = self.settings.chosen_analyzer()
        self._seen: set[str] = set()

    @contextmanager
    def connecting(self) -> Iterator[None]:
        """Refuse an address that the client cannot read.

        Raises:
            InputError: names the address.
        """
        try:
            yield
        except ValueError as error:
            what = f"`url` cannot be used: {first_line(error)}"
            raise InputError(what, path=self.path, got=self.settings.url) from None

    def search(self, query: Query, k: int, notes: Notes) -> list[Found]:
        """Return at most `k` documents; a query answered in part is counted. Raises as `Store.search`."""
        values: dict[str, Any] = {"%(query)s": query.text, "%(k)s": k}
        if self._encoder is not None:
            values["%(vector)s"] = self._encoder.vector(query, notes)
        body = filled(self.settings.body or _words(self.settings), values) | {"size": k}
        answer = self._answer(body)
        what = f"queries that {self.name} answered in part: {_IN_PART}"
        notes.add(what, query.query_id, answer.in_part)
        return scored(self._records(answer.hits)[:k], self._place, notes)

    def documents(self, doc_ids: Sequence[str], notes: Notes) -> list[Document]:
        """Return the documents with these ids. Raises as `Store.documents`."""
        found = []
        for start in range(0, len(doc_ids), _BY_IDS):
            ids = list(doc_ids[start : start + _BY_IDS])
            field = self.settings.id
            condition = {"ids": {"values": ids}} if field is None else {"terms": {field: ids}}
            size = len(ids) + 1  # so that one of several with the same id is among them
            hits, in_part = self._answer({"query": condition, "size": size})
            notes.add(f"requests for documents that {self.name} answered in part: {_IN_PART}", ids[0], in_part)
            if in_part and (len(hits) < len(ids) or field is not None):  # a field may have an id several times
                what = f"{self.name} answered in part, and documents may be lacking: {_IN_PART}"
                raise InputError(what, path=self.path, fix="try again; the log of the engine has the reason")
            found += self._records(hits)
        self._check_exact({record.doc_id for record, _ in found}, doc_ids)
        return documents_of((record for record, _ in found), self._place, notes)

    def _check_exact(self, found: Set[str], asked: Sequence[str]) -> None:
        """Refuse an id field that is analysed: a word of an id finds other ids, and may miss the document itself.

        A field of numbers takes 007 for 7, and misses nothing.
        """
        numbers = {doc_id.lstrip("0") or "0" for doc_id in asked}
        if others := found - numbers - {*asked}:
            what = f"the field of the id, {self.settings.id}, is analysed: it finds other ids than it is asked for"
            fix = "name a field of type keyword, or leave out id if the engine's own _id is the document's"
            raise InputError(what, path=self.path, got=min(others), fix=fix)

    @property
    def _place(self) -> Path:
        return Path(f"{self.name} index {self.settings.index}")

    def _records(self, hits: list[Hit]) -> Any:
        return records_of_hits(hits, self.settings, self.settings.id, self.path, self._seen)

    def _answer(self, body: dict[str, Any]) -> Answer:
        with self._refusals():
            answer = self._send(body)
        hits = _hits_of(answer)
        if hits is None:
            raise self._no_search(str(answer))
        shards, clusters = (
            found if isinstance(found := answer.get(name), Mapping) else {} for name in ("_shards", "_clusters")
        )
        lacking = [shards.get("failed"), *map(clusters.get, ("skipped", "partial", "failed"))]
        in_part = bool(answer.get("timed_out") or answer.get("terminated_early") or any(lacking))
        if any(not isinstance(hit.get("_source"), dict) for hit in hits):
            fix = "the index must keep `_source`, and `body` must not leave it out"
            raise InputError("documents come without their source", path=self.path, fix=fix)
        return Answer([Hit(hit["_id"], hit["_source"], hit.get("_score")) for hit in hits], in_part)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except self.unreadable as error:
            raise self._no_search(first_line(error)) from None
        except self.errors as error:
            raise self._refused(self._fault(error)) from None

    def _no_search(self, answer: str) -> InputError:
        what = f"the answer from {self.settings.url} is not that of a search"
        return InputError(what, path=self.path, got=printable(answer)[:200], fix="see `url`")

    def _refused(self, fault: Fault) -> InputError:
        message = printable(fault.message)[:200]
        if fault.late:
            what, fix = f"no answer in {self.settings.timeout:g} s from {self.settings.url}", "raise `timeout`"
        elif fault.status is None:
            what, fix = f"cannot connect to {self.name} at {self.settings.url}: {message}", "see `url` and `ca_certs`"
        else:
            what = f"{self.name} refuses ({fault.status}): {message}"
            fix = _FIXES.get(fault.status, "see `fields` and `body`" if fault.status == 400 else "")
        return InputError(what, path=self.path, fix=fix or None)

    @abstractmethod
    def _send(self, body: dict[str, Any]) -> Mapping[str, Any]:
        """Send a search request, and return the answer."""

    @abstractmethod
    def _fault(self, error: Any) -> Fault:
        """Describe an error of the client."""


def _hits_of(answer: Any) -> list[Any] | None:
    """Return the hits of a search's answer; None: it is another answer."""
    outer = answer.get("hits") if isinstance(answer, Mapping) else None
    hits = outer.get("hits") if isinstance(outer, Mapping) else None
    is_search = isinstance(hits, list) and all(isinstance(hit, Mapping) and "_id" in hit for hit in hits)
    return hits if is_search else None


def reason_in(body: Any, otherwise: str) -> str:
    """Return the reason in an error's body, ``{"error": {"reason": ...}}``."""
    error = body.get("error") if isinstance(body, Mapping) else None
    causes = error.get("root_cause") if isinstance(error, Mapping) else None
    for place in (*(causes or ()), error):
        if isinstance(place, Mapping) and place.get("reason"):
            return str(place["reason"])
    return str(error or otherwise)


def _words(settings: SearchEngineSettings) -> dict[str, Any]:
    """Return the usual request: the query's words in some fields."""
    fields = settings.fields or [name for name in (settings.title, settings.text) if name]
    return {"query": {"multi_match": {"query": "%(query)s", "fields": fields}}}
