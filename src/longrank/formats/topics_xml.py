"""TREC and NTCIR topics as XML: TREC-COVID, the Web tracks, NTCIR We Want Web.

    <topics> <topic number="1"> <query>...</query> <question>...</question> ... </topic> ... </topics>
    <queries> <query> <qid>0001</qid> <content>...</content> ... </query> ... </queries>

Every child of the root is a topic, whatever its name. A DOCTYPE is allowed, but entities are refused and nothing is
fetched, so a topics file cannot read other files or fill the memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from xml.parsers import expat

from longrank.errors import InputError
from longrank.formats.lines import Line
from longrank.formats.parsed.html_text import INLINE
from longrank.formats.topics import STRAY_TEXT, Topic, standardised
from longrank.types import Notes

_ID_ATTRIBUTES = ("number", "id", "qid", "num")
_ID_ELEMENTS = ("qid", "num", "number", "id", "query_id")


def read_xml_topics(lines: Iterable[Line], path: Path, notes: Notes) -> list[Topic]:
    """Return the topics of an XML file; white space within a field becomes single spaces.

    A repeated child such as the Web tracks' ``<subtopic number="2">`` is named ``subtopic-2``. Text
    between the fields is left out and counted; the text of a topic without fields is its title.

    Raises:
        InputError: not well-formed XML, a declared or unknown entity, a topic without an id, or
            a field twice.
    """
    reader = _Reader(path, notes)
    try:
        for line in lines:
            reader.parser.Parse(line.text + "\n", False)
        reader.parser.Parse("", True)
    except expat.ExpatError as error:
        open_topic = f"; the topic of line {reader.line} is not closed" if reader.depth > 1 else ""
        what = f"is not well-formed XML: {expat.ErrorString(error.code)}{open_topic}"
        raise InputError(what, path=path, line=error.lineno) from None
    return reader.topics


class _Reader:
    """The state of the parse: depth 1 is the root, 2 a topic, 3 a field; deeper elements belong to the field."""

    def __init__(self, path: Path, notes: Notes) -> None:
        self.path, self.notes = path, notes
        self.topics: list[Topic] = []
        self.depth = self.line = 0
        self.query_id, self.field = "", ""
        self.fields: dict[str, str] = {}
        self.pieces: list[str] = []
        self.stray: list[str] = []  # texts between fields: the title of a topic without fields
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.EntityDeclHandler = self.refuse
        self.parser.SkippedEntityHandler = self.refuse
        self.parser.ExternalEntityRefHandler = self.refuse

    def refuse(self, name: str | None, *_: object) -> int:
        raise InputError("XML entities are refused", path=self.path, line=self.parser.CurrentLineNumber, got=name)

    def fault(self, what: str) -> InputError:
        return InputError(what, path=self.path, line=self.line)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth == 2:
            self.line = self.parser.CurrentLineNumber
            self.query_id = next((attributes[name] for name in _ID_ATTRIBUTES if name in attributes), "")
            self.fields, self.pieces, self.stray = {}, [], []
        elif self.depth == 3:
            self.close_stray()
            self.field = f"{tag}-{attributes['number']}" if "number" in attributes else tag
        elif self.depth > 3:
            self.separate(tag)

    def characters(self, text: str) -> None:
        if self.depth > 1:
            self.pieces.append(text)

    def end(self, tag: str) -> None:
        if self.depth == 3:
            self.close_field()
        elif self.depth == 2:
            self.close_stray()
            self.close_topic(tag)
        elif self.depth > 3:
            self.separate(tag)
        self.depth -= 1

    def separate(self, tag: str) -> None:
        """Separate the words before and after a tag, unless it formats a part of a word."""
        if tag.lower() not in INLINE:
            self.pieces.append(" ")

    def text(self) -> str:
        text, self.pieces = " ".join("".join(self.pieces).split()), []
        return text

    def close_stray(self) -> None:
        self.stray += filter(None, [self.text()])

    def close_field(self) -> None:
        text = self.text()
        if text and self.field in self.fields:
            raise self.fault(f"topic has two '{self.field}'")
        if text:
            self.fields[self.field] = text

    def close_topic(self, tag: str) -> None:
        for name in _ID_ELEMENTS:
            self.query_id = self.query_id or self.fields.pop(name, "")
        if not self.query_id:
            fix = f"a topic has an attribute or element {', '.join(dict.fromkeys(_ID_ATTRIBUTES + _ID_ELEMENTS))}"
            raise InputError(f"<{tag}> without an id", path=self.path, line=self.line, fix=fix)
        stray = " ".join(self.stray)
        if stray and not self.fields:
            self.fields["title"] = stray
        elif stray:
            self.notes.add(STRAY_TEXT, f"{self.path}:{self.line}")
        self.topics.append(Topic(self.line, self.query_id.strip(), standardised(self.fields)))
