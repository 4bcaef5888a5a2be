"""Answers to queries: the field ``answers`` of JSONL queries, a list of alternative texts, as in SQuAD."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.formats.jsonl import id_of, read_objects
from longrank.formats.queries import ANSWERS, ID_KEYS
from longrank.types import Notes


def read_answers(path: Path, notes: Notes) -> dict[str, tuple[str, ...]]:
    """Return query_id -> its answers; queries without the field, or with an empty list, are left out.

    Raises:
        InputError: ``answers`` is no list of texts, an answer is empty, or as `read_objects`.
    """
    answers = {}
    for line, record in read_objects(path, notes):
        if record.get(ANSWERS, []) != []:
            query_id = id_of(record, ID_KEYS, line, path)
            answers[query_id] = checked_answers(record[ANSWERS], path, line.number)
    return answers


def checked_answers(value: Any, path: Path, line: int | None = None) -> tuple[str, ...]:
    """Return a list of answers as a tuple.

    Raises:
        InputError: no list of texts, or an answer is empty.
    """
    if not isinstance(value, list | tuple) or not all(isinstance(answer, str) for answer in value):
        raise InputError(f"'{ANSWERS}' is no list of texts", path=path, line=line, got=value)
    if not all(answer.strip() for answer in value):
        raise InputError("an answer is empty", path=path, line=line, got=list(value))
    return tuple(value)
