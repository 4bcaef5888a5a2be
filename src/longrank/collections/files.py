"""Find the document files of a source, and the format of each file.

A source is a file, a folder (walked in sorted order), a collection folder, of which only ``docs.jsonl`` or BEIR's
``corpus.jsonl`` is read, a CORD-19 release, whose ``metadata.csv`` names the other files, or a dataset that Hugging
Face ``datasets`` saved. Without a format, a file's first bytes or its name tell it. Files of a folder in no known
format, archives, hidden files and the folders of package managers are skipped; the first two are counted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn

from longrank.collections.collection import documents_of
from longrank.collections.patterns import matches
from longrank.errors import InputError, LongRankError
from longrank.formats.arrow import dataset_files
from longrank.formats.cord19 import METADATA, is_cord19
from longrank.formats.corpora import EXTENSIONS, WHOLE_FILES, format_of, may_be
from longrank.formats.opening import is_file
from longrank.formats.records import CorpusOptions, FileOptions, SourceFile
from longrank.small_files import check_path
from longrank.storage import MANIFEST, open_manifest
from longrank.types import Notes

_PACKED = re.compile(r"\.(\d?z|tar(\.\w+)?|t[gbx]z2?|zip|7z|rar|bz2|xz|zst|lz4)$", re.IGNORECASE)
_IGNORED = frozenset({"node_modules", "__pycache__", "__MACOSX"})
_NO_DOCUMENTS = ("queries.", "topics.", "qrels.")  # in a collection folder
_ABOUT = re.compile(r"\.|readme|licen[cs]e|changelog|(\w+_)?(qrels|queries|topics)|judged|run\.", re.IGNORECASE)
_UNFIT_IN_ID = re.compile(r"[\x00-\x1f\x7f\s\ufeff\udc80-\udcff]|%(?=[0-9A-Fa-f]{2})")


def files_of(source: str, options: CorpusOptions, notes: Notes) -> Iterator[tuple[SourceFile, str]]:
    """Yield the files of a source, in the order of their names, and the format of each file.

    Raises:
        InputError: no such file or folder, an archive, a file of unknown format, or a folder
            with nothing to read.
    """
    if not source:  # Path("") would be the current folder
        raise InputError("no source: an empty name was given")
    path = Path(source)
    if _is_folder(path):
        yield from named_files(path, options) or _in(path, options, notes)
        return
    _refuse_packed(path)
    if not path.exists():
        fix = "texts in memory come with their ids, as (id, text) pairs" if " " in source else None
        raise InputError("no such file or folder", path=path, fix=fix)
    format = options.format or format_of(path)
    if format is None:
        known = ", ".join(EXTENSIONS)
        raise InputError("its format is unknown", path=path, fix=f"name it with --format, or end it in {known}")
    yield SourceFile(path, _as_id(path.name, notes, path)), format


def check_patterns(sources: Iterable[str], options: CorpusOptions) -> None:
    """Refuse patterns of files if they choose among the files of no source; `sources`: files and folders.

    Raises:
        InputError: such patterns.
    """
    patterns = [*options.files.include, *options.files.exclude]
    folders = (Path(source) for source in sources if source and _is_folder(Path(source)))
    if patterns and not any(not named_files(folder, options) for folder in folders):
        what = "`include` and `exclude` choose among the files of a folder, and no source is a folder of files"
        raise InputError(what, got=patterns[0], fix="leave them out, or name a folder")


def named_files(folder: Path, options: CorpusOptions) -> list[tuple[SourceFile, str]]:
    """Return the files to read of a collection folder, a CORD-19 release or a dataset on disk; none in others."""
    collection = documents_of(folder) if options.format in (None, "jsonl") else None
    if collection is not None:
        return [(SourceFile(collection, collection.name), "jsonl")]
    papers = [folder / METADATA, folder / f"{METADATA}.gz"] if options.format in (None, "cord19") else []
    found = [(SourceFile(path, path.name), "cord19") for path in papers if is_cord19(path)][:1]
    if found or options.format not in (None, "arrow"):
        return found
    return [(SourceFile(path, path.name), "arrow") for path in dataset_files(folder)]


def note_unread(folder: Path, options: CorpusOptions, notes: Notes) -> None:
    """Count texts in a collection folder, which are not read: somebody may take it for a folder of files."""
    named = named_files(folder, options)
    read = {file.path for file, _ in named}
    for parent, _, names in os.walk(folder) if named else ():
        for name in names:
            if is_page(Path(name)) and not is_about(Path(name)) and Path(parent, name) not in read:
                what = f"texts beside {named[0][0].path.name} not read, since their folder is a collection"
                notes.add(what, str(Path(parent, name)))


def _is_folder(path: Path) -> bool:
    try:
        check_path(path)
        return path.is_dir()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from None


def _in(folder: Path, options: CorpusOptions, notes: Notes) -> Iterator[tuple[SourceFile, str]]:
    n_read = 0
    for path in _walk(folder, options.files, notes):
        format = _format_in_folder(path, options)
        if format is None:
            kind = (
                "archives skipped: unpack them first"
                if _PACKED.search(path.name)
                else "files of unknown format skipped"
            )
            skip(path, kind, "", options.files, notes)
            continue
        n_read += 1
        if holds_no_documents(path):
            notes.add("files read as documents that have the names of queries, topics or judgments", str(path))
        yield SourceFile(path, _as_id(path.relative_to(folder).as_posix(), notes, path)), format
    if not n_read:
        expected = f"{options.format} files" if options.format else f"files ending in {', '.join(EXTENSIONS)}"
        raise InputError("folder holds no document file", path=folder, fix=f"it should hold {expected}; see --format")


def holds_no_documents(path: Path) -> bool:
    """Tell whether a file has the name of queries, topics or judgments."""
    return path.name.startswith(_NO_DOCUMENTS)


def is_about(path: Path) -> bool:
    """Tell whether a file tells about its folder by its name: a README, a licence, a file of queries or judgments."""
    return _ABOUT.match(path.name) is not None


def is_page(path: Path) -> bool:
    """Tell whether a file is a document by its name: a collection may have such files, which are not read."""
    return EXTENSIONS.get(Path(path.name.lower()).suffix) in WHOLE_FILES


def _format_in_folder(path: Path, options: CorpusOptions) -> str | None:
    if _PACKED.search(path.name):
        return None
    if options.format is None:
        return format_of(path)
    return options.format if may_be(path, options.format) else None


def skip(path: Path, kind: str, reason: str, options: FileOptions, notes: Notes) -> None:
    """Count a skipped file, and report it."""
    notes.add(kind, reason or str(path))
    if options.skipped:
        options.skipped(path, reason or kind)


def _walk(folder: Path, options: FileOptions, notes: Notes) -> Iterator[Path]:
    """Yield the chosen files below a folder, sorted, without linked folders and LongRank's folders."""

    for parent, folders, files in os.walk(folder, onerror=_fail):
        if MANIFEST in files and _is_written_by_us(Path(parent)):
            notes.add("folders written by longrank skipped", parent)
            folders.clear()
            continue
        before = Path(parent).relative_to(folder)
        folders[:] = sorted(
            name for name in folders if name not in _IGNORED and _is_chosen(before / name, options, True)
        )
        for path in (Path(parent, name) for name in folders):
            if path.is_symlink():  # os.walk does not enter it
                skip(path, "linked folders skipped: name them as sources", "", options, notes)
        chosen = (Path(parent, name) for name in sorted(files) if _is_chosen(before / name, options, False))
        for path in chosen:
            if is_file(path):
                yield path
            else:
                skip(path, "links to nothing, pipes and devices skipped", "", options, notes)


def _fail(error: OSError) -> NoReturn:
    raise InputError(f"cannot be read: {error.strerror or error}", path=error.filename)


def _is_chosen(path: Path, options: FileOptions, folder: bool) -> bool:
    """Tell whether a file is read, or a folder is entered; hidden ones are not."""
    name = path.as_posix()
    if path.name.startswith(".") or matches(name, options.exclude, folder=folder):
        return False
    return folder or not options.include or matches(name, options.include)


def _is_written_by_us(folder: Path) -> bool:
    """Tell whether the folder has a LongRank manifest: an index may lie in its source folder."""
    try:
        return str(open_manifest(folder).get("format")).startswith("longrank ")
    except LongRankError:
        return False


def _refuse_packed(path: Path) -> None:
    if _PACKED.search(path.name):
        raise InputError(
            "is an archive or has an unsupported compression; only .gz is unpacked", path=path, fix="unpack it first"
        )


def _as_id(name: str, notes: Notes, path: Path) -> str:
    """Return a file's name as an id, with what an id may not hold escaped as in a URL.

    That is also white space beyond ASCII, at which other readers of runs divide a line, and a ``%`` that would look
    like an escape: two files never have one id.
    """
    fit = _UNFIT_IN_ID.sub(lambda unfit: "".join(f"%{byte:02X}" for byte in os.fsencode(unfit[0])), name)
    if fit != name:
        notes.add("file names with white space or escapes, written as in a URL (%20) in ids", str(path))
    return fit
