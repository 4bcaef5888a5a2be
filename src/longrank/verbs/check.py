"""Check every file of an index or of another folder that LongRank wrote: the work of ``longrank check``."""

from __future__ import annotations

import json
from pathlib import Path

from longrank.errors import InputError, IntegrityError
from longrank.index import Index, verify_index
from longrank.index.folder import DATA, sources_record
from longrank.index.sources import read_sources
from longrank.reproduction.phases import PHASES, check_outputs
from longrank.small_files import RECORD, read_small
from longrank.storage import MANIFEST, read_header, verify
from longrank.storage.remote import address_of, check_objects, local
from longrank.verbs.unfinished import check_finished, read_to_end

_JOURNALS = (".evidence", ".journal")
_FIX = "check a folder that longrank wrote, or an evidence file"


def check(folder: Index | str | Path) -> int:
    """Compare every file of a folder, and of the folders below, with its checksum.

    Args:
        folder: an index or its address, whose passage vectors are checked, too; or a folder of ``create``, ``train``,
            ``tune``, ``weigh`` or ``reproduce``, or a folder of such folders; or an evidence file.

    Of an address, the local copy is checked, and the sizes of the objects in the store.

    Returns:
        The number of files; all are as they were written. Evidence files and journals have checksums of their own.

    Raises:
        InputError: the folder holds nothing with checksums.
        IntegrityError: names the first damaged or missing file, or evidence, tuning, weighing or training that is
            unfinished.

    Example:
        >>> check(Index.build([("d1", "Dogs bark.")])) > 0
        True
    """
    place = folder.location if isinstance(folder, Index) else folder
    path = local(place)
    if address_of(place):
        check_objects(place)
    if is_index(path) or any(path.glob(f"{DATA}*/{MANIFEST}")):  # segments alone are a build that never finished
        if sources_record(path) is not None:
            read_sources(path)
        return verify_index(path)
    if path.is_file():
        if "format" not in read_header(path):
            raise InputError("is neither an evidence file nor a journal, so it has no checksums", path=path, fix=_FIX)
        read_to_end(path)
        return 1
    if not path.is_dir():
        raise InputError("no such folder", path=path)
    manifests = (manifest for manifest in path.rglob(MANIFEST) if not _is_hidden(manifest, path))
    sealed = sorted(manifest.parent for manifest in manifests if not _is_foreign(manifest))
    n = sum(verify(place) for place in sealed)
    n += sum(check_outputs(phases.parent) for phases in sorted(path.rglob(PHASES)))
    below = [place for place in sorted(path.rglob("*")) if not _is_hidden(place, path)]
    journals = [file for file in below if file.suffix in _JOURNALS and file.is_file()]
    for file in journals:
        read_to_end(file)
    check_finished([path, *(place for place in below if place.is_dir())])
    if not n + len(journals):
        raise InputError("holds no manifest: not written by longrank, or never finished", path=path)
    return n + len(journals)


def is_index(folder: Path) -> bool:
    """Tell whether a folder is an index."""
    try:
        Index.open(folder)
    except (InputError, IntegrityError):
        return False
    return True


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def _is_foreign(manifest: Path) -> bool:
    """Tell whether a file is the manifest of another program, such as a web page's; a damaged manifest is not."""
    try:
        value = json.loads(read_small(manifest, RECORD))
    except (ValueError, RecursionError, OSError, InputError):
        return False
    if not isinstance(value, dict) or str(value.get("format")).startswith("longrank "):
        return False
    files = value.get("files")
    named = list(files.values()) if isinstance(files, dict) else []
    return not any(isinstance(file, dict) and "sha256" in file for file in named)
