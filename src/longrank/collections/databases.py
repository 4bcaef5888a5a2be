"""Read documents from databases: an address and a query, whose rows are documents.

    sqlite:///FILE?query=SELECT ...                        a file of SQLite; sqlite:////FILE: an absolute path
    postgresql://USER@HOST/NAME?query=SELECT ...           PostgreSQL (extra ``postgres``); other parameters are libpq's

The query is the rest of the address, as it is, without percent-encoding. Columns are named as fields of JSONL: an id
(doc_id, id, _id or docno), title, text (body, contents) and any others, which are metadata. To add a database, write a
function that yields `Record`s of an `Address` and add a line to `DATABASES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

from longrank.collections.patterns import absolute_path
from longrank.errors import InputError
from longrank.formats.records import Record
from longrank.registries import lookup
from longrank.storage.remote.addresses import SCHEMES

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_QUERY = re.compile(r"[?&]query=")
_HOST = re.compile(r"[^/?#]*")
_SECRETS = frozenset({"password", "sslpassword", "oauth_client_secret"})  # parameters of libpq


class Address(NamedTuple):
    """An address of a database, and the query whose rows are the documents.

    Attributes:
        scheme: a key of `DATABASES`.
        location: the address without the query and without secrets.
        query: SQL; empty if the address has none.
        secrets: parameters that are never shown or stored: ``password``, ...
        place: the file or database, for messages.
    """

    scheme: str
    location: str
    query: str
    secrets: dict[str, str]
    place: Path

    @property
    def shown(self) -> str:
        """The whole address without secrets; it can be read again."""
        mark = "&" if "?" in self.location else "?"
        return f"{self.location}{mark}query={self.query}" if self.query else self.location


Rows: TypeAlias = Callable[[Address], Iterator[Record]]

DATABASES: dict[str, Rows | str] = {
    "sqlite": "longrank.collections.sqlite:read_rows",
    "postgresql": "longrank.collections.postgresql:read_rows",
    "postgres": "longrank.collections.postgresql:read_rows",
}
"""Readers of databases by the scheme of the address."""


def is_address(source: str) -> bool:
    """Tell whether a source is an address (``SCHEME://``), of a database or not."""
    return _SCHEME.match(source) is not None


def parse_address(source: str) -> Address:
    """Return the parts of an address; the path of a SQLite file becomes absolute.

    Raises:
        InputError: an unknown scheme, or a password with characters that must be percent-encoded; never shows it.
    """
    scheme = source.partition("://")[0].lower()
    if scheme in SCHEMES:
        fix = "copy them into a folder first, for S3: aws s3 cp --recursive"
        raise InputError("documents are not read from object stores", path=Path(f"{scheme}:"), fix=fix)
    lookup(DATABASES, scheme, "kind of address")
    before, *rest = _QUERY.split(source[len(scheme) + 3 :], maxsplit=1)
    host = (_HOST.match(before) or [""])[0]
    path, _, parameters = before[len(host) :].partition("?")
    user, at, server = host.rpartition("@")
    if scheme != "sqlite" and "@" in path + parameters:
        fix = "write / ? # @ of a password as %2F %3F %23 %40"
        raise InputError("the address cannot be read", path=Path(scheme), fix=fix)
    user, colon, password = user.partition(":")
    pairs = [(unquote(pair.partition("=")[0]), pair) for pair in parameters.split("&") if pair]
    secrets = {name: unquote(pair.partition("=")[2]) for name, pair in pairs if name in _SECRETS}
    secrets |= {"password": unquote(password)} if colon else {}
    kept = "&".join(pair for name, pair in pairs if name not in _SECRETS)
    query = rest[0] if rest else ""
    if scheme == "sqlite":
        file = _sqlite_file(host, path, parameters)
        return Address(scheme, f"sqlite:///{file}", query, {}, file)
    location = f"{scheme}://{user}{at}{server}{path}" + (f"?{kept}" if kept else "")
    return Address(scheme, location, query, secrets, Path(f"{scheme}:{server}{path}"))


def _sqlite_file(host: str, path: str, parameters: str) -> Path:
    """Return the absolute path of a SQLite file: ``/docs.db`` is relative to this folder, ``//docs.db`` is absolute."""
    if host or parameters or len(path) < 2:
        raise InputError("the address names no file", path=Path("sqlite"), fix="write sqlite:///FILE?query=SELECT ...")
    return Path(absolute_path(path[1:]))


def shown_source(source: str) -> str:
    """Return a source as it may be shown and stored: an address without its password, other sources as they are."""
    return parse_address(source).shown if is_address(source) else source


def database_records(address: Address) -> Iterator[Record]:
    """Yield the rows of a query as records, in bounded memory, in the order of the database.

    Raises:
        InputError: no query or a wrong query, the database cannot be read, or a row has no usable id; names the row.
        MissingExtra: the client is not installed.
    """
    if not address.query.strip():
        fix = "end it in ?query=SELECT ..., whose columns are doc_id, title, text and metadata"
        raise InputError("the address has no query", path=address.place, fix=fix)
    read: Rows = lookup(DATABASES, address.scheme, "kind of address")
    return read(address)
