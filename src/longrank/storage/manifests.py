"""Folders that are valid only with their manifest: it names size and SHA-256 of every other file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from longrank.errors import InputError, IntegrityError
from longrank.small_files import RECORD, read_small
from longrank.storage.files import atomic_write, sync_file

MANIFEST = "manifest.json"
_CHUNK = 1 << 20
_THREADS = 8  # files synced at a time: the disk writes several files in the time of one


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def digest_of(value: object) -> str:
    """Return the SHA-256 of a JSON-able value; equal values give equal digests in every process."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def write_manifest(folder: Path, meta: Mapping[str, Any], names: Collection[str] | None = None) -> dict[str, Any]:
    """Sync every file below `folder`, then write its manifest: ``meta`` plus ``files`` (size, sha256).

    The manifest makes the folder valid, so write it last. It holds no time and no path, so equal content gives equal
    bytes.

    Args:
        folder: the folder.
        meta: JSON-able.
        names: files and folders right in `folder` to include; None: all.
    """
    chosen = (p for p in folder.rglob("*") if names is None or p.relative_to(folder).parts[0] in names)
    paths = sorted(p for p in chosen if p.is_file() and p.name != MANIFEST)
    with ThreadPoolExecutor(_THREADS) as pool:
        files = dict(zip((p.relative_to(folder).as_posix() for p in paths), pool.map(_synced, paths), strict=True))
    for below in sorted(p for p in folder.rglob("*") if p.is_dir()):
        sync_file(below)
    manifest = {**meta, "files": files}
    with atomic_write(folder / MANIFEST, "w") as stream:
        json.dump(manifest, stream, indent=1, sort_keys=True, ensure_ascii=False)
        stream.write("\n")
    return manifest


def _synced(path: Path) -> dict[str, Any]:
    """Sync a file; return its size and checksum."""
    sync_file(path)
    return {"size": path.stat().st_size, "sha256": sha256_of(path)}


def seal(folder: Path, kind: str, names: Collection[str] | None = None) -> None:
    """Write the manifest of a finished folder: checksums that `verify` and `check_present` compare.

    Args:
        folder: the folder.
        kind: noun for the folder: ``"model"``, ``"training"``.
        names: as of `write_manifest`.

    Raises:
        LongRankError: writing failed.
    """
    write_manifest(folder, {"format": f"longrank {kind}"}, names)


def sealed_files(folder: Path, kind: str) -> dict[str, dict[str, Any]]:
    """Return name -> size and checksum of the files of a sealed folder; empty if it has no manifest of this kind.

    Raises:
        IntegrityError: the manifest cannot be read.
    """
    if not (folder / MANIFEST).is_file():
        return {}
    manifest = read_manifest(folder)
    return dict(manifest["files"]) if manifest.get("format") == f"longrank {kind}" else {}


def check_present(folder: Path, kind: str) -> None:
    """Compare the files that are still there with a sealed folder's checksums; others may have been deleted.

    Raises:
        IntegrityError: names the first damaged file.
    """
    for name, entry in sealed_files(folder, kind).items():
        if (folder / name).is_file() and sha256_of(folder / name) != entry["sha256"]:
            raise damaged(folder / name)


_CURE = f"restore it, or delete {MANIFEST} beside it if you changed it on purpose"


def damaged(path: Path) -> IntegrityError:
    """Return the error for a file whose checksum differs."""
    return IntegrityError(f"{path}: checksum differs; the file is damaged ({_CURE})")


def missing(path: Path) -> IntegrityError:
    """Return the error for a file that a manifest names and that is not there."""
    return IntegrityError(f"{path}: missing ({_CURE})")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read a folder's manifest without a check of its files.

    Raises:
        InputError: there is no such folder, or it holds no manifest.
        IntegrityError: the manifest cannot be read.
    """
    if not (folder / MANIFEST).is_file():
        raise InputError("holds no manifest: not written by longrank, or never finished", path=folder)
    try:
        manifest: dict[str, Any] = json.loads(read_small(folder / MANIFEST, RECORD))
        for entry in manifest["files"].values():
            int(entry["size"]), str(entry["sha256"])
        if any(".." in Path(name).parts or Path(name).is_absolute() for name in manifest["files"]):
            raise ValueError("names a file outside the folder")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError, InputError) as error:
        raise IntegrityError(f"{folder / MANIFEST}: cannot be read ({error})") from error
    return manifest


def open_manifest(folder: Path) -> dict[str, Any]:
    """Read a folder's manifest and check that every file is there with its size.

    Raises:
        InputError: there is no such folder, or it holds no manifest.
        IntegrityError: the manifest cannot be read, or a file is missing or of another size.
    """
    manifest = read_manifest(folder)
    for name, entry in manifest["files"].items():
        path, size = folder / name, int(entry["size"])
        if not path.is_file():
            raise IntegrityError(f"{path}: missing")
        if path.stat().st_size != size:
            raise IntegrityError(f"{path}: {path.stat().st_size} bytes instead of {size}")
    return manifest


def verify(folder: Path) -> int:
    """Compare every file of a folder with the checksum in its manifest; return the number of files.

    Raises:
        InputError: no manifest.
        IntegrityError: names the first damaged file.
    """
    manifest = open_manifest(folder)
    for name, entry in manifest["files"].items():
        if sha256_of(folder / name) != entry["sha256"]:
            raise IntegrityError(f"{folder / name}: checksum differs; the file is damaged")
    return len(manifest["files"])
