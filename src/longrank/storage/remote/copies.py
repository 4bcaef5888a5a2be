"""Local copies of folders in object stores: fetched by checksum, whole or absent, resumed after an interruption."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from longrank.errors import InputError, IntegrityError, LongRankError
from longrank.small_files import RECORD, read_small
from longrank.storage.cache import cache_folder
from longrank.storage.files import atomic_write
from longrank.storage.folders import sync_tree
from longrank.storage.locks import unlocked_behind
from longrank.storage.manifests import MANIFEST, sha256_of
from longrank.storage.remote.addresses import address_of
from longrank.storage.remote.contents import FILES, Contents, File, files_of, parsed, read_contents, seen_contents
from longrank.storage.remote.downloads import Download, download, link_or_copy
from longrank.storage.remote.store import Store
from longrank.storage.workplace import LOCK

ROOM = "remote"
_VERSION = re.compile(r"version-[0-9a-f]{32}")
_PART = ".part"
_HELD: dict[Path, list[tuple[str, int]]] = {}
"""shelf -> the copies in use by this process, newest last: their names, and the descriptors of their locks."""
_IN_USE = 2  # copies: requests that began before a change of the index read the last but one


def local(place: Path | str) -> Path:
    """Return a place's folder; of an address, a copy of its newest version in the cache folder, not to be changed.

    Only files that no earlier version has, by their checksums, are fetched; every file is compared with its checksum
    before it is used.

    Raises:
        InputError: no such index, no connection, no rights, too little space on the disk.
        MissingExtra: s3fs is not installed.
        IntegrityError: the manifest names files that no index has, or a file has another checksum.
        LongRankError: writing failed.
    """
    address = address_of(place)
    if place == "":  # Path("") would be the current folder
        raise InputError("the name of the folder is empty")
    if not address:
        return Path(place)
    store = Store(address)
    contents = read_contents(store)
    while True:
        try:
            return fetched(store, contents)
        except FileNotFoundError as error:
            if Path(error.filename or "").is_absolute():
                what = f"its copy in the cache folder was removed meanwhile ({error.filename}); run the command again"
                raise LongRankError(f"{address}: {what}") from None
            before, contents = contents, read_contents(store)
            if before.written == contents.written:
                raise IntegrityError(f"{address}: a file is missing ({error}); upload the index again") from None


def exists(place: Path | str) -> bool:
    """Tell whether there is a folder at an address. Raises as `local`, but for what is absent."""
    return seen_contents(Store(address_of(place)))[1] is not None


def newest(place: Path | str) -> str:
    """Return the name of the newest version of the folder at an address. Raises as `local`."""
    return read_contents(Store(address_of(place))).name


def check_objects(place: Path | str) -> None:
    """Compare the sizes of all objects at an address with its manifest.

    Raises:
        IntegrityError: names the first file that is missing or of another size.
        InputError, MissingExtra: as `local`.
    """
    store = Store(address_of(place))
    contents, there = read_contents(store), files_of(store.objects(FILES))
    for name, file in contents.files.items():
        if file.key not in there or there[file.key].size != file.size:
            raise IntegrityError(f"{store.address}: {name} is missing or of another size; upload the index again")


def shelf_of(address: str) -> Path:
    """Return the folder of all copies of an address; it is made if it is absent."""
    name = re.sub(r"[^\w.-]+", "-", address.partition("://")[2])[-60:].strip(".-")
    shelf = cache_folder() / ROOM / f"{name}-{hashlib.sha256(address.encode()).hexdigest()[:12]}"
    with writing_to(shelf):
        shelf.mkdir(parents=True, exist_ok=True)
    return shelf


def check_no_copy(folder: Path) -> None:
    """Refuse to change a copy: the next version would lose the change.

    Raises:
        InputError: the folder is a local copy.
    """
    if _VERSION.fullmatch(folder.name) and folder.absolute().parent.parent == cache_folder().absolute() / ROOM:
        raise InputError("is the local copy of an index elsewhere", path=folder, fix="change the index by its address")


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Say which folder cannot be written to.

    Raises:
        LongRankError: writing failed.
    """
    try:
        yield
    except FileNotFoundError:  # of the object store
        raise
    except OSError as error:
        raise LongRankError(f"cannot write {folder}: {error.strerror or error}") from error


def fetched(store: Store, contents: Contents) -> Path:
    """Return the copy of one version; fetch what is missing.

    Raises:
        FileNotFoundError: the store lacks a file by now.
        InputError, IntegrityError, LongRankError: as `local`.
    """
    shelf = shelf_of(store.address)
    with locked(shelf):
        folder = shelf / contents.name
        if not folder.is_dir():
            _fetch(store, contents, shelf)
        elif not (shelf / f"{contents.name}.json").is_file():  # a change was killed just after it reached the store
            record(contents, shelf)
        keep(folder)
    return folder


def hold(folder: Path) -> None:
    """Hold a copy for this process, so that no process removes it; inside `locked`."""
    import fcntl

    held = _HELD.setdefault(folder.parent, [])
    if folder.name not in (name for name, _ in held):
        descriptor = os.open(folder, os.O_RDONLY)
        with suppress(OSError):  # some network folders have no locks
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        held.append((folder.name, descriptor))


def release(folder: Path) -> None:
    """Give up a copy that this process holds."""
    held = _HELD.get(folder.parent, [])
    for name, descriptor in [one for one in held if one[0] == folder.name]:
        held.remove((name, descriptor))
        os.close(descriptor)


def keep(folder: Path) -> None:
    """Hold a copy for this process, and remove copies that no process holds; inside `locked`."""
    hold(folder)
    held = _HELD[folder.parent]
    while len(held) > _IN_USE:
        os.close(held.pop(0)[1])
    for other in [path for path in folder.parent.iterdir() if _VERSION.match(path.name) and path.is_dir()]:
        if other != folder and not _is_held(other):
            shutil.rmtree(other, ignore_errors=True)
    for record in folder.parent.glob("version-*.json"):
        if not any((record.with_suffix(end)).exists() for end in ("", _PART)):
            record.unlink()


def _is_held(folder: Path) -> bool:
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def locked(shelf: Path) -> Iterator[None]:
    """Wait for other processes that fetch the same address."""
    import fcntl

    with (shelf / ".lock").open("a") as stream:
        with suppress(OSError):
            fcntl.flock(stream, fcntl.LOCK_EX)
        with unlocked_behind(stream.fileno()):
            yield


def record(contents: Contents, shelf: Path) -> None:
    """Write the manifest of a copy beside it: the store has, or had, this version."""
    with atomic_write(shelf / f"{contents.name}.json") as stream:
        stream.write(contents.written)


def _fetch(store: Store, contents: Contents, shelf: Path) -> None:
    part = shelf / (contents.name + _PART)
    with writing_to(shelf):
        part.mkdir(exist_ok=True)
        record(contents, shelf)
        known = _by_checksum(_manifests(shelf))
        wanted: dict[str, Download] = {}
        for name, file in contents.files.items():
            target = part / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.is_file() and not _is_whole(target, file):
                target.unlink()  # a fetch that a power cut ended: names are on the disk before contents
            if not (target.is_file() or _taken(known.get(file.sha256, []), file, target)):
                wanted.setdefault(file.sha256, Download(file, [])).targets.append(target)
        download(store, list(wanted.values()), part)
        _carry_hidden(contents, shelf, part)
        sync_tree(part)
        part.rename(shelf / contents.name)


def _manifests(shelf: Path) -> dict[Path, Mapping[str, File]]:
    """Return the files that the manifests of all copies name: manifest beside the copy -> name -> file."""
    found: dict[Path, Mapping[str, File]] = {}
    for path in sorted(shelf.glob("version-*.json")):
        with suppress(InputError, IntegrityError):  # another version of LongRank wrote it
            found[path] = parsed(read_small(path, RECORD, "manifests"), str(shelf)).files
    return found


def _carry_hidden(contents: Contents, shelf: Path, part: Path) -> None:
    """Take hidden files, which stay on this machine, from copies of which this version is a change.

    A change keeps a part of the folder: the manifest of a folder inside, which has the checksums of all files there.
    Other files are no sign of it: unrelated indexes may have equal counts. Of several copies, the copy with most of the
    parts gives them; then the newest, but a copy that may never have reached the store comes last.
    """
    own = {(name, file.sha256) for name, file in contents.files.items() if name.endswith(f"/{MANIFEST}")}
    found = []
    for copy in [copy for copy in shelf.iterdir() if _VERSION.fullmatch(copy.name) and copy.is_dir()]:
        inside = [path for path in copy.rglob(MANIFEST) if path.parent != copy]
        shared = own.intersection((path.relative_to(copy).as_posix(), sha256_of(path)) for path in inside)
        manifest = shelf / f"{copy.name}.json"
        found.append((len(shared), manifest.stat().st_mtime if manifest.is_file() else 0.0, copy))
    for shared_parts, _, copy in sorted(found, reverse=True):
        for hidden in sorted(copy.glob(".*")) if shared_parts else ():
            if hidden.is_file() and not hidden.name.endswith((LOCK, ".tmp")) and not (part / hidden.name).exists():
                link_or_copy(hidden, part / hidden.name)


def _by_checksum(earlier: Mapping[Path, Mapping[str, File]]) -> dict[str, list[Path]]:
    """Return checksum -> files of all copies that should have it."""
    found: dict[str, list[Path]] = {}
    for path, files in earlier.items():
        for name, file in files.items():
            found.setdefault(file.sha256, []).extend(path.with_suffix(end) / name for end in ("", _PART))
    return found


def _taken(others: list[Path], file: File, target: Path) -> bool:
    """Take a file from another copy, if it is there and undamaged."""
    for other in others:
        if other.is_file() and _is_whole(other, file):
            link_or_copy(other, target)
            return True
    return False


def _is_whole(path: Path, file: File) -> bool:
    return path.stat().st_size == file.size and sha256_of(path) == file.sha256
