"""Documents from files, folders, collection folders and ``irds:ID``, in any of the formats below, as one stream.

To add a format, write a function that yields `Record`s of a file and add a line to `READERS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from longrank.config import lookup
from longrank.errors import InputError
from longrank.formats.collection import IRDS
from longrank.formats.documents_jsonl import read_jsonl
from longrank.formats.html import read_html
from longrank.formats.irds import irds_records
from longrank.formats.records import Composer, CorpusOptions, Reader
from longrank.formats.sgml import read_trectext, read_trecweb
from longrank.formats.sources import files_of
from longrank.formats.text_files import read_text
from longrank.formats.tsv import read_msmarco_docs, read_tsv
from longrank.types import Document, Notes

__all__ = ["READERS", "CorpusOptions", "Located", "read_documents"]

READERS: dict[str, Reader] = {
    "jsonl": read_jsonl,
    "tsv": read_tsv,
    "msmarco-docs": read_msmarco_docs,
    "trectext": read_trectext,
    "trecweb": read_trecweb,
    "html": read_html,
    "text": read_text,
}


class Located(NamedTuple):
    """A document and where it comes from: its file or ``irds:ID``, and the line where it begins, if it has one.

    `expansion` is what is indexed with it and never shown: queries that were predicted for it.
    """

    document: Document
    path: str
    line: int | None
    expansion: str = ""


_DEFAULT = CorpusOptions()


def read_documents(sources: Sequence[str], notes: Notes, options: CorpusOptions = _DEFAULT) -> Iterator[Located]:
    """Yield the documents of all sources, one after the other, in bounded memory.

    Args:
        sources: files, folders, collection folders, or ``irds:ID``.
        notes: counts what was accepted with a remark.
        options: format, fields, encoding.

    Raises:
        InputError: whatever is wrong with a source, with file and line; no document at all; a field
            that no document has (said at the end). Ids that occur twice are for the caller to find.
        MissingExtra: HTML or ir_datasets is asked for and not installed.
    """
    if options.format is not None:
        lookup(READERS, options.format, "format")
    composer = Composer(options.fields)
    for source in sources:
        n_documents = 0
        for located in _documents(source, composer, notes, options):
            n_documents += 1
            yield located
        if not n_documents:
            raise InputError("holds no document", path=source)
    composer.check_seen()


def _documents(source: str, composer: Composer, notes: Notes, options: CorpusOptions) -> Iterator[Located]:
    if source.startswith(IRDS):
        for record in irds_records(source.removeprefix(IRDS)):
            yield Located(composer.document(record, Path(source), notes), source, None)
        return
    for file, format in files_of(source, options, notes):
        for record in READERS[format](file, notes, options):
            yield Located(composer.document(record, file.path, notes), str(file.path), record.line)
