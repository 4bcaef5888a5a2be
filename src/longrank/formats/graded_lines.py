"""Change a grade in the text of a judgments file; all other lines stay as they are.

Comments, blank lines, negative grades, repeated rows and the second column are other people's work: a file that is
read and written anew would lose some of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from longrank.formats.trec import BEIR_COLUMNS

_BLANKS = re.compile(r"[ \t]+")
_IN_NO_FILE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]|\r(?!\n)")
"""Characters that `read_qrels` refuses, in comments, too; bytes that are not UTF-8 are surrogates."""
_GRADE = re.compile(r"[^ \t\r\n]+(?=[ \t\r\n]*\Z)")


def has_rows(text: str) -> bool:
    """Return True if a text has a judgment, right or wrong: a line that is not blank, a comment or BEIR's header.

    Characters that `read_qrels` refuses count as a wrong judgment.
    """
    lines = _lines(text)
    return bool(_IN_NO_FILE.search(text)) or any(map(_fields, lines[_is_beir(lines) :]))


def with_grade(text: str, query_id: str, doc_id: str, grade: int | None) -> str:
    """Return the text of a judgments file with another grade of a document; a new row is the last.

    Args:
        text: lines that `read_qrels` accepts: TREC's or BEIR's columns.
        query_id: the query.
        doc_id: the document.
        grade: the grade; None: remove the document's rows.
    """
    lines = _lines(text)
    judged = [n for n, line in enumerate(lines) if doc_id in line and _is_of(line, query_id, doc_id)]
    for n in judged:
        lines[n] = "" if grade is None else _GRADE.sub(str(grade), lines[n])
    if grade is not None and not judged:
        row = f"{query_id}\t{doc_id}\t{grade}" if _is_beir(lines) else f"{query_id} 0 {doc_id} {grade}"
        lines.append(row + ("\r\n" if lines and lines[0].endswith("\r\n") else "\n"))
    return "".join(lines)


def _lines(text: str) -> list[str]:
    """Return the lines with their ends; the last gets one if it has none."""
    return [f"{line}\n" for line in text.removesuffix("\n").split("\n")] if text else []


def _is_beir(lines: Sequence[str]) -> bool:
    return bool(lines) and _content(lines[0]).split("\t") == BEIR_COLUMNS


def _is_of(line: str, query_id: str, doc_id: str) -> bool:
    fields = _fields(line)
    return len(fields) > 2 and (fields[0], fields[-2]) == (query_id, doc_id)


def _fields(line: str) -> list[str]:
    """Return the columns of a line; none if it is blank or a comment."""
    fields = [field for field in _BLANKS.split(_content(line)) if field]
    return [] if fields and fields[0].startswith("#") else fields


def _content(line: str) -> str:
    return line.removeprefix("\ufeff").rstrip("\r\n")
