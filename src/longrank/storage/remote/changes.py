"""Change a folder in an object store: build or change a local folder, then upload it; its manifest comes last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from longrank.errors import InputError, IntegrityError, LongRankError
from longrank.storage.cache import cache_folder
from longrank.storage.manifests import MANIFEST, sha256_of
from longrank.storage.remote.addresses import address_of
from longrank.storage.remote.contents import (
    FILES,
    Contents,
    File,
    checksum_of,
    contents_of,
    files_of,
    new_key,
    seen_contents,
)
from longrank.storage.remote.copies import fetched, hold, keep, locked, record, release, shelf_of, writing_to
from longrank.storage.remote.downloads import link_or_copy
from longrank.storage.remote.store import Seen, Store, Stored, written
from longrank.storage.temporaries import temporary_folder
from longrank.storage.transfers import shown
from longrank.storage.workplace import LOCK, check_outside
from longrank.types import Notes

UPLOADING = "uploading.txt"  # in FILES: the other objects there are of a first upload that has not ended
_THREADS = 2  # files sent at a time; the store sends parts of large ones side by side


@contextmanager
def changing(place: Path | str, notes: Notes | None = None, *, anew: bool = False) -> Iterator[Path]:
    """Yield the folder to write into: of a path, the path itself.

    Of an address, a local folder, which is uploaded when the block ends without an error: files that the store has
    already are not sent, then the manifest is replaced, then files that it does not name are removed. Readers see the
    old or the new folder. The folder is in the cache folder, so the next reader on this machine fetches nothing.

    Args:
        place: a path or an address.
        notes: counts files that need not be sent.
        anew: True: a folder that does not exist yet; the upload replaces the whole folder at the address. False: a copy
            of the newest version.

    Raises:
        BeingWritten: another process has changed the folder meanwhile, and the store has conditional writes.
        InputError: with `anew`, a path inside a finished folder.
        IntegrityError: the copy on this machine is damaged; nothing is sent.
        InputError, MissingExtra, IntegrityError, LongRankError: as `longrank.storage.remote.local`.
    """
    address = address_of(place)
    if not address:
        if anew:
            check_outside(place)
        yield Path(place)
        return
    notes, store = Notes() if notes is None else notes, Store(address)
    found = seen_contents(store)
    before = found[1]
    _check_objects(store, before)
    shelf = shelf_of(address)
    with temporary_folder(shelf / "change") as work:
        folder = work / "new"
        base = None if anew else _base(store, found)
        if base is not None:
            _copy(base, folder)
        try:
            yield folder
        except InputError as error:
            if error.path is not None and Path(error.path).is_relative_to(folder):  # which is gone when it is read
                error.located("/".join([address, *Path(error.path).relative_to(folder).parts]))
            raise
        contents = contents_of(folder)
        if base is not None and before is not None:
            _check_copy(base, before, contents)
        contents, unnamed = _sent(store, folder, contents, found, notes)
        copy = _shelved(folder, contents, shelf)
        try:
            _publish(store, contents, found[0], unnamed)
        except BaseException:
            release(copy)
            raise
        _adopt(folder, contents, copy)


def upload(folder: Path, address: str, notes: Notes) -> None:
    """Upload a folder as it is, in place of the folder at an address; nobody may write to it meanwhile.

    Raises:
        BeingWritten, InputError, MissingExtra, IntegrityError, LongRankError: as `changing`.
    """
    store = Store(address)
    found = seen_contents(store)
    _check_objects(store, found[1])
    contents, unnamed = _sent(store, folder, contents_of(folder), found, notes)
    _publish(store, contents, found[0], unnamed)


def _check_objects(store: Store, before: Contents | None) -> None:
    """Refuse objects at an address without an index that no upload of LongRank has left: an upload would remove them.

    Raises:
        InputError: such objects.
    """
    objects = store.objects(FILES) if before is None else {}
    if (there := files_of(objects)) and UPLOADING not in objects and store.seen(MANIFEST, 1).state is None:
        what = f"holds {len(there)} objects whose names are checksums, and no index that names them"
        fix = "choose another address, or remove them if they are of an upload by an earlier version of longrank"
        raise InputError(what, path=f"{store.address}/{FILES}", fix=fix)


def _base(store: Store, found: tuple[Seen, Contents | None]) -> Path:
    seen, contents = found
    if contents is None:
        fix = f"build it: longrank index SOURCE -o {store.address}"
        raise InputError("no such index", path=store.address, fix=fix)
    try:
        return fetched(store, contents)
    except FileNotFoundError as error:
        store.check_unchanged(MANIFEST, seen)
        raise InputError(
            f"a file is missing ({error})", path=store.address, fix="run the command again, or upload the index again"
        ) from None


def _copy(source: Path, folder: Path) -> None:
    """Copy a folder by second names of its files, which only ever are replaced."""
    with writing_to(folder):
        for path in sorted(source.rglob("*")):
            target = folder / path.relative_to(source)
            if path.is_file() and path.name != LOCK:  # a second name of a lock would be held with the first
                target.parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(path, target)


def _check_copy(copy: Path, before: Contents, after: Contents) -> None:
    """Refuse a damaged copy: the change would send the damage, and remove the sound file from the store.

    Files that the change has kept have the checksums of before; others are compared.
    """
    for name, file in before.files.items():
        kept = name in after.files and after.files[name].sha256 == file.sha256
        there = (copy / name).is_file()
        if not kept and not (there and sha256_of(copy / name) == file.sha256):
            fault = "checksum differs" if there else "file is missing"
            cure = f"longrank cache remove {copy.parent.relative_to(cache_folder()).as_posix()}, and try again"
            raise IntegrityError(f"{copy / name}: {fault}; this copy is damaged, nothing was sent ({cure})")


def _sent(
    store: Store, folder: Path, contents: Contents, found: tuple[Seen, Contents | None], notes: Notes
) -> tuple[Contents, list[str]]:
    """Send the files of a folder; `found` is what `seen_contents` has found before the change.

    Returns:
        The files with the names of their objects, and the names of the objects there that the folder does not need.
    """
    objects, (seen, before) = store.objects(FILES), found
    there = files_of(objects)
    if before is None and UPLOADING not in objects:
        objects[UPLOADING] = Stored(0, None)
        store.replace(f"{FILES}/{UPLOADING}", b"The objects here are of an upload.\n", Seen(None, None))
    contents = _placed(contents, there, _kept(there, seen, before), first=before is None)
    wanted = {file.key: (folder / name, file) for name, file in contents.files.items()}
    missing = [wanted[key] for key in wanted if key not in there]
    notes.add(f"files that {store.address} had already, which are not sent again", count=len(wanted) - len(missing))
    if missing:
        _send(store, missing)
    marks = [UPLOADING] if UPLOADING in objects else []
    return contents, [*(name for name in there if name not in wanted), *marks]


def _publish(store: Store, contents: Contents, seen: Seen, unnamed: Sequence[str]) -> None:
    """Replace the manifest, and remove the objects that it does not name; nothing, if it is there already."""
    if seen.content != contents.written:
        store.replace(MANIFEST, contents.written, seen)
        store.remove([f"{FILES}/{name}" for name in unnamed if name != UPLOADING])
        if UPLOADING in unnamed:
            with suppress(LongRankError):  # an account that may only write: a later change removes the mark
                store.remove([f"{FILES}/{UPLOADING}"])


def _kept(there: Mapping[str, Stored], seen: Seen, before: Contents | None) -> list[str]:
    """Return the names of objects that no other process is about to remove; those that the manifest names come last.

    Objects that the manifest names: who removes them has replaced it, so this change fails. Of the others, the process
    that wrote the manifest may still be removing those that it found before; later ones are of interrupted uploads.
    """
    if before is None:
        return list(there)
    named = {file.key for file in before.files.values()}
    since = written(seen.state or {})
    later = [name for name, one in there.items() if since and one.written and one.written > since]
    return [*later, *(name for name in there if name in named)]


def _placed(contents: Contents, there: Mapping[str, Stored], kept: Sequence[str], *, first: bool) -> Contents:
    """Return the files with the kept objects that have their contents, or else with names that no object ever had.

    `first`: there is no manifest yet, so nothing was removed, and names that no object has are such names.
    """
    usable = {(checksum_of(name), there[name].size): name for name in kept}
    keys = {
        file.sha256: usable.get((file.sha256, file.size))
        or new_key(file.sha256, plain=first and file.sha256 not in there)
        for file in contents.files.values()
    }
    return Contents({name: file._replace(key=keys[file.sha256]) for name, file in contents.files.items()})


def _send(store: Store, missing: Sequence[tuple[Path, File]]) -> None:
    """Send files; the first fault ends it."""
    n_bytes = sum(file.size for _, file in missing)
    pool = ThreadPoolExecutor(_THREADS, "longrank-send")
    with shown(f"sending to {store.address}", n_bytes) as advance:
        try:
            for sent in [pool.submit(store.send, path, file.object, advance) for path, file in missing]:
                sent.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _shelved(folder: Path, contents: Contents, shelf: Path) -> Path:
    """Make the changed folder the copy of its version before the store has the version; return the copy.

    So the next command after a kill in between finds the hidden files.
    """
    copy = shelf / contents.name
    with writing_to(shelf), locked(shelf):
        if not copy.is_dir():
            folder.rename(copy)
        hold(copy)
    return copy


def _adopt(folder: Path, contents: Contents, copy: Path) -> None:
    """Make a copy that of the newest version; it gets the hidden files of the changed folder, if that is another."""
    shelf = copy.parent
    with writing_to(shelf), locked(shelf):
        if not copy.is_dir():  # later versions have taken its place
            return
        for path in [path for path in folder.glob(".*") if path.is_file()]:
            path.replace(copy / path.name)
        record(contents, shelf)
        keep(copy)
