"""Lock the folder of an index for writing: refuse other content, and remove the remains of killed builds."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from longrank.errors import InputError, IntegrityError, LongRankError
from longrank.index.folder import (
    DATA,
    DELETED,
    SOURCES,
    SPARSE,
    VECTORS,
    manifest_bytes,
    pending_record,
    read_manifest,
    valid_names,
)
from longrank.storage import MANIFEST, check_parent, digest_of, open_manifest, sha256_of
from longrank.storage.files import check_folder, writing
from longrank.storage.remote import check_no_copy
from longrank.storage.workplace import working_in

BUILDING = ".building-"
_NAMED_BY_CONTENT = re.compile(rf"({DATA}|{DELETED})[0-9a-f]{{16}}")
_WORK = re.compile(rf"{re.escape(BUILDING)}[a-z0-9_]{{8}}")  # by `tempfile.mkdtemp`
_PENDING = re.compile(r"\.sources-[0-9a-f]{16}\.jsonl")
_RECORDS = rf"{re.escape(SOURCES)}|{_PENDING.pattern}"
_TEMPORARY = re.compile(rf"\.({re.escape(MANIFEST)}|{_RECORDS}|{DELETED}[0-9a-f]{{16}})\.[0-9a-f]{{8}}\.tmp")


@contextmanager
def building(folder: Path) -> Iterator[Path]:
    """Lock an index folder for writing and yield a new work folder inside it.

    Creates the folder if need be, and removes the remains of killed builds. The work folder is always removed at the
    end, and so is the index folder if it was made here and is empty.

    Raises:
        InputError: `folder` exists and is not an index, its parent does not exist or is read-only,
            or another process is writing to it.
        LongRankError: the disk refuses.
    """
    check_no_copy(folder)
    _refuse_other(folder)
    with working_in(folder, keep_lock_with=MANIFEST):
        with writing(folder):
            remove_leftovers(folder)
            work = Path(tempfile.mkdtemp(prefix=BUILDING, dir=folder))
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _refuse_other(folder: Path) -> None:
    if not os.path.lexists(folder):
        check_parent(folder, folder.parent)
        return
    check_folder(folder)
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
    try:
        path.rename(doomed / path.name)
    except OSError:
        doomed.rmdir()
        raise
    return doomed


def remove_leftovers(folder: Path) -> None:
    """Remove data that no manifest names; data stays if its manifest cannot be read.

    What this user may not remove stays for another user: an index may belong to several.
    """
    valid = valid_names(folder) if (folder / MANIFEST).exists() else frozenset[str]()
    settle_record(folder)
    for path in list(folder.iterdir()):
        with suppress(PermissionError):
            if _TEMPORARY.fullmatch(path.name) and path.is_file():
                path.unlink()
            elif _WORK.fullmatch(path.name):
                _remove_tree(path)
            elif _NAMED_BY_CONTENT.fullmatch(path.name) and valid is not None and path.name not in valid:
                _remove_tree(moved_aside(path, folder))


def settle_record(folder: Path) -> None:
    """Put the record of the sources of the index that stands in its place; remove those of other states."""
    mine = pending_record(folder, manifest_bytes(folder))
    with suppress(PermissionError):
        for path in [path for path in folder.iterdir() if _PENDING.fullmatch(path.name)]:
            if path != mine:
                path.unlink()
            elif path.stat().st_size:
                path.rename(folder / SOURCES)
            else:  # the index has no record
                (folder / SOURCES).unlink(missing_ok=True)
                path.unlink()


def _remove_tree(path: Path) -> None:
    """Remove a file or a folder, even while a worker of a killed build writes its last file there."""
    if path.is_file():
        path.unlink()
        return
    for _ in range(10):
        try:
            shutil.rmtree(path)
        except PermissionError:
            raise
        except OSError:
            time.sleep(0.1)
        if not path.exists():
            return
    raise LongRankError(f"cannot remove {path}")
