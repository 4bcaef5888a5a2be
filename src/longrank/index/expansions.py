"""Join predicted queries (doc2query) to the document stream.

Expansions may be larger than memory and come in any order, so a build writes them to disk before it reads documents.
A line with the id ``D7#3`` is stored under two ids: it belongs to the document ``D7#3`` or, if the collection has no
such document, to passage 3 of the document ``D7``. A line of a text file is stored under its place in the collection.
Memory holds one byte per line.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from longrank.errors import InputError
from longrank.formats.expansions import is_position, position
from longrank.index.options import ExpansionFile
from longrank.index.spill import Spill, SpillWriter
from longrank.types import Notes

if TYPE_CHECKING:
    from longrank.formats.corpora import Located
    from longrank.formats.expansions import Expansion

_GROUP = 64  # documents looked up at a time
_SHOWN = 1 << 12  # lines between two calls of `progress`
_PASSAGE = re.compile(r"(.+)#[0-9]+", re.DOTALL)
_UNUSED, _OF_DOCUMENT, _OF_PASSAGE = 0, 1, 2  # states of a line


class _File(NamedTuple):
    """A file with its first line number; `content` is the digest of its lines, and `by_place` tells a text file."""

    path: str
    first: int
    content: Any
    by_place: bool


def store(expansions: Iterable[Expansion], folder: Path, progress: Callable[[int], object] | None = None) -> Expansions:
    """Write expansions into the new folder `folder`; `progress` is called with the number of lines just read."""
    files: list[_File] = []
    with SpillWriter(folder) as spill:
        for number, expansion in enumerate(expansions):
            if not files or files[-1].path != expansion.path:
                by_place = is_position(expansion.doc_id)
                files.append(_File(expansion.path, number, hashlib.sha256(), by_place))
            files[-1].content.update(json.dumps([expansion.doc_id, *expansion.queries]).encode())
            line = "\n".join((str(expansion.line), expansion.doc_id, "\n".join(expansion.queries)))
            spill.add(line.encode(), filter(None, (expansion.doc_id, _document_of(expansion.doc_id))))
            if progress and number % _SHOWN == _SHOWN - 1:
                progress(_SHOWN)
    return Expansions(Spill(folder, spill.ends), files)


def _document_of(passage_id: str) -> str | None:
    """Return ``D7`` for ``D7#3``; None if the id cannot be a passage id."""
    match = _PASSAGE.fullmatch(passage_id)
    return match[1] if match else None


class Expansions:
    """Stored expansions, and the state of each line."""

    def __init__(self, lines: Spill, files: Sequence[_File]) -> None:
        self._lines, self._files = lines, files
        self._found = bytearray(len(lines))
        self._by_place = any(file.by_place for file in files)
        self._n_documents = 0

    def joined(self, documents: Iterable[Located], notes: Notes) -> Iterator[Located]:
        """Yield the documents, each with all queries predicted for it and for its passages.

        Queries keep the order of the files and of their lines. Equal queries all stay, since their number is their
        weight (Nogueira et al. 2019). Documents without queries are counted, and so are later lines of an id.

        Raises:
            InputError: an id belongs to a document and to a passage of another document.
        """
        documents = iter(documents)
        while group := list(islice(documents, _GROUP)):
            doc_ids = [located.document.doc_id for located in group]
            places = [position(self._n_documents + n) for n in range(len(group))] if self._by_place else []
            self._n_documents += len(group)
            found = self._lines.find([*doc_ids, *places])
            for n, (located, doc_id) in enumerate(zip(group, doc_ids, strict=True)):
                texts = self._texts(found[n], doc_id, notes)
                if places:
                    texts += self._texts(found[len(group) + n], places[n], notes)
                notes.add("documents without expansion", doc_id, not texts)
                yield located._replace(expansion="\n".join(filter(None, (located.expansion, *texts))))

    def finish(self, notes: Notes) -> tuple[ExpansionFile, ...]:
        """Remove the stored expansions after all documents, and return the record of each file.

        Lines without a document are counted, and so are lines of passages.

        Raises:
            InputError: no line of a file belongs to a document, or a text file has not one line per document.
        """
        ends = [*(file.first for file in self._files), len(self._lines)][1:]
        record = tuple(self._recorded(file, end) for file, end in zip(self._files, ends, strict=True))
        self._note("expansion lines whose document is not in the collection", _UNUSED, notes)
        self._note("expansion lines of passages ID#NUMBER, added to the document ID", _OF_PASSAGE, notes)
        self._lines.remove()
        return record

    def _texts(self, numbers: Sequence[int], doc_id: str, notes: Notes) -> list[str]:
        """Return the queries of the lines that belong to a document."""
        texts: list[str] = []
        seen: set[str] = set()
        for number in numbers:
            _, own_id, text = self._parts(number)
            if doc_id not in (own_id, _document_of(own_id)):  # another id with the same hash
                continue
            self._mark(number, _OF_DOCUMENT if own_id == doc_id else _OF_PASSAGE)
            if own_id in seen and not is_position(own_id):  # samples of a release are files of the same places
                notes.add("expansion lines added to earlier lines of the same id", self._place(number))
            seen.add(own_id)
            texts += [text] if text else []
        return texts

    def _mark(self, number: int, kind: int) -> None:
        if self._found[number] not in (_UNUSED, kind):
            line, own_id, _ = self._parts(number)
            fault = "is the id of a document and of a passage of another document"
            raise InputError(fault, path=self._path(number), line=int(line), got=own_id, fix="rename one of the two")
        self._found[number] = kind

    def _recorded(self, file: _File, end: int) -> ExpansionFile:
        lines = end - file.first
        used = lines - self._found.count(_UNUSED, file.first, end)
        if file.by_place and lines != self._n_documents:
            what = f"holds {lines} lines for {self._n_documents} documents; line n has the queries of document n"
            raise InputError(what, path=file.path, fix="join the parts of a release in their order")
        if not used:
            fix = "are the predictions for another collection?"
            what = "none of its ids is in the collection"
            raise InputError(what, path=file.path, got=self._parts(file.first)[1], fix=fix)
        return ExpansionFile(file.content.hexdigest(), lines, used)

    def _note(self, what: str, kind: int, notes: Notes) -> None:
        if count := self._found.count(kind):
            notes.add(what, self._place(self._found.find(kind)), count)

    def _parts(self, number: int) -> list[str]:
        """Return line number, id and queries of a stored line."""
        return self._lines[number].decode().split("\n", 2)

    def _place(self, number: int) -> str:
        return f"{self._path(number)}:{self._parts(number)[0]}"

    def _path(self, number: int) -> str:
        return [file.path for file in self._files if file.first <= number][-1]
