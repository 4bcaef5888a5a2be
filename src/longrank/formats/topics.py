"""TREC topics as SGML, with or without closing tags, each field with its label or without:

    <top> <num> Number: 301 <title> ... <desc> Description: ... <narr> Narrative: ... </top>

`Topic` is what every query format yields; `topics_xml` reads the XML dialects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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
"""What tracks called a field -> what it is called here."""

_LABELS = {
    "num": "Number",
    "title": "Topic",
    "desc": "Description",
    "narr": "Narrative",
    "dom": "Domain",
    "smry": "Summary",
    "con": r"Concept\(s\)",
    "fac": r"Factor\(s\)",
    "def": r"Definition\(s\)",
}
_KNOWN_TAGS = frozenset(_LABELS) | STANDARD_NAMES.keys()
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9_-]*)\s*>")


class Topic(NamedTuple):
    """A query as its file gives it: the line where it begins, its id, its texts by standard name."""

    line: int
    query_id: str
    fields: dict[str, str]


def read_sgml_topics(lines: Iterable[Line], path: Path, notes: Notes) -> Iterator[Topic]:
    """Yield the topics of a TREC topics file; white space within a field becomes single spaces.

    Inside a field, only a known tag or one at the beginning of a line opens another field; other
    ``<words>`` are text, and so are ``&`` and ``<``.

    Raises:
        InputError: a ``<top>`` that is not closed or has no ``<num>``, a field twice, or text
            outside a topic.
    """
    body: list[str] | None = None
    opened = 0
    for number, text, _ in lines:
        for piece in re.split(r"(</?top\s*>)", text, flags=re.IGNORECASE):
            tag = piece.lower().replace(" ", "")
            if tag == "<top>":
                _check_closed(body, opened, path)
                body, opened = [], number
            elif tag == "</top>":
                if body is None:
                    raise InputError("</top> without <top>", path=path, line=number)
                yield _topic("".join(body), opened, path)
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


def _topic(body: str, line: int, path: Path) -> Topic:
    fields: dict[str, str] = {}
    for tag, text in _fields(body):
        if tag in fields:
            raise InputError(f"topic has two <{tag}>", path=path, line=line)
        fields[tag] = text
    if not fields.get("num"):
        raise InputError("topic without <num>", path=path, line=line)
    return Topic(line, fields.pop("num"), standardised(fields))


def _fields(body: str) -> Iterator[tuple[str, str]]:
    """Yield (tag, text) of each field; a field ends where it is closed or another is opened."""
    name, start = "", 0
    for tag in _TAG.finditer(body):
        closing, word = bool(tag[1]), tag[2].lower()
        at_line_start = not body[body.rfind("\n", 0, tag.start()) + 1 : tag.start()].strip()
        if closing and word == name:
            yield name, _text(name, body[start : tag.start()])
            name = ""
        elif not closing and (not name or at_line_start or word in _KNOWN_TAGS):
            if name:
                yield name, _text(name, body[start : tag.start()])
            name, start = word, tag.end()
    if name:
        yield name, _text(name, body[start:])


def _text(tag: str, raw: str) -> str:
    label = _LABELS.get(tag)
    if label is not None:
        raw = re.sub(rf"\A\s*{label}\s*(?::|\n|\Z)", "", raw, count=1)
    return " ".join(raw.split())


def standardised(fields: dict[str, str]) -> dict[str, str]:
    """Return `fields` under their standard names; a name that is already taken is left as it is."""
    named: dict[str, str] = {}
    for name, text in fields.items():
        standard = STANDARD_NAMES.get(name, name)
        named[name if standard in fields and standard != name else standard] = text
    return named
