"""Serve the source files of documents from a folder: ``/files/PATH``. Off unless a folder is named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from longrank.collections.databases import is_address
from longrank.errors import Changed, InputError, IntegrityError
from longrank.formats.corpora import format_of
from longrank.formats.opening import Limits
from longrank.formats.records import CorpusOptions
from longrank.formats.whole_files import decoded, is_utf_8, read_whole
from longrank.index.sources import read_sources
from longrank.service.errors import Refusal
from longrank.storage.remote import local
from longrank.types import Notes, Pages

if TYPE_CHECKING:
    from fastapi.responses import Response

_OFFICE = "application/vnd.openxmlformats-officedocument"
_TYPES = {
    "pdf": "application/pdf",
    "docx": f"{_OFFICE}.wordprocessingml.document",
    "pptx": f"{_OFFICE}.presentationml.presentation",
    "odt": "application/vnd.oasis.opendocument.text",
    "epub": "application/epub+zip",
    "html": "text/html",
    "text": "text/plain",
    "markdown": "text/markdown",
    "rst": "text/x-rst",
    "eml": "message/rfc822",
    "mbox": "application/mbox",
}
"""Format -> content type. Files of other formats are not served."""

_MOST = 3  # sources that a note names
_SANDBOX = {"content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"}


class SourceFiles:
    """The files of a folder that clients may read.

    Args:
        root: the folder that was indexed.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def find(self, path: str) -> Path | None:
        """Return a regular file by its path below the folder; None if there is no such file.

        Hidden files, files of formats that are not served, and links to places outside the folder are not found.
        """
        parts = path.split("/")
        if "\0" in path or any(not part or part.startswith(".") for part in parts):
            return None
        try:
            file = self._root.joinpath(*parts).resolve(strict=True)
        except (OSError, RuntimeError):  # no such file, or a circle of links
            return None
        if not file.is_relative_to(self._root) or not file.is_file() or format_of(file) not in _TYPES:
            return None
        return file

    def address(self, doc_id: str, metadata: dict[str, Any]) -> str | None:
        """Return the address of a document's file, relative to the server's; None if it is not served."""
        path = Pages(metadata).source or doc_id
        return f"files/{quote(path)}" if self.find(path) else None

    def response(self, path: str) -> Response:
        """Return the answer with a file; plain texts in other encodings than UTF-8 as UTF-8, for browsers guess none.

        Raises:
            Refusal: 404, no such file.
        """
        from fastapi.responses import FileResponse, Response

        file = self.find(path)
        if file is None:
            raise Refusal(404, "not_found", "no such file")
        kind = _TYPES[format := str(format_of(file))]
        packed = file.name.lower().endswith(".gz")
        # A page among the files must not act in this server's name; browsers show no PDF in a sandbox.
        headers = {} if format == "pdf" else _SANDBOX
        raw = _whole(file) if kind.startswith("text/") else None
        if raw is not None and (packed or not is_utf_8(raw)):
            name = file.name[: -len(".gz")] if packed else file.name
            headers = {**headers, "content-disposition": f"inline; filename*=utf-8''{quote(name)}"}
            if format == "html" and not is_utf_8(raw):  # without a charset, the declaration of the page counts
                return Response(raw, headers={**headers, "content-type": kind})
            return Response(raw if is_utf_8(raw) else _as_read(raw, file), media_type=kind, headers=headers)
        if packed:
            headers = {**headers, "content-encoding": "gzip"}  # the browser unpacks it
        return FileResponse(
            file, media_type=kind, headers=headers, content_disposition_type="inline", filename=file.name
        )


def note_other_folder(root: Path, index: Path | str, notes: Notes) -> None:
    """Note that a served folder is not the only source of an index, so that a path below it may be of another file."""
    try:
        places = [place for place in read_sources(local(index)).places if not is_address(place)]
    except (InputError, IntegrityError):  # no record: of another machine, or of documents in memory
        return
    if places and [Path(place).resolve() for place in places] != [root.resolve()]:
        named = ", ".join(places[:_MOST])
        notes.say(
            f"the index is of {named}: its documents link to the files of their paths below {root}, maybe other files"
        )


def _whole(file: Path) -> bytes | None:
    """Return the bytes of a file, unpacked; None if it cannot be read as a document."""
    try:
        return read_whole(file, Limits(), any_encoding=True)
    except (InputError, Changed):
        return None


def _as_read(raw: bytes, file: Path) -> str | bytes:
    """Return the text of a file in the encoding by which the reader of folders reads it; its bytes if it cannot."""
    try:
        return decoded(raw, file, Notes(), CorpusOptions(guess=True))
    except InputError:
        return raw


def with_files(passages: list[dict[str, Any]], address: str | None) -> dict[str, Any]:
    """Return the fields of a result that link its file: the file, and passages with the addresses of their pages."""
    if address is None:
        return {}
    linked = [{**item, "file": f"{address}#page={item['page']}"} if "page" in item else item for item in passages]
    return {"file": address, "passages": linked}
