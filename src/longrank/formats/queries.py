"""Query files in all known formats, read into `Query` values.

To add a format: write a function from lines to topics and add a line to `QUERY_FORMATS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Number
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from longrank.errors import InputError
from longrank.formats.ids import check_id
from longrank.formats.jsonl import SURROGATES, id_of, parse_object
from longrank.formats.lines import TEXT_IN_MEMORY, Line, TextOptions, read_lines
from longrank.formats.metadata import is_missing
from longrank.formats.strict_json import repaired
from longrank.formats.topics import Topic, field_among, read_sgml_topics
from longrank.formats.topics_xml import read_xml_topics
from longrank.registries import lookup, suggestion
from longrank.types import Notes, Query

ID_KEYS = ("query_id", "_id", "id", "qid")
_HEADERS = (*ID_KEYS, "query-id", "queryid", "topic_id", "topic-id")
ANSWERS = "answers"
"""Field of JSONL queries that is a list of texts."""
_LONG_QUERY_CHARACTERS = 10_000
_ENTITY = re.compile(r"&(amp|lt|gt|quot|apos|nbsp|#\d+|#x[0-9A-Fa-f]+);")


def read_jsonl_queries(lines: Iterable[Line], path: Path, notes: Notes) -> Iterator[Topic]:
    """Read one object per line with an id (``query_id``, ``_id``, ``id`` or ``qid``); every text is a field."""
    for line in _filled(lines):
        record = parse_object(line, path, notes)
        query_id = id_of(record, ID_KEYS, line, path)
        if "text" in record and not isinstance(record["text"], str):
            what = "'text' is null" if record["text"] is None else "'text' is not a string"
            raise InputError(what, path=path, line=line.number, got=record["text"])
        check_language(record, path, line.number)
        yield Topic(line.number, query_id, texts_of(record, f"{path}:{line.number}", notes))


def texts_of(record: Mapping[str, Any], place: str, notes: Notes) -> dict[str, str]:
    """Return the fields of a query that are texts, without white space around them; count others that say something."""
    texts = {key: value.strip() for key, value in record.items() if isinstance(value, str) and key not in ID_KEYS}
    read = {*texts, *ID_KEYS, ANSWERS}
    others = [key for key, value in record.items() if key not in read and not _says_nothing(value)]
    for key in others[:1]:
        notes.add("query fields left out: not strings", f"{place}, '{key}'", len(others))
    return texts


def _says_nothing(value: Any) -> bool:
    """Tell whether a value is missing or empty: BEIR's queries have an empty ``metadata``."""
    return is_missing(value) or (isinstance(value, list | tuple | dict) and not value)


def check_language(record: Mapping[str, Any], path: Path, line: int) -> None:
    """Refuse a query whose ``lang`` is no text: without it, the query would be read in other languages.

    Raises:
        InputError: names the line.
    """
    value = record.get("lang")
    if isinstance(value, Number | list | tuple | Mapping | bytes) and not is_missing(value):
        fix = "give a code such as en or de"
        raise InputError("'lang' is not a string", path=path, line=line, got=value, fix=fix)


def read_tsv_queries(lines: Iterable[Line], path: Path, notes: Notes) -> Iterator[Topic]:
    """Read ``id <tab> text``; a header line with a first column such as ``query_id`` is skipped."""
    for n, line in enumerate(_filled(lines)):
        columns = line.text.split("\t")
        if n == 0 and columns[0].strip(" ").lower() in _HEADERS:
            notes.add("header lines skipped", f"{path}:{line.number}")
            continue
        if len(columns) != 2:
            fix = "a row is: id <tab> text; name other layouts with --query-format"
            raise InputError(f"{_columns(columns)} instead of 2", path=path, line=line.number, got=line.text, fix=fix)
        yield Topic(line.number, columns[0].strip(" "), {"text": columns[1].strip()})


def read_cedr_queries(lines: Iterable[Line], path: Path, notes: Notes) -> Iterator[Topic]:
    """Read CEDR's ``query <tab> id <tab> text`` (MacAvaney et al. 2019, released code)."""
    for line in _filled(lines):
        columns = line.text.split("\t")
        if len(columns) != 3 or columns[0] != "query":
            fix = "a row is: query <tab> id <tab> text"
            raise InputError("is not a query of CEDR's format", path=path, line=line.number, got=line.text, fix=fix)
        yield Topic(line.number, columns[1].strip(" "), {"text": columns[2].strip()})


def read_car_queries(lines: Iterable[Line], path: Path, notes: Notes) -> Iterator[Topic]:
    """Read TREC CAR: a line is an id, ``enwiki:Page/Heading%20one/...``; the headings in it are the query."""
    for line in _filled(lines):
        query_id = line.text.strip(" ")
        text = " ".join(unquote(heading) for heading in query_id.removeprefix("enwiki:").split("/"))
        notes.add("ids whose %-escapes are not UTF-8", f"{path}:{line.number}", "\ufffd" in text)
        yield Topic(line.number, query_id, {"text": text})


class QueryFormat(NamedTuple):
    """The reader of a format, and the field that is the query by default."""

    read: Callable[[Sequence[Line], Path, Notes], Iterable[Topic]]
    field: str


QUERY_FORMATS: dict[str, QueryFormat] = {
    "jsonl": QueryFormat(read_jsonl_queries, "text"),
    "tsv": QueryFormat(read_tsv_queries, "text"),
    "trec": QueryFormat(read_sgml_topics, "title"),
    "xml": QueryFormat(read_xml_topics, "title"),
    "car": QueryFormat(read_car_queries, "text"),
    "cedr": QueryFormat(read_cedr_queries, "text"),
}
"""name -> format; ``car`` and ``cedr`` look like other formats, so the user must name them."""


def read_queries(
    path: Path,
    notes: Notes,
    *,
    format: str | None = None,
    field: str | None = None,
    allow_empty: bool = False,
    options: TextOptions = TEXT_IN_MEMORY,
) -> list[Query]:
    """Read a file of queries, ``.gz`` or not, in its order.

    Args:
        path: the file.
        notes: counts remarks on accepted input.
        format: a name of `QUERY_FORMATS`; default: told from the file's name and first line.
        field: the field that is the query, by any of its names (``question``: the description); by default
            the title of a topic, ``text`` elsewhere.
        allow_empty: accept, and count, queries whose text is empty.
        options: encoding and limits.

    Raises:
        InputError: a file without queries, a format or field that does not exist, an id that is
            empty, not one word or given twice (names both lines), an empty text, or a fault of the format.
    """
    lines = list(read_lines(path, notes, options))
    chosen = lookup(QUERY_FORMATS, format or _guess(path, lines), "query format")
    topics = list(chosen.read(lines, path, notes))
    if not topics:
        raise InputError("holds no query", path=path)
    check_topics(topics, path)
    name = known_field(field or chosen.field, topics, path)
    texts = (topic.fields.get(name, "") for topic in topics)
    return [
        query_of(topic, text, name, path=path, notes=notes, allow_empty=allow_empty)
        for topic, text in zip(topics, texts, strict=True)
    ]


def _guess(path: Path, lines: Sequence[Line]) -> str:
    first = next(_filled(lines), None)
    if first is None:
        raise InputError("is empty", path=path)
    name = path.name.lower().removesuffix(".gz")
    if _is_jsonl(path, first):
        return "jsonl"
    if name.endswith((".tsv", ".xml")):
        return name[-3:]
    if first.text.lstrip().startswith("<"):
        tags = (re.search(r"<([A-Za-z][\w-]*)", line.text) for line in lines)
        return "trec" if next((tag[1].lower() for tag in tags if tag), "") == "top" else "xml"
    if "\t" in first.text:
        return "tsv"
    fix = f"name it with --query-format ({', '.join(QUERY_FORMATS)})"
    raise InputError("the query format is unknown", path=path, line=first.number, got=first.text, fix=fix)


def is_jsonl(path: Path) -> bool:
    """Tell whether a file of queries is JSONL, by its name or its first line.

    Raises:
        InputError: the file cannot be read.
    """
    first = next(_filled(read_lines(path, Notes(), TEXT_IN_MEMORY)), None)
    return first is not None and _is_jsonl(path, first)


def _is_jsonl(path: Path, first: Line) -> bool:
    name = path.name.lower().removesuffix(".gz")
    return name.endswith((".jsonl", ".ndjson", ".json")) or first.text.lstrip().startswith(("{", "["))


def check_topics(topics: Sequence[Topic], path: Path) -> None:
    """Refuse ids that are empty, not one word, or given twice.

    Raises:
        InputError: names the line, and the first line of an id that is given twice.
    """
    lines: dict[str, int] = {}
    for line, query_id, _ in topics:
        check_id(query_id, "query id", path, line)
        if query_id in lines:  # a line may hold several topics of XML
            what = f"query id occurs twice, first on line {lines[query_id]}"
            raise InputError(what, path=path, line=line, got=query_id)
        lines[query_id] = line


def known_field(name: str, topics: Iterable[Topic], path: Path) -> str:
    """Return the name that the topics have for a field.

    Raises:
        InputError: no topic has it, and some have others.
    """
    known = {key for topic in topics for key in topic.fields}
    field = field_among(name, known)
    if field is None and known:
        raise InputError(f"no query has a field '{name}'", path=path, fix=suggestion(name, known))
    return field or name


def query_of(topic: Topic, text: str, name: str, *, path: Path, notes: Notes, allow_empty: bool) -> Query:
    """Return a topic as the query of a text, its field `name`; count texts that are empty, long or hold entities.

    Raises:
        InputError: an empty text, unless `allow_empty`.
    """
    if not text and not allow_empty:
        fix = "remove it, add text, or keep it (in Python `allow_empty`; retrieve and tune: --allow-empty-query)"
        what = (
            f"query {topic.query_id} has an empty {name}"
            if name in topic.fields
            else f"query {topic.query_id} has no {name}"
        )
        raise InputError(what, path=path, line=topic.line, fix=fix)
    if not text:
        notes.add("queries with an empty text", f"{path}:{topic.line}")
    if len(text) > _LONG_QUERY_CHARACTERS:
        notes.add(f"queries of more than {_LONG_QUERY_CHARACTERS} characters", f"{path}:{topic.line}")
    if _ENTITY.search(text):
        notes.add("queries with entities such as &amp;, read as they stand", f"{path}:{topic.line}")
    return Query(topic.query_id, text, topic.fields)


def query_text(query: Any, notes: Notes) -> str:
    """Return the text of a query in memory; its lone surrogates become U+FFFD and are counted.

    Raises:
        InputError: it is empty or no text.
    """
    if not isinstance(query, str) or not query.strip():
        raise InputError("the query is empty" if isinstance(query, str) else "the query is not a text", got=query)
    text, replaced = repaired(query)
    notes.add(SURROGATES, "the query", replaced)
    return str(text)


def _filled(lines: Iterable[Line]) -> Iterator[Line]:
    return (line for line in lines if line.text.strip())


def _columns(columns: Sequence[str]) -> str:
    return "1 column" if len(columns) == 1 else f"{len(columns)} columns"
