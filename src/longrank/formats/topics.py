"""TREC topics as SGML, with or without closing tags and field labels:

    <top> <num> Number: 301 <title> ... <desc> Description: ... <narr> Narrative: ... </top>

Every query format yields `Topic`s; `topics_xml` reads the XML dialects.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from longrank.errors import InputError
from longrank.formats.lines import Line
from longrank.types import Notes

STANDARD_NAMES = {
    "desc": "description",
    "narr": "narrative",
    "question": "description",
    "query": "title",
    "content": "title",
}
"""A track's name of a field -> its standard name."""

_LABELS = {
    "num": r"Number\s*:",
    "title": r"Topic\s*:",
    "desc": r"Description\s*(:|\n|\Z)",
    "narr": r"Narrative\s*(:|\n|\Z)",
    "dom": r"Domain\s*:",
    "smry": r"Summary\s*:",
    "con": r"Concept\(s\)\s*:",
    "fac": r"Factor\(s\)\s*:",
    "def": r"Definition\(s\)\s*:",
}
_KNOWN_TAGS = frozenset(_LABELS) | STANDARD_NAMES.keys()
_TOP = re.compile(r"(</?top\s*>)", re.IGNORECASE)
_TAG = re.compile(r"(^[ \t]*)?<(/?)([A-Za-z][A-Za-z0-9_-]*)\s*>", re.MULTILINE)


STRAY_TEXT = "texts between the fields of a topic, left out"
"""Note on text that belongs to no field, as in topic 296 of the Web track."""


class Topic(NamedTuple):
    """A query of a file: its first line, its id, its texts by standard name."""

    line: int
    query_id: str
    fields: dict[str, str]


def read_sgml_topics(lines: Iterable[Line], path: Path, notes: Notes) -> Iterator[Topic]:
    """Yield the topics of a TREC topics file; white space within a field becomes single spaces.

    Inside a field, only a known tag or a tag at the beginning of a line opens another field; other ``<words>``, ``&``
    and ``<`` are text. Text between fields is left out and counted.

    Raises:
        InputError: a ``<top>`` that is not closed or has no ``<num>``, a field twice, or text
            outside a topic.
    """
    body: list[str] | None = None
    opened = 0
    for number, text, _ in lines:
        for i, piece in enumerate(_TOP.split(text)):
            is_tag = i % 2 == 1
            if is_tag and "/" not in piece:
                _check_closed(body, opened, path)
                body, opened = [], number
            elif is_tag and body is None:
                raise InputError("</top> without <top>", path=path, line=number)
            elif is_tag:
                yield _topic("".join(body or ()), opened, path, notes)
                body = None
            elif body is not None:
                body.append(piece)
            elif piece.strip():
                raise InputError("text outside <top> ... </top>", path=path, line=number, got=piece.strip())
        if body is not None:
            body.append("\n")
    _check_closed(body, opened, path)


def _check_closed(body: list[str] | None, opened: int, path: Path) -> None:
    if body is not None:
        raise InputError("<top> is not closed", path=path, line=opened, fix="end the topic with </top>")


def _topic(body: str, line: int, path: Path, notes: Notes) -> Topic:
    fields: dict[str, str] = {}
    for tag, raw in _fields(body):
        text = _text(tag, raw)
        if tag in fields:
            raise InputError(f"topic has two <{tag}>", path=path, line=line)
        if tag:
            fields[tag] = text
        elif text:
            notes.add(STRAY_TEXT, f"{path}:{line}")
    if not fields.get("num"):
        raise InputError("topic without <num>", path=path, line=line)
    return Topic(line, fields.pop("num"), standardised(fields))


def _fields(body: str) -> Iterator[tuple[str, str]]:
    """Yield (tag, text) of each field; an empty tag: text between fields. The next field may end a field."""
    name, start = "", 0
    for tag in _TAG.finditer(body):
        at_line_start, closing, word = tag[1] is not None, bool(tag[2]), tag[3].lower()
        if closing and word == name:
            yield name, body[start : tag.start()]
            name, start = "", tag.end()
        elif not closing and (not name or at_line_start or word in _KNOWN_TAGS):
            yield name, body[start : tag.start()]
            name, start = word, tag.end()
    yield name, body[start:]


def _text(tag: str, raw: str) -> str:
    if tag in _LABELS:
        raw = re.sub(rf"\A\s*{_LABELS[tag]}", "", raw, count=1, flags=re.IGNORECASE)
    return " ".join(raw.split())


def standardised(fields: dict[str, str]) -> dict[str, str]:
    """Return `fields` under their standard names; a name that is already taken is left as it is."""
    named: dict[str, str] = {}
    for name, text in fields.items():
        standard = STANDARD_NAMES.get(name, name)
        taken = standard != name and (standard in fields or standard in named)
        named[name if taken else standard] = text
    return named


def field_among(name: str, known: Collection[str]) -> str | None:
    """Return the known field of this name, or of the name that another track has for it; None if there is none.

    ``question`` is the description, and ``query`` the title, in topics that have no field of that name.
    """
    meant = STANDARD_NAMES.get(name, name)
    other_names = (other for other, standard in STANDARD_NAMES.items() if standard == meant)
    return next((field for field in (name, meant, *other_names) if field in known), None)
