"""WebAP: documents of GOV2 as sentences, each graded for one query (Keikha, Park, Croft and Sanderson 2014).

    <DOC> <DOCNO>GX1-701</DOCNO> <TARGET_QID>701</TARGET_QID> <ORIGINAL_DOCNO>GX1</ORIGINAL_DOCNO>
    <TEXT> <NONE><SENTENCE>...</SENTENCE></NONE> <PERFECT><SENTENCE>...</SENTENCE>...</PERFECT> </TEXT> </DOC>

PARADE's table 9 merges neighbouring relevant sentences to passages of at most 130 tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from longrank.errors import InputError
from longrank.formats.ids import check_id
from longrank.formats.lines import DEFAULT_TEXT, TextOptions
from longrank.formats.markup import plain_text
from longrank.formats.opening import open_bytes
from longrank.formats.records import CorpusOptions, Record, SourceFile
from longrank.formats.trec_files import RawDocument, raw_documents
from longrank.types import Notes

GRADES = {"none": 0, "fair": 1, "good": 2, "excel": 3, "perfect": 4}
LEVEL = 3
"""Lowest grade of a relevant sentence in PARADE: excellent and perfect."""
MAX_TOKENS = 130

_TAG = re.compile(rf"<(/?)({'|'.join(GRADES)}|sentence)\s*>", re.IGNORECASE)
_HEAD = 4096  # bytes


class Sentence(NamedTuple):
    """A sentence and its grade, 0 to 4."""

    text: str
    grade: int


class GradedDocument(NamedTuple):
    """A document as it was graded for one query.

    Attributes:
        doc_id: id of the pair, such as ``GX1-701``.
        query_id: the query.
        original_id: the document's id in GOV2.
        sentences: all sentences, in order.
        line: first line in the file.
    """

    doc_id: str
    query_id: str
    original_id: str
    sentences: tuple[Sentence, ...]
    line: int


class Merged(NamedTuple):
    """A passage of neighbouring sentences: indexes [start, end) of the sentences, and their largest grade."""

    start: int
    end: int
    grade: int


def is_webap(path: Path) -> bool:
    """Tell whether a file is WebAP's, by its first bytes."""
    if not path.is_file():  # a pipe can be read only once
        return False
    with suppress(InputError, OSError, EOFError), open_bytes(path) as stream:
        return b"<target_qid>" in stream.read(_HEAD).lower()
    return False


def read_graded(path: Path, notes: Notes, options: TextOptions = DEFAULT_TEXT) -> Iterator[GradedDocument]:
    """Yield the graded documents of a file.

    Raises:
        InputError: a document without its ids, or a sentence outside a grade; names the line.
    """
    for raw in raw_documents(path, notes, options):
        doc_id, query_id, original = (_id(raw, name, path) for name in ("DOCNO", "TARGET_QID", "ORIGINAL_DOCNO"))
        yield GradedDocument(doc_id, query_id, original, tuple(_sentences(raw, path)), raw.line)


def merged(sentences: Sequence[Sentence], level: int = LEVEL, max_tokens: int = MAX_TOKENS) -> list[Merged]:
    """Merge neighbouring sentences, relevant or not relevant, to passages of at most `max_tokens` words.

    A longer sentence is a passage of its own. The paper does not say how it counts tokens; these are words between
    blanks.

    Args:
        sentences: of a document, in order.
        level: lowest relevant grade.
        max_tokens: most words of a passage of several sentences.
    """
    passages: list[Merged] = []
    size = 0
    for number, sentence in enumerate(sentences):
        length, last = len(sentence.text.split()), passages[-1] if passages else None
        alike = last is not None and (last.grade >= level) == (sentence.grade >= level)
        if last is not None and alike and size + length <= max_tokens:
            passages[-1] = Merged(last.start, number + 1, max(last.grade, sentence.grade))
            size += length
        else:
            passages.append(Merged(number, number + 1, sentence.grade))
            size = length
    return passages


def read_webap(file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[Record]:
    """Yield the documents: a sentence per line, and as `passages` the merged sentences.

    Raises:
        InputError: as `read_graded`.
    """
    for document in read_graded(file.path, notes, options.text):
        ends, position = [], 0
        for sentence in document.sentences:
            position += len(sentence.text) + 1
            ends.append(position - 1)
        starts = [0, *(end + 1 for end in ends)]
        passages = [[starts[each.start], ends[each.end - 1]] for each in merged(document.sentences)]
        text = "\n".join(sentence.text for sentence in document.sentences)
        values = {"text": text, "query_id": document.query_id, "original_id": document.original_id}
        yield Record(document.doc_id, values | ({"passages": passages} if text else {}), document.line)


def passage_grades(path: Path, notes: Notes, level: int = LEVEL) -> dict[str, dict[str, int]]:
    """Return query_id -> ``ORIGINAL_DOCNO#number`` -> grade of the merged passages, the form of table 9.

    Raises:
        InputError: as `read_graded`, or a query has a document twice.
    """
    grades: dict[str, dict[str, int]] = {}
    for document in read_graded(path, notes):
        judged = grades.setdefault(document.query_id, {})
        if f"{document.original_id}#0" in judged:
            what = f"document is graded twice for query {document.query_id}"
            raise InputError(what, path=path, line=document.line, got=document.original_id)
        passages = merged(document.sentences, level)
        judged |= {f"{document.original_id}#{n}": each.grade for n, each in enumerate(passages)}
    return grades


def _id(raw: RawDocument, name: str, path: Path) -> str:
    found = re.search(rf"<{name}>([^<>]*)</{name}>", raw.text, re.IGNORECASE)
    if found is None:
        raise InputError(f"no <{name}> in this <DOC>", path=path, line=raw.line, fix="see --format")
    return check_id(found[1].strip(), name, path, raw.line + raw.text.count("\n", 0, found.start()))


def _sentences(raw: RawDocument, path: Path) -> Iterator[Sentence]:
    grade: int | None = None
    begun: int | None = None
    for tag in _TAG.finditer(raw.text):
        closing, name = bool(tag[1]), tag[2].lower()
        if name in GRADES:
            grade = None if closing else GRADES[name]
        elif not closing:
            begun = tag.end()
        elif begun is not None:
            if grade is None:
                line = raw.line + raw.text.count("\n", 0, begun)
                raise InputError("a <SENTENCE> outside NONE, FAIR, GOOD, EXCEL and PERFECT", path=path, line=line)
            yield Sentence(" ".join(plain_text(raw.text[begun : tag.start()]).split()), grade)
            begun = None
