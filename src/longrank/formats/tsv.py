"""Documents as tab-separated columns, without quoting or escapes."""

from __future__ import annotations

from collections.abc import Iterator

from longrank.errors import InputError
from longrank.formats.ids import check_id
from longrank.formats.lines import read_lines
from longrank.formats.records import ID_KEYS, NAMES_OF_TEXT, CorpusOptions, Record, SourceFile
from longrank.types import Notes


def read_tsv(file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[Record]:
    """Yield the documents of a file of ``doc_id<TAB>text``; a header line of such names is skipped and counted.

    Raises:
        InputError: a line with another number of columns, or an unusable id; names the line.
    """
    return _read_columns(("doc_id", "text"), file, notes, options)


def read_msmarco_docs(file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[Record]:
    """Yield the documents of a file like MS MARCO's: ``docid<TAB>url<TAB>title<TAB>body``.

    Raises:
        InputError: as `read_tsv`.
    """
    return _read_columns(("doc_id", "url", "title", "text"), file, notes, options)


def _read_columns(names: tuple[str, ...], file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[Record]:
    lines = (line for line in read_lines(file.path, notes, options.text) if line.text.strip(" \r"))
    for n, line in enumerate(lines):
        columns = line.text.split("\t")
        if len(columns) != len(names):
            what = f"{len(columns)} column{'s' if len(columns) > 1 else ''} instead of {len(names)}"
            what += "" if line.ended or len(columns) > len(names) else "; the file looks truncated"
            fix = f"write {'<TAB>'.join(names)}; remove tabs from texts"
            raise InputError(what, path=file.path, line=line.number, fix=fix)
        if n == 0 and _is_header(columns):
            notes.add("header lines skipped", f"{file.path}:{line.number}")
            continue
        values = dict(zip(names, columns, strict=True))
        yield Record(check_id(values["doc_id"], "doc_id", file.path, line.number), values, line.number)


def _is_header(columns: list[str]) -> bool:
    """Tell whether the first and the last column are the names of an id and of a text."""
    first, last = columns[0].strip().lower(), columns[-1].strip().lower()
    return first in (*ID_KEYS, "docid", "pid") and last in (*NAMES_OF_TEXT, "passage")
