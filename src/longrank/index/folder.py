"""The folder of an index on disk; a new index replaces an old index in a single step.

    INDEX/manifest.json     names the valid segments; replaced atomically, after all other files
    INDEX/data-<digest>/    a segment; its own manifest lists size and SHA-256 of every file
    INDEX/deleted-<digest>  deleted documents of a segment, one bit per document
    INDEX/vectors/          passage vectors, if any, each with a manifest of its own
    INDEX/.building-*       a build in progress, or the remains of a killed build

The old index stays valid until the manifest is replaced; from then on the new index is valid. Segments and deletions
are named by their content, so equal builds give equal folders, and no file that a manifest names ever changes.

The manifest of a built index names its only segment under ``data`` (version 4). The manifest of a changed index lists
``segments`` in the order of their documents (version 5), and so does that of an index of several shards. Versions 2 and
3 are the same with segments whose postings are not packed; they are read, and a change of an index keeps such segments.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from longrank.errors import InputError, IntegrityError, LongRankError
from longrank.index.parts import Part, unpacked
from longrank.small_files import RECORD, read_small
from longrank.storage import (
    MANIFEST,
    check_parent,
    digest_of,
    open_manifest,
    sha256_of,
    verify,
)
from longrank.storage.remote import address_of, check_no_copy
from longrank.storage.remote.addresses import SCHEMES
from longrank.storage.workplace import working_in

FORMAT = "longrank index"
VERSION, CHANGED = 4, 5
_READ = (2, 3, VERSION, CHANGED)
VECTORS = "vectors"
SPARSE = "sparse"
SOURCES = ".sources.jsonl"
DATA, DELETED, BUILDING = "data-", "deleted-", ".building-"
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+):/")  # pathlib leaves one slash of two
_NAMED_BY_CONTENT = re.compile(rf"({DATA}|{DELETED})[0-9a-f]{{16}}")
_WORK = re.compile(rf"{re.escape(BUILDING)}[a-z0-9_]{{8}}")  # by `tempfile.mkdtemp`
_TEMPORARY = re.compile(rf"\.({re.escape(MANIFEST)}|{re.escape(SOURCES)}|{DELETED}[0-9a-f]{{16}})\.[0-9a-f]{{8}}\.tmp")
_SEGMENT = re.compile(rf"{DATA}\w+")
_DELETIONS = re.compile(rf"({DELETED}\w+)?")


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
    part = Part(folder / names.data, open_manifest(folder / names.data))
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
    try:
        n_files = sum(map(verify, [folder, *(folder / names.data for names in segments_of(manifest))]))
    except (IntegrityError, InputError, FileNotFoundError):
        if read_manifest(folder) != manifest:  # it was replaced meanwhile
            return verify_index(folder)
        raise
    return n_files + sum(
        map(verify, sorted(path.parent for name in (VECTORS, SPARSE) for path in (folder / name).rglob(MANIFEST)))
    )


@contextmanager
def building(folder: Path) -> Iterator[Path]:
    """Lock an index folder for writing and yield a new work folder inside it.

    Creates the folder if need be, and removes the remains of killed builds. The work folder is always removed at the
    end, and so is the index folder if it was made here and is empty.

    Raises:
        InputError: `folder` exists and is not an index, its parent does not exist or is read-only,
            or another process is writing to it.
    """
    check_no_copy(folder)
    _refuse_other(folder)
    with working_in(folder, keep_lock_with=MANIFEST):
        remove_leftovers(folder)
        work = Path(tempfile.mkdtemp(prefix=BUILDING, dir=folder))
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _refuse_other(folder: Path) -> None:
    if not folder.exists():
        check_parent(folder, folder.parent)
        return
    if not folder.is_dir():
        raise InputError("is a file; an index is a folder", path=folder)
    if not os.access(folder, os.W_OK):
        raise InputError("cannot be written to", path=folder)
    is_index = _has_index(folder)
    if other := sorted(path.name for path in folder.iterdir() if not _is_ours(path, in_index=is_index)):
        if is_index:
            what = "holds something that is no part of an index"
            raise InputError(what, path=folder, got=other[0], fix="move it elsewhere")
        fix = "choose another folder, or empty it"
        raise InputError("exists and is not an index", path=folder, got=other[0], fix=fix)


def _has_index(folder: Path) -> bool:
    """Tell whether a folder holds an index; its manifest may be damaged, or of another version.

    Raises:
        InputError: the manifest is of something else.
    """
    if not (folder / MANIFEST).exists():
        return False
    try:
        read_manifest(folder)
    except IntegrityError:
        return any(_NAMED_BY_CONTENT.fullmatch(path.name) for path in folder.glob(f"{DATA}*"))
    return True


def _is_ours(path: Path, *, in_index: bool) -> bool:
    """Tell whether a file or folder is a part of an index, or what a killed build left; hidden files do not count.

    Args:
        path: the file or folder; users have folders that are called data-2024, too.
        in_index: True: it is beside the manifest of an index.
    """
    name = path.name
    if _NAMED_BY_CONTENT.fullmatch(name):
        return in_index or _has_content_of_its_name(path)
    if name in (VECTORS, SPARSE) and not in_index:
        children = [*path.iterdir()] if path.is_dir() else [path]
        sets = [child for child in children if child.name[0] != "."]
        return all((child / MANIFEST).is_file() for child in sets) and (bool(sets) or not children)
    return name in (VECTORS, SPARSE) or name.startswith(".") or (name == MANIFEST and in_index)


def _has_content_of_its_name(path: Path) -> bool:
    """Tell whether a segment or a file of deletions has the content that its name is made of."""
    try:
        digest = digest_of(open_manifest(path)) if path.is_dir() else sha256_of(path)
    except (InputError, IntegrityError, OSError):
        return False
    return path.name.endswith(f"-{digest[:16]}")


def moved_aside(path: Path, folder: Path) -> Path:
    """Move a part of the index `folder` into a new folder there, to be removed; return the new folder.

    So a killed removal leaves no half of it under its name.
    """
    doomed = Path(tempfile.mkdtemp(prefix=BUILDING, dir=folder))
    path.rename(doomed / path.name)
    return doomed


def remove_leftovers(folder: Path) -> None:
    """Remove data that no manifest names; data stays if its manifest cannot be read."""
    valid = valid_names(folder) if (folder / MANIFEST).exists() else frozenset[str]()
    for path in folder.iterdir():
        if _TEMPORARY.fullmatch(path.name) and path.is_file():
            path.unlink()
        elif _WORK.fullmatch(path.name):
            _remove_tree(path)
        elif _NAMED_BY_CONTENT.fullmatch(path.name) and valid is not None and path.name not in valid:
            _remove_tree(moved_aside(path, folder))


def _remove_tree(path: Path) -> None:
    """Remove a file or a folder, even while a worker of a killed build writes its last file there."""
    if path.is_file():
        path.unlink()
        return
    for _ in range(10):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        time.sleep(0.1)
    raise LongRankError(f"cannot remove {path}")


def valid_names(folder: Path) -> frozenset[str] | None:
    """Return the names of the valid segments and deletions; None if the manifest cannot be read."""
    try:
        return frozenset(name for names in segments_of(read_manifest(folder)) for name in names[:2] if name)
    except (InputError, IntegrityError):
        return None
