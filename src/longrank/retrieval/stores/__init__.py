"""First stages in stores that people have: a query in; ids, texts, scores and metadata out.

    longrank search postgres:library.toml "lights of the coast"
    longrank retrieve qdrant:pages.toml QUERIES -o RUN

The file has the settings of the store; docs/candidates.md describes them. To add a store, write a class that follows
`Store` and add a line to `STORES`.
"""

from __future__ import annotations

from pathlib import Path

from longrank.config import read_toml
from longrank.errors import InputError
from longrank.registries import lookup
from longrank.retrieval.stores.found import Found as Found
from longrank.retrieval.stores.found import Store as Store
from longrank.retrieval.stores.found import StoreRetriever as StoreRetriever

STORES: dict[str, type[Store] | str] = {
    "postgres": "longrank.retrieval.stores.postgres:Postgres",
    "opensearch": "longrank.retrieval.stores.opensearch:OpenSearch",
    "elasticsearch": "longrank.retrieval.stores.elasticsearch:Elasticsearch",
    "qdrant": "longrank.retrieval.stores.qdrant:Qdrant",
}
"""Stores by the prefix of ``postgres:SETTINGS.toml``; they are opened with a path and settings."""


def is_store(source: object) -> bool:
    """Tell whether a source names a store: ``postgres:SETTINGS.toml``."""
    name, colon, _ = str(source).partition(":")
    return isinstance(source, str | Path) and bool(colon) and name in STORES


def check_no_filter(source: object, filter: object) -> None:
    """Refuse a filter of documents by their metadata, which only an index has.

    Raises:
        InputError: there is a filter.
    """
    if filter is not None:
        fix = "write the condition into the store's settings"
        raise InputError("a filter needs a LongRank index", got=str(source), fix=fix)


def check_no_language(source: object, lang: str | None) -> None:
    """Refuse a language of the queries, which chooses an analyzer, and only an index has analyzers.

    Raises:
        InputError: there is a language.
    """
    if lang is not None:
        raise InputError("a language needs a LongRank index", got=str(source), fix="leave out the language")


def open_store(source: str | Path) -> Store:
    """Read the settings of a store; it is reached by the first query.

    Args:
        source: ``STORE:SETTINGS.toml``.

    Raises:
        InputError: no such file, or wrong settings; names the key.
        MissingExtra: the store's client is not installed.
    """
    name, _, path = str(source).partition(":")
    if not path.endswith(".toml"):
        fix = f"write its settings to a file, and give {name}:FILE.toml"
        raise InputError("a store is named by its file of settings", got=str(source), fix=fix)
    opened: Store = lookup(STORES, name, "store")(Path(path), read_toml(Path(path)))
    return opened
