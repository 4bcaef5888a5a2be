"""Qdrant as a first stage, by its official client (extra ``qdrant``): a server, or a folder in local mode.

A folder is open only while it is read: the client of local mode locks it.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from longrank.errors import InputError, MissingExtra, first_line
from longrank.retrieval.encoding import QueryEncoder
from longrank.retrieval.stores.found import Found, documents_of, scored
from longrank.retrieval.stores.payloads import Hit, records_of_hits
from longrank.retrieval.stores.settings import StoreSettings, secret_in, settings_of
from longrank.types import Document, Notes, Query

Name = Annotated[str, Field(min_length=1)]
_BY_IDS = 100  # documents per request


class QdrantSettings(StoreSettings):
    """Settings of a collection.

    Attributes:
        url: ``http://HOST:6333``; or `path`.
        path: folder of Qdrant's local mode, beside the file of the settings.
        collection: name of the collection.
        id: field of the payload with the ids; None: the ids of the points.
        encoder: the bi-encoder of the collection's vectors.
        vector: name of the vector, if the collection names its vectors.
        key_file: file with an API key.
    """

    url: Name | None = None
    path: Name | None = None
    collection: Name
    id: Name | None = None
    encoder: Name
    vector: Name | None = None
    key_file: Name | None = None

    @model_validator(mode="after")
    def _check_place(self) -> Self:
        if (self.url is None) == (self.path is None):
            raise ValueError("give either `url` or `path`")
        return self


class Qdrant:
    """Candidates from Qdrant: the points whose vectors are nearest to the query's.

    Args:
        path: file of the settings.
        settings: its content.

    Raises:
        InputError: wrong settings, no such file of a key, or a folder that cannot be opened.
        MissingExtra: qdrant-client is not installed.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        try:
            import qdrant_client
        except ImportError:
            raise MissingExtra("searching Qdrant", "qdrant") from None
        self._path, self._lock = path, threading.Lock()
        self._settings = settings_of(QdrantSettings, settings, path)
        self._encoder = QueryEncoder(self._settings.encoder)
        self.analyzer = self._settings.chosen_analyzer()
        self._seen: set[str] = set()
        self._make, self._key = qdrant_client.QdrantClient, secret_in(path, self._settings.key_file)

    def search(self, query: Query, k: int, notes: Notes) -> list[Found]:
        """Return at most `k` documents. Raises as `Store.search`."""
        vector, settings = self._encoder.vector(query, notes), self._settings
        with self._opened() as client:
            sign = self._sign(client, len(vector))
            options: dict[str, Any] = {"using": settings.vector, "limit": k, "with_payload": True}
            points = client.query_points(settings.collection, query=vector, **options).points
        hits = [Hit(point.id, point.payload or {}, sign * point.score) for point in points]
        return scored(records_of_hits(hits, settings, settings.id, self._path, self._seen), self._place, notes)

    def documents(self, doc_ids: Sequence[str], notes: Notes) -> list[Document]:
        """Return the documents with these ids. Raises as `Store.documents`."""
        hits: list[Hit] = []
        with self._opened() as client:
            for start in range(0, len(doc_ids), _BY_IDS):
                points = self._points(client, doc_ids[start : start + _BY_IDS])
                hits += [Hit(point.id, point.payload or {}) for point in points]
        records = records_of_hits(hits, self._settings, self._settings.id, self._path, self._seen)
        return documents_of((record for record, _ in records), self._place, notes)

    def _points(self, client: Any, doc_ids: Sequence[str]) -> list[Any]:
        from qdrant_client import models

        collection, field = self._settings.collection, self._settings.id
        if field is None:
            keys = [key for key in map(_point_id, doc_ids) if key is not None]
            return list(client.retrieve(collection, keys, with_payload=True))
        numbers = [n for n in map(_whole_number, doc_ids) if n is not None and -(2**63) <= n < 2**63]
        ids = [list(doc_ids), numbers]  # payloads may hold either
        conditions = [models.FieldCondition(key=field, match=models.MatchAny(any=any_of)) for any_of in ids if any_of]
        found, offset = [], None
        while True:
            some, offset = client.scroll(
                collection, models.Filter(should=conditions), limit=_BY_IDS, offset=offset, with_payload=True
            )
            found += some
            if offset is None:
                return found

    @property
    def _place(self) -> Path:
        return Path(f"Qdrant collection {self._settings.collection}")

    def _client(self) -> Any:
        settings = self._settings
        if settings.url is not None:
            timeout = max(1, round(settings.timeout))
            return self._make(url=settings.url, api_key=self._key, timeout=timeout, check_compatibility=False)
        folder = self._path.parent / Path(settings.path or "").expanduser()
        if not folder.is_dir():
            raise InputError("no such folder", path=folder, fix="see `path`")
        try:
            return self._make(path=str(folder))
        except RuntimeError as error:
            fix = "end the other program, or use a Qdrant server"
            raise InputError(f"Qdrant cannot open it: {first_line(error)}", path=folder, fix=fix) from None

    def _sign(self, client: Any, dimension: int) -> int:
        """Return the factor that makes larger scores better: -1 for distances (Euclid, Manhattan), else 1.

        Raises:
            InputError: no such named vector, or the encoder's vectors have another dimension.
        """
        settings = self._settings
        vectors = client.get_collection(settings.collection).config.params.vectors
        named = vectors if isinstance(vectors, dict) else {}
        if named and settings.vector not in named:
            fix = f"set `vector` to one of {', '.join(sorted(named))}"
            raise InputError("the collection names its vectors", path=self._path, got=settings.vector, fix=fix)
        vector = named.get(settings.vector, vectors)
        size = getattr(vector, "size", None)
        if size != dimension:
            what = f"the collection's vectors have {size} dimensions, those of the encoder {dimension}"
            raise InputError(what, path=self._path, got=settings.encoder, fix="name the encoder of the collection")
        return -1 if vector.distance in ("Euclid", "Manhattan") else 1

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """Open a client, for one thread at a time; its errors become one line."""
        from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

        try:
            with self._lock, closing(self._client()) as client:
                yield client
        except UnexpectedResponse as error:
            raise self._refused(error.status_code, error.content) from None
        except ResponseHandlingException as error:
            what = f"cannot reach Qdrant at {self._settings.url}: {first_line(error)}"
            raise InputError(what, path=self._path, fix="see `url` and `timeout`") from None
        except (ApiException, ValueError, KeyError) as error:  # local mode raises ValueError
            fix = "see `collection`" if "not found" in str(error) else None
            raise InputError(f"Qdrant refuses: {first_line(error)}", path=self._path, fix=fix) from None

    def _refused(self, status: int | None, content: bytes) -> InputError:
        fixes = {401: "see `key_file`", 403: "see `key_file`", 404: "see `collection`"}
        message = content.decode("utf-8", "replace")[:200]
        return InputError(f"Qdrant refuses ({status}): {message}", path=self._path, fix=fixes.get(status or 0))


def _whole_number(doc_id: str) -> int | None:
    """Return the whole number, of at most 20 characters, that Qdrant writes as this id; None: there is none."""
    digits = doc_id.removeprefix("-")
    if len(doc_id) > 20 or not (digits.isascii() and digits.isdigit()) or str(int(doc_id)) != doc_id:
        return None
    return int(doc_id)


def _point_id(doc_id: str) -> int | str | None:
    """Return the id of a point, a number or UUID; None: no point has such an id."""
    if doc_id.isascii() and doc_id.isdigit():
        number = _whole_number(doc_id)
        return number if number is not None and number < 2**64 else None
    try:
        return str(uuid.UUID(doc_id))
    except ValueError:
        return None
