"""Queries that a model predicted for documents (doc2query), one JSON object per line: an id and the queries.

LongRank reads ``{"doc_id": ..., "queries": [...]}`` and the format of docTTTTTquery's releases, ``{"id": ...,
"predicted_queries": [...]}``. The index joins the queries to its documents.

The releases of doc2query (OpenNMT) and docTTTTTquery (T5) have plain text instead: line n holds the queries of the nth
passage of the collection, all in one line or one sample per file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from longrank.errors import InputError
from longrank.formats.jsonl import id_of, read_objects
from longrank.formats.lines import DEFAULT_TEXT, Line, TextOptions, read_lines
from longrank.formats.opening import open_bytes
from longrank.formats.records import ID_KEYS
from longrank.types import Notes

QUERIES_KEYS = ("queries", "predicted_queries")
_TEXT_NAME = re.compile(r"\.txt", re.IGNORECASE)  # also predicted_queries_topk.txt-1004000
_POSITION = "\t"  # begins no id


class Expansion(NamedTuple):
    """A line: the queries predicted for a document or for one of its passages, with file and line.

    `doc_id` is an id, or a place in the collection as `position` returns it.
    """

    doc_id: str
    queries: Sequence[str]
    path: str
    line: int


def read_expansions(paths: Sequence[Path], notes: Notes, options: TextOptions = DEFAULT_TEXT) -> Iterator[Expansion]:
    """Yield the lines of all files, one file after the other, in bounded memory.

    Args:
        paths: JSONL files, or text files with a line per document in the collection's order; ``.gz`` or not.
        notes: counts lines without a query, and queries that are empty.
        options: encoding and limits.

    Raises:
        InputError: a file that does not exist, is given twice or is empty; a line that is no strict JSON object, or has
            no usable id, or not exactly one list of strings under `QUERIES_KEYS`; names the line.
    """
    _check(paths)
    for path in paths:
        n_lines = 0
        for expansion in (_of_lines if is_text(path) else _of_objects)(path, notes, options):
            n_lines += 1
            yield expansion
        if not n_lines:
            raise InputError("holds no expansion", path=path)


def position(number: int) -> str:
    """Return the stand-in for the id of a collection's document, by its number from 0."""
    return f"{_POSITION}{number}"


def is_position(doc_id: str) -> bool:
    """Tell whether an expansion names a place in the collection, not an id."""
    return doc_id.startswith(_POSITION)


def is_text(path: Path) -> bool:
    """Tell whether a file has a line of queries per document: ``.txt`` in its name, and its first line is not JSON."""
    if not _TEXT_NAME.search(path.name) or not path.is_file():
        return False
    with suppress(OSError, EOFError), open_bytes(path) as stream:
        return not stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
    return False


def _of_objects(path: Path, notes: Notes, options: TextOptions) -> Iterator[Expansion]:
    for line, record in read_objects(path, notes, options):
        doc_id = id_of(record, ID_KEYS, line, path)
        yield Expansion(doc_id, _queries(record, line, path, notes), str(path), line.number)


def _of_lines(path: Path, notes: Notes, options: TextOptions) -> Iterator[Expansion]:
    for line in read_lines(path, notes, options):
        text = line.text.strip()
        notes.add("expansion lines without a query", f"{path}:{line.number}", not text)
        yield Expansion(position(line.number - 1), [text] if text else [], str(path), line.number)


def expansion_line(doc_id: str, queries: Sequence[str]) -> str:
    """Return the line, with its end, that `read_expansions` reads as the queries of a document."""
    return json.dumps({"doc_id": doc_id, "queries": list(queries)}, ensure_ascii=False) + "\n"


def _check(paths: Sequence[Path]) -> None:
    """Check that every file exists and none is given twice, before the first of many large files is read."""
    seen: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise InputError("no such file", path=path)
        if path.resolve() in seen:
            raise InputError("is given twice, so its queries would count twice", path=path)
        seen.add(path.resolve())


def _queries(record: dict[str, Any], line: Line, path: Path, notes: Notes) -> list[str]:
    keys = [key for key in QUERIES_KEYS if key in record]
    if len(keys) != 1:
        what = "both 'queries' and 'predicted_queries'" if keys else "no queries"
        fix = 'a line is: {"doc_id": "...", "queries": ["...", ...]}'
        raise InputError(what, path=path, line=line.number, fix=fix)
    queries = record[keys[0]]
    if not isinstance(queries, list):
        raise InputError(f"'{keys[0]}' is not a list of strings", path=path, line=line.number, got=queries)
    for query in queries:
        if not isinstance(query, str):
            raise InputError("a predicted query is not a string", path=path, line=line.number, got=query)
    where = f"{path}:{line.number}"
    notes.add("expansion lines without a query", where, not queries)
    notes.add("predicted queries that are empty", where, sum(not query.strip() for query in queries))
    return queries
