"""Put finished segments in their places, and make them the index, in a single step; call all inside `building`."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE
from typing import Any, NamedTuple

from longrank.errors import InputError, IntegrityError, LongRankError
from longrank.index.folder import (
    CHANGED,
    DATA,
    DELETED,
    FORMAT,
    SPARSE,
    VECTORS,
    VERSION,
    SegmentName,
    manifest_bytes,
    open_part,
    pending_record,
    valid_names,
)
from longrank.index.living import documents_of
from longrank.index.locking import moved_aside, remove_leftovers, settle_record
from longrank.index.parts import digest_of_parts
from longrank.index.sources import Recording, write_sources
from longrank.storage import MANIFEST, atomic_write, digest_of, read_manifest, sha256_of, sync_folder, verify
from longrank.storage import write_manifest as write_folder_manifest
from longrank.storage.folders import exchange
from longrank.types import Notes

STALE = "stored vectors that do not fit the changed index; store them again"


class Finished(NamedTuple):
    """A segment with all its files and its manifest in a work folder, and the digest of the manifest."""

    folder: Path
    digest: str


def publish(finished: Sequence[Finished], folder: Path, notes: Notes, recording: Recording | None) -> None:
    """Make the finished segments of a build the index in `folder`, several as its shards; call it inside `building`.

    Vectors of other documents stay, and are noted: those of unchanged documents are used when vectors are stored again.

    Args:
        finished: the segments.
        folder: the folder of the index.
        notes: counts vectors that do not fit.
        recording: returns the record of its sources; None: it has none.

    Raises:
        LongRankError: writing failed; says whether the old or the new index is valid.
    """
    before = _named_data(folder)
    with _telling_state(folder):
        data = [put_data(segment, folder) for segment in finished]
        segments = [SegmentName(path.name, is_shard=len(data) > 1) for path in data]
        manifest = manifest_of(folder, segments)
        stands = manifest_bytes(folder) == manifest
        try:
            if stands:  # the same documents again: the record is valid as soon as it is written, so it comes last
                put_manifest(folder, manifest)
            _write_pending(folder, segments, manifest, recording)
            if not stands:
                put_manifest(folder, manifest)
        finally:
            settle_record(folder)
    remove_leftovers(folder)
    if before != _named_data(folder):
        note_stale_vectors(folder, notes)


def _write_pending(folder: Path, segments: Sequence[SegmentName], manifest: bytes, recording: Recording | None) -> None:
    """Write the record of the sources of an index; `settle_record` puts it in its place when the manifest is valid."""
    sources = None
    if recording is not None:
        parts = [open_part(folder, names) for names in segments]
        sources = recording(digest_of_parts(parts), documents_of(parts).doc_ids)
    pending = pending_record(folder, manifest)
    if sources is None:
        pending.touch()
    else:
        write_sources(pending, sources)


def note_stale_vectors(folder: Path, notes: Notes, digest: str = "") -> None:
    """Count the stored vectors of an index whose documents have changed, but for those of `digest`, an index."""
    notes.drop(STALE)  # some may have been stored again since
    for path in sorted(path for name in (VECTORS, SPARSE) for path in (folder / name).glob(f"*/{MANIFEST}")):
        if not digest or read_manifest(path.parent).get("index") != digest:
            notes.add(STALE, path.parent.name)


def publish_segments(folder: Path, segments: Sequence[SegmentName]) -> None:
    """Make segments that are in their places the index in `folder`; call it inside `building`.

    Raises:
        LongRankError: writing failed; says whether the old or the new index is valid.
    """
    with _telling_state(folder):
        put_manifest(folder, manifest_of(folder, segments))
    remove_leftovers(folder)


def finish(work: Path, meta: Mapping[str, Any]) -> Finished:
    """Write the manifest of a segment whose other files are in `work`."""
    return Finished(work, digest_of(write_folder_manifest(work, meta)))


def put_data(finished: Finished, folder: Path) -> Path:
    """Move a finished segment into the index folder; return its place."""
    data = folder / (DATA + finished.digest[:16])
    if not _is_intact(data):
        shutil.rmtree(data, ignore_errors=True)
        finished.folder.rename(data)
    return data


def put_deletions(folder: Path, dead: bytes) -> str:
    """Write the deletions of a segment into the index folder; return the name of the file."""
    path = folder / (DELETED + hashlib.sha256(dead).hexdigest()[:16])
    with atomic_write(path) as stream:
        stream.write(dead)
    return path.name


def put_manifest(folder: Path, manifest: bytes) -> None:
    """Make the segments that a manifest names the index in `folder`, in one step."""
    sync_folder(folder)
    with atomic_write(folder / MANIFEST) as stream:
        stream.write(manifest)


def manifest_of(folder: Path, segments: Sequence[SegmentName]) -> bytes:
    """Return the manifest of an index of segments, which are in their places."""
    files = {}
    for path in sorted(folder / name for names in segments for name in (f"{names.data}/{MANIFEST}", names.deleted)):
        if path != folder:
            name = path.relative_to(folder).as_posix()
            files[name] = {"size": path.stat().st_size, "sha256": sha256_of(path)}
    if len(segments) == 1 and not segments[0].deleted:
        content: dict[str, Any] = {"version": VERSION, "data": segments[0].data}
    else:
        content = {"version": CHANGED, "segments": [names.as_json() for names in segments]}
    return json.dumps({"format": FORMAT, **content, "files": files}, indent=1, sort_keys=True).encode() + b"\n"


@contextmanager
def _telling_state(folder: Path) -> Iterator[None]:
    """Add to the message of a failed write which index is valid now."""
    before = _named_data(folder)
    try:
        yield
    except (OSError, LongRankError) as error:
        what = f"cannot write {folder}: {error.strerror or error}" if isinstance(error, OSError) else str(error)
        valid = _named_data(folder)
        state = "there is no index" if not valid else f"the {'old' if valid == before else 'new'} index is valid"
        raise LongRankError(f"{what}; {state}") from error


def _named_data(folder: Path) -> frozenset[str] | None:
    return valid_names(folder) if (folder / MANIFEST).exists() else None


def discard(path: Path, folder: Path) -> None:
    """Remove a folder inside the index `folder`; after a kill it is whole or the remains of a build."""
    if path.exists():
        shutil.rmtree(moved_aside(path, folder), ignore_errors=True)


def replace_folder(work: Path, path: Path, folder: Path) -> None:
    """Move a finished folder to its place inside the index `folder`; an older one is removed after that.

    After a kill, the old or the new one is there and whole; on a file system that cannot `exchange` their names,
    between two renames, neither.
    """
    path.parent.mkdir(exist_ok=True)
    with suppress(OSError):  # of file systems without modes
        work.chmod(S_IMODE(folder.stat().st_mode))  # a temporary folder is its owner's alone
    doomed = work if path.exists() and exchange(work, path) else None
    if doomed is None:
        doomed = moved_aside(path, folder) if path.exists() else None
        work.rename(path)
    sync_folder(path.parent)
    sync_folder(folder)
    if doomed is not None:
        shutil.rmtree(doomed, ignore_errors=True)


def _is_intact(data: Path) -> bool:
    try:
        return verify(data) > 0
    except (InputError, IntegrityError):
        return False
