"""Payloads of stores that hold JSON objects: named fields become id, title, text and metadata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from longrank.errors import InputError
from longrank.formats.jsonl import id_of
from longrank.formats.lines import Line
from longrank.formats.records import Record
from longrank.retrieval.stores.settings import StoreSettings

_ABSENT = object()


class Hit(NamedTuple):
    """An object of a store: its own key, its fields, and its score; None: the store gives no score."""

    key: object
    payload: Mapping[str, Any]
    score: float | None = None


def records_of_hits(
    hits: Iterable[Hit], settings: StoreSettings, id_field: str | None, path: Path, seen: set[str]
) -> list[tuple[Record, float | None]]:
    """Return hits as records with their scores; a text that is missing is empty.

    Args:
        hits: the hits.
        settings: names of the fields; ``a.b`` is the field b of the object a.
        id_field: field of the ids; None: the hit's own key.
        path: file of the settings, for messages.
        seen: takes the field of the text once a hit has had it: then documents may lack it.

    Raises:
        InputError: no usable id, or no hit so far has had the field of the text, not even without a value.
    """
    hits = list(hits)
    if any(value_at(hit.payload, settings.text, _ABSENT) is not _ABSENT for hit in hits):
        seen.add(settings.text)
    if hits and settings.text not in seen:
        fix = f'name the field of the text: text = "..."; documents have {", ".join(sorted(hits[0].payload)) or "none"}'
        raise InputError("no document has this field", path=path, got=settings.text, fix=fix)
    return [(_record(hit, number, settings, id_field, path), hit.score) for number, hit in enumerate(hits, 1)]


def _record(hit: Hit, number: int, settings: StoreSettings, id_field: str | None, path: Path) -> Record:
    key = hit.key if id_field is None else value_at(hit.payload, id_field)
    if key is None:
        fix = "name a field that every document has"
        raise InputError(f"document {hit.key!r} lacks the field of the id", path=path, got=id_field, fix=fix)
    doc_id = id_of({"id": key}, ("id",), Line(number, "", True), path)
    used = {settings.text, settings.title, id_field}
    names: Sequence[str] = settings.metadata if settings.metadata is not None else [*hit.payload]
    others = {name: value_at(hit.payload, name) for name in names if name not in used}
    title = None if settings.title is None else _text(hit, settings.title, path)
    return Record(doc_id, {**others, "title": title, "text": _text(hit, settings.text, path) or ""}, None)


def _text(hit: Hit, name: str, path: Path) -> str | None:
    """Return a field that holds a text, or a list of texts, whose parts become lines; None if there is none."""
    value = value_at(hit.payload, name)
    parts = [part for part in (value if isinstance(value, list) else [value]) if part is not None]
    if wrong := [part for part in parts if not isinstance(part, str)]:
        fix = "name a field of texts, or store this value as a text"
        raise InputError(f"the field {name} of document {hit.key!r} is no text", path=path, got=wrong[0], fix=fix)
    return "\n".join(parts) if parts else None


def value_at(payload: Mapping[str, Any], name: str, absent: Any = None) -> Any:
    """Return a field of an object, ``a.b`` as the field b of the object a; `absent` if there is none."""
    if name in payload:
        return payload[name]
    first, dot, rest = name.partition(".")
    below = payload.get(first) if dot else None
    return value_at(below, rest, absent) if isinstance(below, Mapping) else absent
