"""Map passage ids to document ids, for collections of passages (MS MARCO, TREC DL): two columns."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from longrank.errors import InputError
from longrank.formats.columns import split_columns
from longrank.formats.lines import read_blocks
from longrank.types import Notes

_COLUMNS = ("passage_id", "doc_id")


def read_passage_documents(path: Path, kept: Container[str], notes: Notes) -> dict[str, str]:
    """Read a mapping: lines of a passage's id and its document's, blanks or a tab between them.

    Args:
        path: the file, ``.gz`` or not.
        kept: the passages to keep; all others are skipped.
        notes: counts remarks on accepted input.

    Raises:
        InputError: a line with another number of columns, or a kept passage that is in two documents.
    """
    document_of: dict[str, str] = {}
    for block in read_blocks(path, notes):
        lines, (passages, documents) = split_columns(block, _COLUMNS, path)
        for line, passage, doc_id in zip(lines, passages, documents, strict=True):
            if passage in kept and document_of.setdefault(passage, doc_id) != doc_id:
                what = f"passage {passage} has two documents: {document_of[passage]} and another one here"
                raise InputError(what, path=path, line=line, got=doc_id)
    return document_of
