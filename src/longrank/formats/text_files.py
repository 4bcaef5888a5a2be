"""Plain text: a file is a document; its id is its path relative to the source folder."""

from __future__ import annotations

from collections.abc import Iterator

from longrank.formats.records import CorpusOptions, Record, SourceFile
from longrank.formats.whole_files import whole_text
from longrank.types import Notes
from longrank.types.pages import SOURCE


def read_text(file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[Record]:
    """Yield the document of a file: no title, the whole text, line ends as ``\\n``.

    Raises:
        InputError: the file cannot be read as text.
    """
    yield Record(file.name, {"text": whole_text(file.path, notes, options), SOURCE: file.source}, None)
