"""The catalogue of collections: the papers' own collections, and open ones that can replace them.

The entries stand in ``catalogue.toml``; `longrank.collections.open_collection` finds their parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from longrank.config import read_toml
from longrank.registries import lookup

_HERE = Path(__file__).parent
FOLDS = _HERE / "folds"
LAYOUT = "docs.jsonl or docs/, queries.jsonl or topics*, qrels.txt or qrels.*"
"""The files of any collection folder; `longrank.collections.collection` lists them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """An entry of the catalogue.

    Attributes:
        key: its name on the command line.
        name: its title.
        licence: ``licensed``: from its owner, after an agreement; ``on request``: after asking, or for some uses only.
        obtain: where to get it.
        queries: number of queries.
        judged: number of queries with judgments.
        judgments: number of judgments; None: unknown.
        documents: number of documents; None: unknown.
        query_fields: fields of a query; ``text`` if it has a single text.
        query_format: format of a local query file, if its name does not tell.
        irds: id in ir_datasets; None: ir_datasets lacks it.
        irds_queries: ids of its queries and judgments, if they differ from `irds`.
        judged_before: ids whose judged documents are left out of rankings (residual evaluation).
        index_fields: fields of ir_datasets' documents to index; None: title and text.
        index_only: a field that is indexed and that no model reads.
        title_in_text: whether models read the title as the beginning of the text.
        folds: the package's file of folds.
        folds_about: the source of the folds.
        layout: contents of its folder beside or instead of `LAYOUT`.
    """

    key: str
    name: str
    licence: Literal["open", "on request", "licensed"]
    obtain: str
    queries: int
    judged: int
    judgments: int | None = None
    documents: int | None = None
    query_fields: tuple[str, ...] = ("text",)
    query_format: str | None = None
    irds: str | None = None
    irds_queries: tuple[str, ...] = ()
    judged_before: tuple[str, ...] = ()
    index_fields: str | None = None
    index_only: str | None = None
    title_in_text: bool = False
    folds: str | None = None
    folds_about: str = ""
    layout: str = ""

    def how_to_get(self) -> str:
        """Return a line that says where to get the collection, and the layout of its folder."""
        cache = f", or where ir_datasets wants {self.irds}" if self.irds else ""
        besides = f": {self.layout}" if self.layout else ""
        return f"{self.licence}, from {self.obtain}; put it in {self.key}=FOLDER ({LAYOUT}{besides}){cache}"


@cache
def catalogue() -> Mapping[str, CatalogueEntry]:
    """Return the entries by key, in the order of the file."""
    read = read_toml(_HERE / "catalogue.toml")
    return {key: _entry(key, values) for key, values in read.items()}


def _entry(key: str, values: Mapping[str, Any]) -> CatalogueEntry:
    frozen: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    return CatalogueEntry(key=key, **frozen)


def find_entry(name: str) -> CatalogueEntry:
    """Return an entry by its name.

    Raises:
        InputError: no such name; suggests the nearest.
    """
    return lookup(catalogue(), name, "collection")
