"""Options of reading documents, and the `Record`s (an id and named values) that the readers of all formats yield."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from longrank.formats.lines import DEFAULT_TEXT, TextOptions
from longrank.formats.parsed.child import DEFAULT_PARSER_LIMITS, ParserLimits
from longrank.registries import names_in
from longrank.types import Notes

ID_KEYS = ("doc_id", "id", "_id", "docno")
NAMES_OF_TEXT = ("text", "body", "contents")


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Options of reading folders of files. A pattern alone stands for a tuple of one.

    Attributes:
        include: patterns of the files to read, as in ``.gitignore``; empty: all files.
        exclude: patterns of files and folders to leave out.
        strict: True: a file that cannot be read is an error; False: it is skipped and counted.
        skipped: called with each skipped file and the reason.
        visited: called with each file after it was read, and False if it was skipped since it could not be read; not
            called for a file that the next reading may read without a change of it.
        only: files to read among those of a folder; None: all files.
        limits: limits of the parsers in child processes.
        ocr: command that prints the text of a file without any text layer, whose path is its last argument; None:
            such files are skipped.
        ocr_folder: folder in which the command runs; empty: the working folder.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    strict: bool = False
    skipped: Callable[[Path, str], object] | None = None
    visited: Callable[[Path, bool], object] | None = None
    only: frozenset[Path] | None = None
    limits: ParserLimits = DEFAULT_PARSER_LIMITS
    ocr: str | None = None
    ocr_folder: str = ""

    def __post_init__(self) -> None:
        for name in ("include", "exclude"):
            patterns = getattr(self, name)
            object.__setattr__(self, name, (patterns,) if isinstance(patterns, str) else tuple(patterns))


@dataclass(frozen=True, slots=True)
class CorpusOptions:
    """Options of reading documents.

    Attributes:
        format: a key of `READERS`; None: by the name of each file, else by its first bytes.
        fields: fields to read. ``title`` among them makes the index include titles; the other fields, in this order,
            make the document's text.
        text: encoding of the files and limits.
        ignore_passages: leave the field ``passages`` out.
        files: options of reading folders of files.
        guess: True: guess the encoding of files that are not UTF-8; set for the files of a folder.
        metadata: names of the other fields to keep with the documents; None: all.
        index_only: fields that are indexed, and are no part of the text.
        title_in_text: begin the text with the title, so that models read it.
        known: True: the fields are those of an index, so they are not misspelt if no document has them.

    Names of fields are a tuple; a list, or a text such as ``"title,text"``, becomes a tuple.
    """

    format: str | None = None
    fields: tuple[str, ...] = ("title", "text")
    text: TextOptions = DEFAULT_TEXT
    ignore_passages: bool = False
    files: FileOptions = field(default_factory=FileOptions)
    guess: bool = False
    metadata: tuple[str, ...] | None = None
    index_only: tuple[str, ...] = ()
    title_in_text: bool = False
    known: bool = False

    def __post_init__(self) -> None:
        for name in ("fields", "metadata", "index_only"):
            if (names := getattr(self, name)) is not None:
                object.__setattr__(self, name, names_in(names))


class SourceFile(NamedTuple):
    """A file, and its path relative to the source folder: the id of a document that is a whole file."""

    path: Path
    name: str

    @property
    def source(self) -> str:
        """The path relative to the source folder; `name`, the id, is that path with blanks escaped."""
        path = "/".join(self.path.parts[-1 - self.name.count("/") :])
        return path.encode(errors="replace").decode()


class Record(NamedTuple):
    """A document as its source has it; `line` is its first line, None if it is the whole file."""

    doc_id: str
    values: Mapping[str, Any]
    line: int | None


Reader: TypeAlias = Callable[[SourceFile, Notes, CorpusOptions], Iterator[Record]]
