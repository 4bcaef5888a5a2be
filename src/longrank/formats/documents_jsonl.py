"""Documents, one JSON object per line: an id, ``text`` (or ``body``, ``contents``), and any other fields."""

from __future__ import annotations

from collections.abc import Iterator

from longrank.formats.jsonl import id_of, read_objects
from longrank.formats.records import ID_KEYS, CorpusOptions, Record, SourceFile
from longrank.types import Notes


def read_jsonl(file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[Record]:
    """Yield the documents of a JSONL file.

    Raises:
        InputError: a line that is no strict JSON object or has no usable id; names the line.
    """
    for line, values in read_objects(file.path, notes, options.text):
        yield Record(id_of(values, ID_KEYS, line, file.path), values, line.number)
