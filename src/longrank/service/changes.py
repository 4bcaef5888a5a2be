"""Let clients change the index: add, replace and delete documents over HTTP."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from longrank.errors import BeingWritten, InputError
from longrank.formats.records import ID_KEYS
from longrank.index import Index
from longrank.index.stamps import CANNOT_OPEN
from longrank.service.engine import Engine
from longrank.service.errors import Refusal
from longrank.service.replies import ChangeReply
from longrank.types import Notes


class Changes:
    """Changes of the served index. Each call is a commit; when it returns, new requests use the changed index.

    If the changed index cannot be served, the reply has a warning, and requests use the old state.

    Args:
        engine: the loaded pipelines.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._one_writer = engine, threading.Lock()

    def add(self, documents: Sequence[dict[str, Any]], *, replace: bool) -> ChangeReply:
        """Add documents; see `IndexWriter.add`.

        Raises:
            Refusal: 409, another process is writing, or a document is in the index and `replace` is false; 422, a
                fault of a document. Nothing is changed.
        """
        with self._one_writer:
            index = self._index()
            present = None if replace else _first_present(documents, index)
            if present is not None:
                fault = f"/documents/{present}/doc_id: is in the index already; send replace: true"
                raise Refusal(409, "exists", fault)
            notes = Notes()
            try:
                with index.writer(notes) as writer:
                    replaced = writer.add(documents, replace=replace)
            except InputError as error:
                raise _refusal(error, index.path) from None
            return self._changed(notes, added=len(documents) - replaced, replaced=replaced)

    def delete(self, doc_id: str) -> ChangeReply:
        """Delete a document.

        Raises:
            Refusal: 404, no such document; 409, another process is writing; 422, it is the only document.
        """
        with self._one_writer:
            index = self._index()
            if doc_id not in index:
                raise Refusal(404, "not_found", "no such document in the index")
            notes = Notes()
            try:
                with index.writer(notes) as writer:
                    writer.delete([doc_id])
            except InputError as error:
                raise _refusal(error, index.path) from None
            return self._changed(notes, deleted=1)

    def _index(self) -> Index:
        """Return the newest state of the index; another process may have changed it."""
        return Index(self._folder)

    @property
    def _folder(self) -> Path:
        served = self._engine.index
        assert served is not None
        return served.path

    def _changed(self, notes: Notes, *, added: int = 0, replaced: int = 0, deleted: int = 0) -> ChangeReply:
        warnings = notes.copy(places=False).lines()
        try:
            warnings += self._engine.reopen().lines()
        except CANNOT_OPEN as error:  # such as stored vectors that a `dense` first stage needs
            warnings += [f"the index is changed, but searches use its old state: {_told(error, self._folder)}"]
        counts = {"added": added, "replaced": replaced, "deleted": deleted}
        return ChangeReply(**counts, n_docs=len(self._index()), warnings=warnings)


def _refusal(error: InputError, folder: Path) -> Refusal:
    """Return the refusal that stands for an error of the writer, without the path of the index."""
    if isinstance(error, BeingWritten):
        return Refusal(409, "busy", "another process is changing the index", {"Retry-After": "1"})
    return Refusal(422, "invalid", _told(error, folder))


def _told(error: Exception, folder: Path) -> str:
    """Return the message of an error without the path of the index."""
    message = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    message = re.sub(rf"(longrank \w+ ){re.escape(str(folder))}", r"\1INDEX", message.removeprefix(f"{folder}: "))
    return message.replace(str(folder), "the index")


def _first_present(documents: Sequence[dict[str, Any]], index: Index) -> int | None:
    """Return the number of the first document whose id is in the index."""
    ids = (next((row[key] for key in ID_KEYS if key in row), None) for row in documents)
    return next((n for n, doc_id in enumerate(ids) if isinstance(doc_id, str | int) and str(doc_id) in index), None)
