"""Documents of TREC's SGML files, which `trec_files` cuts into documents.

``trectext`` is the newswire of TREC disks 1-5 and AQUAINT: a ``<DOCNO>``, a headline under one of several
names, a ``<TEXT>`` and other fields. ``trecweb`` is WT10g and GOV2: a ``<DOCNO>``, a ``<DOCHDR>`` and a page of HTML.
Tags are written in either case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from longrank.errors import InputError
from longrank.formats.html_pages import read_page
from longrank.formats.ids import check_id
from longrank.formats.markup import plain_text
from longrank.formats.records import CorpusOptions, Record, SourceFile
from longrank.formats.trec_files import RawDocument, raw_documents
from longrank.types import Notes

_DOCNO = re.compile(r"<DOCNO>([^<>]*)(</DOCNO>)?", re.IGNORECASE)
_HEADER_END = re.compile(r"</DOCHDR\s*>", re.IGNORECASE)

_TITLES = ("headline", "hl", "title", "ti", "ttl", "head")
_BODIES = ("text", "lp", "leadpara")
"""LP and LEADPARA hold the first paragraph in some newspapers, TEXT the other paragraphs."""


def read_trectext(file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[Record]:
    """Yield the documents of a newswire file; any other tag (``date``, ``byline``) that an option names is a field.

    The title is the headline (HEADLINE, HL, TITLE, TI, TTL or HEAD outside the text); the text is the sections
    TEXT, LP and LEADPARA. A document without a text section is read whole, except its DOCNO.

    Raises:
        InputError: no ``<DOC>``, a ``<DOC>`` that is not closed or holds another, no or two DOCNOs, an id of several
            words; names the line.
    """
    named = (*options.fields, *options.index_only, *(options.metadata or ()))
    extra = tuple(name for name in dict.fromkeys(named) if name not in ("title", "text"))
    sections = _section_pattern(_TITLES + _BODIES)
    extra_fields = {name: _section_pattern((name.lower(),)) for name in extra}
    for raw in raw_documents(file.path, notes, options.text):
        doc_id, text = _identified(raw, raw.text, file)
        values = _title_and_text(sections, text, notes, f"{file.path}:{raw.line}")
        for name, pattern in extra_fields.items():
            parts = [plain_text(content) for _, content in _sections(pattern, text)]
            values |= {name: "\n".join(parts)} if parts else {}
        yield Record(doc_id, values, raw.line)


def read_trecweb(file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[Record]:
    """Yield the pages of a web file, each with its title and all its visible text.

    Raises:
        InputError: as `read_trectext`.
        MissingExtra: the HTML reader is not installed.
    """
    for raw in raw_documents(file.path, notes, options.text):
        header = _HEADER_END.search(raw.text)
        if header is None:
            raise InputError("no </DOCHDR> in this <DOC>", path=file.path, line=raw.line, fix="is it trectext?")
        doc_id, _ = _identified(raw, raw.text[: header.start()], file)
        page = read_page(raw.text[header.end() :], f"{file.path}:{raw.line}", notes, navigation=True)
        yield Record(doc_id, {"title": page.title, "text": page.text}, raw.line)


# --- the parts of a document ----------------------------------------------------------------------


def _identified(raw: RawDocument, head: str, file: SourceFile) -> tuple[str, str]:
    """Return the id in `head`, the first part of a document, and `head` without the id."""
    docnos = list(_DOCNO.finditer(head))
    if not docnos:
        raise InputError("no <DOCNO> in this <DOC>", path=file.path, line=raw.line)
    line = raw.line + head.count("\n", 0, docnos[-1].start())
    if len(docnos) > 1:
        raise InputError("second <DOCNO> in one <DOC>", path=file.path, line=line, got=docnos[-1][1].strip())
    docno = docnos[0]
    if not docno[2]:
        raise InputError("<DOCNO> is not closed", path=file.path, line=line, got=docno[1].strip())
    doc_id = check_id(docno[1].strip(), "DOCNO", file.path, line)
    return doc_id, head[: docno.start()] + head[docno.end() :]


def _title_and_text(pattern: re.Pattern[str], raw: str, notes: Notes, where: str) -> dict[str, str]:
    titles: list[str] = []
    bodies: list[str] = []
    for name, content in _sections(pattern, raw):
        (titles if name in _TITLES else bodies).append(plain_text(content))
    title = " ".join(" ".join(titles).split())
    if not bodies:
        notes.add("documents without <TEXT> read whole", where)
        return {"title": title, "text": plain_text(raw)} if titles else {"text": plain_text(raw)}
    return {"title": title, "text": "\n".join(part for part in bodies if part)}


def _section_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    alternatives = "|".join(map(re.escape, names))
    return re.compile(rf"<(/?)({alternatives})(?:\s[^<>]*)?>", re.IGNORECASE)


def _sections(pattern: re.Pattern[str], raw: str) -> Iterator[tuple[str, str]]:
    """Yield (name, content) of the sections in one pass.

    A TEXT ends at its own end tag; any other section also ends where the next section begins.
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
