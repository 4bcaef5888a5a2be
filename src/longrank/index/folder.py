"""The folder of an index on disk; a new index replaces an old index in a single step.

    INDEX/manifest.json     names the valid segments; replaced atomically, after all other files
    INDEX/data-<digest>/    a segment; its own manifest lists size and SHA-256 of every file
    INDEX/deleted-<digest>  deleted documents of a segment, one bit per document
    INDEX/vectors/          passage vectors, if any, each with a manifest of its own
    INDEX/.building-*       a build in progress, or the remains of a killed build
    INDEX/.sources.jsonl    the files of the documents, for updates; no part of the index (`longrank.index.sources`)

The old index stays valid until the manifest is replaced; from then on the new index is valid. Segments and deletions
are named by their content, so equal builds give equal folders, and no file that a manifest names ever changes.

The manifest of a built index names its only segment under ``data`` (version 4). The manifest of a changed index lists
``segments`` in the order of their documents (version 5), and so does that of an index of several shards. Versions 2 and
3 are the same with segments whose postings are not packed; they are read, and a change of an index keeps such segments.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from longrank.errors import InputError, IntegrityError
from longrank.index.parts import Part, unpacked
from longrank.small_files import RECORD, read_small
from longrank.storage import MANIFEST, verify
from longrank.storage.remote import address_of
from longrank.storage.remote.addresses import SCHEMES

FORMAT = "longrank index"
VERSION, CHANGED = 4, 5
_READ = (2, 3, VERSION, CHANGED)
VECTORS = "vectors"
SPARSE = "sparse"
SOURCES = ".sources.jsonl"
LISTING = "let this user list the folder: chmod a+rx"
DATA, DELETED = "data-", "deleted-"
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+):/")  # pathlib leaves one slash of two
_SEGMENT = re.compile(rf"{DATA}\w+")
_DELETIONS = re.compile(rf"({DELETED}\w+)?")


def sources_record(folder: Path) -> Path | None:
    """Return the file with the record of the sources of the index that stands in a folder; None: it has none."""
    pending = pending_record(folder, manifest_bytes(folder))
    if pending.exists():
        return pending if pending.stat().st_size else None
    return folder / SOURCES if (folder / SOURCES).exists() else None


def manifest_bytes(folder: Path) -> bytes:
    """Return the content of the manifest of the index that stands in a folder; empty if there is none."""
    return (folder / MANIFEST).read_bytes() if (folder / MANIFEST).exists() else b""


def pending_record(folder: Path, manifest: bytes) -> Path:
    """Return the file of an index's record of sources until the manifest is in its place; its name tells the manifest.

    So a record and its index become valid in one step. An empty file says that the index has no record.
    """
    return folder / f".sources-{hashlib.sha256(manifest).hexdigest()[:16]}.jsonl"


class SegmentName(NamedTuple):
    """Names of a segment in an index folder: its data folder, and its file of deletions, "" if it has none.

    A shard is a part of an index that was built in parts (``longrank index --shards``).
    """

    data: str
    deleted: str = ""
    is_shard: bool = False

    def as_json(self) -> dict[str, object]:
        """Return the entry of the manifest of an index."""
        return {"data": self.data, "deleted": self.deleted} | ({"shard": True} if self.is_shard else {})


def place_of(folder: object) -> Path | str:
    """Return the path of an index folder, or its address in an object store.

    Raises:
        InputError: not a path, or an address of another kind.
    """
    if not isinstance(folder, str | Path) or not str(folder):
        raise InputError("an index is a folder", got=folder, fix="give its path")
    if address := address_of(folder):
        return address
    scheme = _SCHEME.match(str(folder))
    if scheme is not None and not os.path.lexists(f"{scheme[1]}:"):
        fix = f"{', '.join(SCHEMES)}, or the path of a folder"
        raise InputError("an index has no such kind of address", got=str(folder), fix=fix)
    return Path(folder)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of an index folder.

    Raises:
        InputError: no such folder, an empty folder, or a folder that is no index.
        IntegrityError: unreadable, or written by another version of the format.
    """
    path = folder / MANIFEST
    if not folder.is_dir():
        raise InputError("no such index", path=folder, fix="build it: longrank index SOURCE -o INDEX")
    if not path.is_file():
        raise InputError("is not an index, or its build never finished", path=folder, fix="longrank index builds one")
    try:
        manifest = json.loads(read_small(path, RECORD, "manifests"))
    except (ValueError, RecursionError) as error:
        raise IntegrityError(f"{path}: cannot be read ({error})") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        if any(folder.glob(f"{DATA}*/{MANIFEST}")):
            raise IntegrityError(f"{path}: names another format than that of the segments beside it; it is damaged")
        raise InputError("is a folder with other content, not an index", path=folder)
    if manifest.get("version") not in _READ:
        raise IntegrityError(
            f"{path}: index format {manifest.get('version')}, this longrank reads {CHANGED}; rebuild or upgrade"
        )
    if not segments_of(manifest):
        raise IntegrityError(f"{path}: names no data; the file is damaged")
    return manifest


def segments_of(manifest: Mapping[str, Any]) -> list[SegmentName]:
    """Return the segments that the manifest of an index names, in the order of their documents; empty if damaged."""
    if "segments" not in manifest:
        return _inside([SegmentName(manifest["data"])]) if isinstance(manifest.get("data"), str) else []
    try:
        named = [
            SegmentName(str(entry["data"]), str(entry["deleted"]), entry.get("shard") is True)
            for entry in manifest["segments"]
        ]
    except (KeyError, TypeError, AttributeError):
        return []
    return _inside(named)


def _inside(named: list[SegmentName]) -> list[SegmentName]:
    """Return names of segments if none can lead out of the folder; else none."""
    right = all(_SEGMENT.fullmatch(one.data) and _DELETIONS.fullmatch(one.deleted) for one in named)
    return named if right else []


def open_parts(folder: Path) -> list[Part]:
    """Open the segments of an index, in the order of their documents, with the sizes of all files checked.

    Raises:
        InputError, IntegrityError: as `read_manifest`; a file is missing or of another size.
    """
    manifest = read_manifest(folder)
    try:
        verify(folder)  # small files: the manifests of the segments, and deletions
        return [open_part(folder, names) for names in segments_of(manifest)]
    except (IntegrityError, InputError, FileNotFoundError):
        if read_manifest(folder) != manifest:  # it was replaced meanwhile
            return open_parts(folder)
        raise


def open_part(folder: Path, names: SegmentName) -> Part:
    """Open a segment of an index.

    Raises:
        InputError, IntegrityError: a file is missing, or of another size.
    """
    part = Part.open(folder / names.data)
    if names.deleted:
        part.dead = unpacked(folder / names.deleted, len(part.dead))
    part.is_shard = names.is_shard
    return part


def verify_index(folder: Path) -> int:
    """Compare every file of an index, its vectors included, with its checksum; return the number of files.

    Raises:
        InputError: not an index.
        IntegrityError: names the first damaged file.
    """
    manifest = read_manifest(folder)
    if closed := unlisted_vectors(folder, VECTORS, SPARSE):
        raise InputError("cannot be listed, so its files are not checked", path=closed[0], fix=LISTING)
    try:
        n_files = sum(map(verify, [folder, *(folder / names.data for names in segments_of(manifest))]))
    except (IntegrityError, InputError, FileNotFoundError):
        if read_manifest(folder) != manifest:  # it was replaced meanwhile
            return verify_index(folder)
        raise
    return n_files + sum(
        map(verify, sorted(path.parent for name in (VECTORS, SPARSE) for path in (folder / name).rglob(MANIFEST)))
    )


def unlisted_vectors(folder: Path, *rooms: str) -> list[Path]:
    """Return the folders of vectors in an index that this user may not list; `glob` takes them for empty folders."""
    errors: list[OSError] = []
    for room in rooms:
        for _ in os.walk(folder / room, onerror=errors.append):
            pass
    return [Path(error.filename) for error in errors if isinstance(error, PermissionError)]


def valid_names(folder: Path) -> frozenset[str] | None:
    """Return the names of the valid segments and deletions; None if the manifest cannot be read."""
    try:
        return frozenset(name for names in segments_of(read_manifest(folder)) for name in names[:2] if name)
    except (InputError, IntegrityError):
        return None
