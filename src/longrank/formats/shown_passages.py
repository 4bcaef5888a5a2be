"""Passages that a system shows for a document, best first: JSONL, as ``longrank search --json`` prints it.

    {"query_id": "q1", "doc_id": "d7", "passages": [{"start": 120, "end": 480, "score": 7.5}, ...]}

``query``, the query's text, may stand in place of the id. Other keys are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from longrank.errors import InputError
from longrank.formats.evidence import FORMAT
from longrank.formats.jsonl import read_objects
from longrank.types import Notes, Span, id_of

_HERE = Path("evidence")  # the place that messages name for values in memory
_FIX = '{"query_id": "q1", "doc_id": "d7", "passages": [{"start": 120, "end": 480}]}, best passage first'


class ShownPassages(NamedTuple):
    """The passages of a document, best first, for a query by its id or its text."""

    query_id: str | None
    query: str | None
    doc_id: str
    spans: tuple[Span, ...]
    line: int


def is_evidence_file(path: Path) -> bool:
    """Tell whether a file begins with the header of an evidence file; any version.

    Raises:
        InputError: there is no such file.
    """
    if not path.is_file():
        raise InputError("no such file", path=path)
    with path.open("rb") as stream:
        line = stream.readline(1 << 26)
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and header.get("format") == FORMAT


def read_shown_passages(source: Path | Iterable[Any], notes: Notes) -> Iterator[ShownPassages]:
    """Yield the passages of each document.

    Args:
        source: a JSONL file, ``.gz`` or not; or mappings in memory with the same keys.
        notes: counts lines in which a later passage has a higher score. The order of the list counts.

    Raises:
        InputError: a line without query or document, passages that are no list of spans, or as `read_objects`.
    """
    if isinstance(source, Path):
        lines = ((line.number, record) for line, record in read_objects(source, notes))
    else:
        lines = ((number, record) for number, record in enumerate(source, 1))
    path = source if isinstance(source, Path) else _HERE
    for number, record in lines:
        try:
            yield _shown(record, number, f"{path}:{number}", notes)
        except InputError as error:
            raise InputError(error.what, path=path, line=number, got=error.got, fix=error.fix or _FIX) from None


def _shown(record: Any, number: int, place: str, notes: Notes) -> ShownPassages:
    if not isinstance(record, Mapping):
        raise InputError("is no JSON object", got=record)
    query_id, query = record.get("query_id"), record.get("query")
    if query_id is None and not isinstance(query, str):
        raise InputError("has neither 'query_id' nor 'query'", got=dict(record))
    if "doc_id" not in record:
        raise InputError("has no 'doc_id'", got=dict(record))
    passages = record.get("passages")
    if not isinstance(passages, list | tuple):
        raise InputError("'passages' is no list", got=passages)
    scores = [passage["score"] for passage in passages if isinstance(passage, Mapping) and "score" in passage]
    rising = all(isinstance(score, int | float) for score in scores) and any(a < b for a, b in pairwise(scores))
    notes.add(
        "documents whose passages are not in the order of their scores; the order of the list counts", place, rising
    )
    return ShownPassages(
        None if query_id is None else id_of(query_id, "query_id"),
        query,
        id_of(record["doc_id"], "doc_id"),
        tuple(map(_span, passages)),
        number,
    )


def _span(passage: Any) -> Span:
    if not isinstance(passage, Mapping):
        raise InputError("a passage is no object with 'start' and 'end'", got=passage)
    start, end = passage.get("start"), passage.get("end")
    if type(start) is not int or type(end) is not int or not 0 <= start <= end:
        raise InputError("a passage has no offsets with 0 <= start <= end", got=dict(passage))
    return start, end
