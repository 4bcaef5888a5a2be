"""TREC's SGML: files of ``<DOC> ... </DOC>``, read line by line, so that a file of any size fits.

``trectext`` is the newswire of TREC disks 1-5 and AQUAINT: a ``<DOCNO>``, a headline under one of several
names, a ``<TEXT>``, and much else. ``trecweb`` is WT10g and GOV2: a ``<DOCNO>``, a ``<DOCHDR>`` and a page of HTML.
Tags are written in either case; no tag is closed by another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from longrank.errors import InputError
from longrank.formats.html import page_text
from longrank.formats.ids import check_id
from longrank.formats.lines import Line, read_lines
from longrank.formats.markup import plain_text
from longrank.formats.records import CorpusOptions, Record, SourceFile
from longrank.types import Notes

_EDGE = re.compile(r"<(/?)DOC(?:\s[^<>]*)?>", re.IGNORECASE)
_DOCNO = re.compile(r"<DOCNO>([^<>]*)(</DOCNO>)?", re.IGNORECASE)
_HEADER_END = re.compile(r"</DOCHDR\s*>", re.IGNORECASE)

_TITLES = ("headline", "hl", "title", "ti", "ttl", "head")
_BODIES = ("text", "lp", "leadpara")
"""LP and LEADPARA hold the first paragraph of some newspapers, TEXT the rest."""


class _Raw(NamedTuple):
    """What stands between <DOC> and </DOC>, and the line where it begins."""

    line: int
    text: str


def read_trectext(file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[Record]:
    """Yield the documents of a newswire file; any other tag (``date``, ``byline``) is a field by its name.

    The title is the headline (HEADLINE, HL, TITLE, TI, TTL or HEAD outside the text); the text is the sections
    TEXT, LP and LEADPARA. A document with neither is read whole, but for its DOCNO.

    Raises:
        InputError: no ``<DOC>``, one that is never closed or holds another, none or two DOCNOs, an
            id of several words; names the line.
    """
    extra = tuple(name for name in options.fields if name not in ("title", "text"))
    sections = _section_pattern(_TITLES + _BODIES)
    wanted = {name: _section_pattern((name.lower(),)) for name in extra}
    for raw in _documents(file, notes, options):
        doc_id, rest = _identified(raw, raw.text, file)
        values = _title_and_text(sections, rest, notes, f"{file.path}:{raw.line}")
        for name, pattern in wanted.items():
            found = [plain_text(content) for _, content in _sections(pattern, rest)]
            values |= {name: "\n".join(found)} if found else {}
        yield Record(doc_id, values, raw.line)


def read_trecweb(file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[Record]:
    """Yield the pages of a web file, each with its title and all its visible text.

    Raises:
        InputError: as `read_trectext`.
        MissingExtra: the HTML reader is not installed.
    """
    for raw in _documents(file, notes, options):
        header = _HEADER_END.search(raw.text)
        if header is None:
            raise InputError("no </DOCHDR> in this <DOC>", path=file.path, line=raw.line, fix="is it trectext?")
        doc_id, _ = _identified(raw, raw.text[: header.start()], file)
        title, text = page_text(raw.text[header.end() :], f"{file.path}:{raw.line}", notes, main_content=False)
        yield Record(doc_id, {"title": title, "text": text}, raw.line)


# --- cutting a file into documents ----------------------------------------------------------------


def _documents(file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[_Raw]:
    cutter = _Cutter(file, options.text.limits.max_line)
    for line in read_lines(file.path, notes, options.text):
        yield from cutter.feed(line)
    cutter.finish(notes)


class _Cutter:
    """Collects lines between <DOC> and </DOC>, wherever in a line these stand."""

    def __init__(self, file: SourceFile, max_length: int) -> None:
        self._path, self._max_length = file.path, max_length
        self._opened: int | None = None
        self._parts: list[str] = []
        self._length = self._n_documents = self._n_outside = 0

    def feed(self, line: Line) -> Iterator[_Raw]:
        position = 0
        if "<" in line.text:
            for edge in _EDGE.finditer(line.text):
                if edge[1]:
                    yield self._close(line, line.text[position : edge.start()])
                elif self._opened is None:
                    self._add(line, line.text[position : edge.start()])
                    self._opened = line.number
                elif not line.text[position : edge.start()].strip():
                    raise self._error(f"<DOC> inside the <DOC> of line {self._opened}", line.number)
                else:
                    continue  # the word <DOC> in running text
                position = edge.end()
        self._add(line, line.text[position:])

    def finish(self, notes: Notes) -> None:
        if self._opened is not None:
            raise self._error("<DOC> is never closed", self._opened, "the file looks truncated")
        if not self._n_documents:
            raise self._error("no <DOC> in this file", None, "see --format")
        notes.add("lines outside <DOC> ... </DOC> left out", str(self._path), self._n_outside)

    def _add(self, line: Line, text: str) -> None:
        if self._opened is None:
            self._n_outside += bool(text.strip())
            return
        self._length += len(text)
        if self._length > self._max_length:
            raise self._error(f"<DOC> is longer than {self._max_length} characters", self._opened, "is it closed?")
        self._parts.append(text)

    def _close(self, line: Line, text: str) -> _Raw:
        if self._opened is None:
            raise self._error("</DOC> without a <DOC>", line.number)
        self._add(line, text)
        raw = _Raw(self._opened, "\n".join(self._parts))
        self._opened, self._parts, self._length = None, [], 0
        self._n_documents += 1
        return raw

    def _error(self, what: str, line: int | None, fix: str | None = None) -> InputError:
        return InputError(what, path=self._path, line=line, fix=fix)


# --- what is inside a document --------------------------------------------------------------------


def _identified(raw: _Raw, head: str, file: SourceFile) -> tuple[str, str]:
    """Return the id in `head`, the part of the document that may hold it, and `head` without it."""
    found = list(_DOCNO.finditer(head))
    if not found:
        raise InputError("no <DOCNO> in this <DOC>", path=file.path, line=raw.line)
    line = raw.line + head.count("\n", 0, found[-1].start())
    if len(found) > 1:
        raise InputError("second <DOCNO> in one <DOC>", path=file.path, line=line, got=found[-1][1].strip())
    docno = found[0]
    if not docno[2]:
        raise InputError("<DOCNO> is not closed", path=file.path, line=line, got=docno[1].strip())
    doc_id = check_id(docno[1].strip(), "DOCNO", file.path, line)
    return doc_id, head[: docno.start()] + head[docno.end() :]


def _title_and_text(pattern: re.Pattern[str], raw: str, notes: Notes, where: str) -> dict[str, str]:
    titles: list[str] = []
    bodies: list[str] = []
    for name, content in _sections(pattern, raw):
        (titles if name in _TITLES else bodies).append(plain_text(content))
    if not titles and not bodies:
        notes.add("documents without <TEXT> read whole", where)
        return {"text": plain_text(raw)}
    title = " ".join(" ".join(titles).split())
    return {"title": title, "text": "\n".join(part for part in bodies if part)}


def _section_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    alternatives = "|".join(map(re.escape, names))
    return re.compile(rf"<(/?)({alternatives})(?:\s[^<>]*)?>", re.IGNORECASE)


def _sections(pattern: re.Pattern[str], raw: str) -> Iterator[tuple[str, str]]:
    """Yield (name, content) of the sections in one pass.

    Only its own end closes a TEXT; any other section also ends where the next begins.
    """
    name, start = "", 0
    for tag in pattern.finditer(raw):
        closing, tag_name = bool(tag[1]), tag[2].lower()
        if tag_name == name if closing else name not in ("", "text"):
            yield name, raw[start : tag.start()]
            name = ""
        if not closing and not name:
            name, start = tag_name, tag.end()
    if name:
        yield name, raw[start:]
