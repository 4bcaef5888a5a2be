"""Read queries from a file, a collection, ir_datasets or values in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from longrank.collections.collection import IRDS, Collection, open_collection, places
from longrank.collections.values import EMPTY, rows
from longrank.errors import InputError
from longrank.formats.jsonl import SURROGATES
from longrank.formats.queries import ID_KEYS, check_language, check_topics, known_field, query_of, texts_of
from longrank.formats.queries import read_queries as read_file
from longrank.formats.strict_json import repaired
from longrank.formats.topics import Topic, field_among
from longrank.types import Notes, Query, id_of

_HERE = Path("queries")  # the place that messages name for values in memory
_TEXTS = ("query", "text", "title")  # rows of documents found have a text, too: that of the document
_FIX = "queries are a file, a collection, irds:ID, texts, id -> text, Query values, (id, text) pairs or a table"


class Queries(list[Query]):
    """Queries in their order; `notes` counts remarks on accepted input."""

    def __init__(self, queries: Iterable[Query], notes: Notes) -> None:
        super().__init__(queries)
        self.notes = notes

    def __repr__(self) -> str:
        return f"Queries({len(self)}, first={self[0]!r})" if self else "Queries(0)"


def read_queries(
    source: Any,
    notes: Notes | None = None,
    *,
    format: str | None = None,
    field: str | None = None,
    allow_empty: bool = False,
) -> Queries:
    """Read queries.

    Args:
        source: a file, a collection folder, a name of the catalogue or ``irds:ID``; or a list of texts (ids 1, 2,
            ...), a mapping or pandas Series id -> text, a mapping id -> fields, a table with columns ``qid`` and
            ``query``, or an iterable of `Query`, mappings with an id and a text, or (id, text) pairs.
        notes: counts remarks on accepted input; the result carries it.
        format: a name of `longrank.formats.queries.QUERY_FORMATS`; default: told from the file.
        field: the field to search for, by any of its names; default: the title of a topic, else ``text``.
        allow_empty: accept, and count, queries whose text is empty.

    Raises:
        InputError: no query, an unusable value or id, a set of texts, an id twice, an empty text, a field that no query
            has, or a fault of the file.
        MissingExtra: ir_datasets is needed and not installed.

    Example:
        >>> [query.query_id for query in read_queries(["dogs bark", "cats purr"])]
        ['1', '2']
    """
    notes = Notes() if notes is None else notes
    if not isinstance(source, str | Path | Collection):
        if format is not None:
            raise InputError("a format is of a file, and these queries are values in memory", got=format)
        read_before = isinstance(source, Queries) and field is None  # with remarks, which are not repeated
        return Queries(_in_memory(source, field, allow_empty, Notes() if read_before else notes), notes)

    def read(place: str, guessed: str | None) -> list[Query]:
        if place.startswith(IRDS):
            from longrank.collections.irds import irds_topics

            if format is not None:
                raise InputError("a format is of a file, and these queries are of ir_datasets", got=format)
            return _chosen(irds_topics(place.removeprefix(IRDS), notes), Path(place), field, allow_empty, notes)
        return read_file(Path(place), notes, format=format or guessed, field=field, allow_empty=allow_empty)

    return Queries(_joined(source, read), notes)


def read_queries_or_text(collection: Collection, field: str | None, notes: Notes) -> tuple[Queries, bool]:
    """Read the queries of a collection by a field, or by their text if no query of a file has it.

    Returns:
        The queries, and True if a file lacks the field.

    Raises:
        InputError, MissingExtra: as `read_queries`.
    """
    lacks = []

    def read(place: str, guessed: str | None) -> list[Query]:
        has_field = field is None or any(
            field_among(field, query.fields) for query in read_queries(place, format=guessed)
        )
        lacks.append(not has_field)
        return read_queries(place, notes, format=guessed, field=field if has_field else None)

    return Queries(_joined(collection, read), notes), any(lacks)


def _joined(source: str | Path | Collection, read: Callable[[str, str | None], list[Query]]) -> Iterable[Query]:
    """Read every query file of a collection as if they were one file."""
    parts = places(source, "queries")
    entry = open_collection(source).entry if parts != (str(source),) else None
    queries: dict[str, Query] = {}
    for place in parts:
        tells = place.removesuffix(".gz").endswith((".jsonl", ".tsv", ".xml"))
        for query in read(place, entry.query_format if entry and not tells else None):
            if queries.setdefault(query.query_id, query) is not query:
                raise InputError("a query of this id is in another file, too", path=place, got=query.query_id)
    return queries.values()


def _in_memory(source: Any, field: str | None, allow_empty: bool, notes: Notes) -> list[Query]:
    if isinstance(source, set | frozenset) and any(isinstance(item, str) for item in source):
        raise InputError("a set of texts has no order that could number them", fix="give a list, or id -> text")
    if isinstance(source, Mapping) and all(any(name in source for name in names) for names in (ID_KEYS, _TEXTS)):
        raise InputError("this mapping is one query, not id -> text", got=dict(source), fix="put it into a list")
    given = [_topic(item, number, notes) for number, item in enumerate(rows(source, "queries", _FIX), 1)]
    if not given:
        raise InputError("there is no query", fix=EMPTY)
    return _chosen(given, _HERE, field, allow_empty, notes)


def _chosen(
    given: list[tuple[Topic, str]], path: Path, field: str | None, allow_empty: bool, notes: Notes
) -> list[Query]:
    """Return topics as queries of a field, or of the text that is given with each."""
    topics = [topic for topic, _ in given]
    check_topics(topics, path)
    if field is not None:
        field = known_field(field, topics, path)
        given = [(topic, topic.fields.get(field, "")) for topic in topics]
    options: dict[str, Any] = {"path": path, "notes": notes, "allow_empty": allow_empty}
    queries = []
    for topic, text in given:
        read, replaced = repaired(text)
        notes.add(SURROGATES, f"{path}:{topic.line}", replaced)
        queries.append(query_of(topic, read.strip(), field or "text", **options))
    return queries


def _topic(item: Any, number: int, notes: Notes) -> tuple[Topic, str]:
    """Return the id and the fields of a query, and its text."""
    if isinstance(item, str):
        item = (number, item)
    elif isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], Mapping):
        item = {"qid": item[0], **{key: value for key, value in item[1].items() if key not in ID_KEYS}}
    fields: Mapping[str, Any] = {}
    if isinstance(item, Query):
        query_id, text, fields = item.query_id, item.text, item.fields
    elif isinstance(item, Mapping):
        key = next((key for key in ID_KEYS if key in item), None)
        name = next((key for key in _TEXTS if key in item), None)
        if key is None or name is None:
            fix = f"an id ({', '.join(ID_KEYS)}) and a text ({', '.join(_TEXTS)}) are needed"
            raise InputError("query has no id or no text", path=_HERE, line=number, got=dict(item), fix=fix)
        query_id, text, fields = item[key], item[name], item
    elif isinstance(item, tuple) and len(item) == 2:
        query_id, text = item
        fields = {"text": text}
    else:
        raise InputError("is not a query", path=_HERE, line=number, got=item, fix=_FIX)
    if not isinstance(text, str):
        raise InputError("query text is not a string", path=_HERE, line=number, got=text)
    texts = texts_of(fields, f"{_HERE}:{number}", notes)
    check_language(fields, _HERE, number)
    return Topic(number, id_of(query_id, "query id"), texts), text
