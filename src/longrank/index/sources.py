"""Record of the files that an index was built from, for updates: ``INDEX/.sources.jsonl``.

The first line holds the sources, the options of reading, and a checksum of the record without it; each further line
holds a file: its path, size, time of modification, SHA-256 and the ids of its documents. The record is no part of the
index, which is valid without it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from longrank.errors import InputError, IntegrityError, first_line
from longrank.formats.lines import TextOptions
from longrank.formats.opening import Limits
from longrank.formats.records import CorpusOptions, FileOptions
from longrank.index.folder import SOURCES, sources_record
from longrank.storage import atomic_write, sha256_of

FORMAT, VERSION = "longrank sources", 1
_FIX = "build the index again with longrank index SOURCE... -o INDEX, or change it with --add and --delete"
_TICK = 2_000_000_000  # nanoseconds: the coarsest clock of a file system (FAT)
_CORPUS = ("format", "fields", "ignore_passages", "metadata", "index_only", "title_in_text")

Recording: TypeAlias = "Callable[[str, Callable[[NDArray[np.integer]], list[str]]], Sources | None]"
"""Given the digest of a new index and its ids by the numbers of documents, returns the record; None: it has none."""


def is_young(mtime_ns: int) -> bool:
    """Tell whether a file of a time of modification may change again without another time."""
    return time.time_ns() - mtime_ns <= _TICK


class SourceState(NamedTuple):
    """A file as it was read.

    Attributes:
        path: its absolute path.
        size: bytes.
        mtime_ns: time of modification, nanoseconds since 1970; -1: the content must be read.
        sha256: SHA-256 of its bytes.
        ids: ids of its documents.
    """

    path: str
    size: int
    mtime_ns: int
    sha256: str
    ids: tuple[str, ...] = ()

    @classmethod
    def of(cls, path: Path) -> SourceState:
        """Return the present state of a file.

        A file of the last seconds has no time: it may change again without a new one, so its content is read next time.
        """
        stat = path.stat()
        return cls(str(path), stat.st_size, -1 if is_young(stat.st_mtime_ns) else stat.st_mtime_ns, sha256_of(path))

    def now(self) -> SourceState:
        """Return the present state of the same file; its content is read only if size or time differ."""
        stat = Path(self.path).stat()
        if (stat.st_size, stat.st_mtime_ns) == (self.size, self.mtime_ns):
            return self
        return SourceState.of(Path(self.path))._replace(ids=self.ids)


class Sources(NamedTuple):
    """Sources of an index.

    Attributes:
        places: absolute paths of files and folders, absolute patterns of such paths, addresses of databases.
        corpus: options of reading.
        files: files by path.
        digest: digest of the index that these files gave. Records of earlier versions have "" after an update that was
            killed, or None.
        begun: digest of the index that an update was about to commit, or has committed; "": no update was killed.
        beside: absolute paths of the files and folders beside the documents of collections, which are not read; None:
            unknown, in records of earlier versions.
    """

    places: tuple[str, ...]
    corpus: CorpusOptions
    files: dict[str, SourceState]
    digest: str | None = None
    begun: str = ""
    beside: tuple[str, ...] | None = None

    def is_of(self, digest: str) -> bool:
        """Tell whether no other command has changed the index, which has `digest` now."""
        return self.digest is None or digest in (self.digest, self.begun)


def write_sources(path: Path, sources: Sources) -> None:
    """Write the record of the sources of an index into a file, which is `SOURCES` in its folder.

    Raises:
        LongRankError: writing failed.
    """
    corpus = {name: getattr(sources.corpus, name) for name in _CORPUS}
    text, files = sources.corpus.text, sources.corpus.files
    corpus["text"] = {"encoding": text.encoding, "errors": text.errors, "limits": asdict(text.limits)}
    corpus["files"] = {"include": files.include, "exclude": files.exclude, "strict": files.strict, "ocr": files.ocr}
    if files.ocr is not None:  # an update may run in another working folder
        corpus["files"]["ocr_folder"] = files.ocr_folder or str(Path.cwd())
    header = {"format": FORMAT, "version": VERSION, "sources": sources.places, "corpus": corpus}
    header |= {"digest": sources.digest} | ({"begun": sources.begun} if sources.begun else {})
    header |= {"beside": sources.beside} if sources.beside is not None else {}
    states = [state._asdict() for _, state in sorted(sources.files.items())]
    header["checksum"] = _checksum([header, *states])
    with atomic_write(path, "w") as stream:
        for value in (header, *states):
            stream.write(json.dumps(value) + "\n")


def _checksum(values: Sequence[object]) -> str:
    digest = hashlib.sha256()
    for value in values:
        digest.update(json.dumps(value).encode() + b"\n")
    return digest.hexdigest()


def read_sources(folder: Path) -> Sources:
    """Read the record of an index.

    Raises:
        InputError: the index has no record, or a record that cannot be read.
        IntegrityError: the record has another checksum; records of earlier versions have none.
    """
    record = sources_record(folder)
    if record is None:
        raise InputError("the index has no record of its source files", path=folder, fix=_FIX)
    try:
        with record.open(encoding="utf-8") as stream:
            header, *files = map(json.loads, stream)
        if (header["format"], header["version"]) != (FORMAT, VERSION):
            raise InputError("the record of the index's sources has another version", path=folder, fix=_FIX)
        if (checksum := header.pop("checksum", None)) is not None and checksum != _checksum([header, *files]):
            raise IntegrityError(f"{folder}: {SOURCES} is damaged; {_FIX}")
        states = TypeAdapter(list[SourceState]).validate_python(files)
        places = TypeAdapter(tuple[str, ...]).validate_python(header["sources"])
        corpus = _corpus(header["corpus"])
        digest, begun = header.get("digest"), str(header.get("begun", ""))
        beside = TypeAdapter(tuple[str, ...] | None).validate_python(header.get("beside"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError) as error:
        raise InputError(f"{SOURCES} cannot be read ({first_line(error)})", path=folder, fix=_FIX) from None
    return Sources(places, corpus, {state.path: state for state in states}, digest, begun, beside)


def _corpus(value: dict[str, Any]) -> CorpusOptions:
    text, files = value.pop("text"), value.pop("files")
    read = TextOptions(text["encoding"], text["errors"], Limits(**text["limits"]))
    return CorpusOptions(text=read, files=FileOptions(**_tuples(files)), **_tuples(value))


def _tuples(value: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(part) if isinstance(part, list) else part for name, part in value.items()}
