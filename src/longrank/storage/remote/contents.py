"""The manifest of a folder in an object store. It is not trusted: names stay inside the folder."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from longrank.errors import InputError, IntegrityError
from longrank.small_files import MIB, RECORD
from longrank.storage.manifests import MANIFEST, sha256_of
from longrank.storage.remote.store import Seen, Store, Stored

FORMAT, VERSION = "longrank remote folder", 2
_PLAIN = 1
"""Version of manifests whose objects are all named by their checksums."""
FILES = "files"
_NAME = re.compile(r"[\w-][\w.-]{0,200}(/[\w-][\w.-]{0,200}){0,7}")  # no part begins with a dot
_SHA256 = re.compile(r"[0-9a-f]{64}")
_KEY = re.compile(r"[0-9a-f]{64}(-[0-9a-f]{16})?")
_THREADS = 4


class File(NamedTuple):
    """Size in bytes and SHA-256 of a file, and the name below `FILES` of the object with its content."""

    size: int
    sha256: str
    key: str

    @property
    def object(self) -> str:
        """Name of the object with the content of the file."""
        return f"{FILES}/{self.key}"


def new_key(sha256: str, *, plain: bool) -> str:
    """Return a name for an object with content of a checksum: the checksum itself, or one that no object has had."""
    return sha256 if plain else f"{sha256}-{token_hex(8)}"


def checksum_of(key: str) -> str:
    """Return the checksum of the content of an object."""
    return key.partition("-")[0]


class Contents:
    """The files of a folder, by their paths in it.

    Attributes:
        files: path -> size and checksum, sorted.
    """

    def __init__(self, files: Mapping[str, File]) -> None:
        self.files = dict(sorted(files.items()))

    @cached_property
    def written(self) -> bytes:
        """The manifest; equal folders have equal bytes if their objects have equal names."""
        files = {name: _entry(file) for name, file in self.files.items()}
        version = VERSION if any("object" in entry for entry in files.values()) else _PLAIN
        value = {"format": FORMAT, "version": version, "files": files}
        return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()

    @property
    def name(self) -> str:
        """Name of the folder's local copy."""
        return f"version-{hashlib.sha256(self.written).hexdigest()[:32]}"


def contents_of(folder: Path) -> Contents:
    """Return the files of a folder; those below a name that begins with a dot do not belong to it.

    Raises:
        InputError: a file has a name that other machines may not take.
    """
    names = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    names = [name for name in names if not name.parts[0].startswith(".")]
    for name in names:
        if not _NAME.fullmatch(name.as_posix()):
            raise InputError("such a name cannot be stored elsewhere", path=folder / name, fix="rename it")
    with ThreadPoolExecutor(_THREADS) as pool:
        sums = list(pool.map(lambda name: sha256_of(folder / name), names))
    files = [File((folder / name).stat().st_size, sha256, sha256) for name, sha256 in zip(names, sums, strict=True)]
    return Contents({name.as_posix(): file for name, file in zip(names, files, strict=True)})


def read_contents(store: Store) -> Contents:
    """Read the manifest of a folder in an object store.

    Raises:
        InputError: there is none, or the folder is something else.
        IntegrityError: it is damaged, or names files outside the folder.
    """
    try:
        return parsed(store.read(MANIFEST, 0, RECORD + 1), store.address)
    except FileNotFoundError:
        raise InputError(
            "no such index", path=store.address, fix=f"build it: longrank index SOURCE -o {store.address}"
        ) from None


def files_of(objects: Mapping[str, Stored]) -> dict[str, Stored]:
    """Return the objects of a folder's files among those in `FILES`, by their names; others are not the folder's."""
    return {name: one for name, one in objects.items() if _KEY.fullmatch(name)}


def seen_contents(store: Store) -> tuple[Seen, Contents | None]:
    """Return the manifest as it is now and the files that it names; None: there is none. Raises as `read_contents`."""
    seen = store.seen(MANIFEST, RECORD + 1)
    return seen, None if seen.content is None else parsed(seen.content, store.address)


def parsed(content: bytes, place: str) -> Contents:
    """Return the files that a manifest names; `place` is for messages. Raises as `read_contents`."""
    if len(content) > RECORD:
        raise IntegrityError(f"{place}/{MANIFEST}: is larger than {RECORD // MIB} MiB, the limit of manifests")
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise IntegrityError(f"{place}/{MANIFEST}: cannot be read ({error})") from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        fix = "choose another address; for a copied index folder: longrank index FOLDER -o ADDRESS"
        raise InputError("holds something else than an index that longrank has uploaded", path=place, fix=fix)
    if value.get("version") not in (_PLAIN, VERSION):
        raise IntegrityError(f"{place}: written by another version of longrank ({value.get('version')}); upgrade")
    try:
        files = {str(name): _file(name, entry) for name, entry in value["files"].items()}
    except (KeyError, TypeError, ValueError, AttributeError):
        raise IntegrityError(f"{place}/{MANIFEST}: names a file that no index has; do not use this index") from None
    if any("/".join(name.split("/")[:n]) in files for name in files for n in range(1, name.count("/") + 1)):
        raise IntegrityError(f"{place}/{MANIFEST}: names a file inside a file; do not use this index")
    return Contents(files)


def _entry(file: File) -> dict[str, Any]:
    """Return a file as the manifest has it: the name of its object only if that is not the checksum."""
    entry = {"size": file.size, "sha256": file.sha256}
    return entry if file.key == file.sha256 else {**entry, "object": file.key}


def _file(name: str, entry: Mapping[str, Any]) -> File:
    file = File(entry["size"], entry["sha256"], entry.get("object", entry["sha256"]))
    if type(file.size) is not int or file.size < 0 or not _SHA256.fullmatch(file.sha256) or not _NAME.fullmatch(name):
        raise ValueError
    if not _KEY.fullmatch(file.key) or checksum_of(file.key) != file.sha256:
        raise ValueError
    return file
