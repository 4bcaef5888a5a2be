"""Folders of vectors in an index: found by their name, written whole, with the passages that they are of.

passages, starts, ends      int32[n], index, first and last code point of each passage
numbers                     int32[D], passages of each document before a cap
offsets                     uint64[D + 1], first passage of each document; documents by number
hashes                      uint8[D, 16], hash of each document, to find its vectors after a change of the index
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.errors import Changed, InputError, IntegrityError
from longrank.index.arrays import ArrayWriter, mapped
from longrank.index.content_hashes import SIZE, hash_of
from longrank.index.folder import LISTING, SPARSE, VECTORS, unlisted_vectors
from longrank.index.locking import building
from longrank.index.publishing import replace_folder
from longrank.index.reader import Index
from longrank.registries import suggestion
from longrank.storage import MANIFEST, read_manifest, write_manifest
from longrank.storage.files import writing
from longrank.types import Notes, Segmentation

HASHES = "hashes"
_PASSAGES = {"passages": "<i4", "starts": "<i4", "ends": "<i4", "numbers": "<i4", "offsets": "<u8"}


class VectorsDoNotFit(InputError):
    """Stored vectors are of other documents, of another model or of another version."""


class VectorsKey(NamedTuple):
    """The encoder and the passages that passage vectors depend on, besides the index.

    Attributes:
        encoder: fingerprint of model and options.
        segmenter: fingerprint of the segmenter.
        title: True: the encoder reads the title before each passage.
    """

    encoder: str
    segmenter: str
    title: bool = False


@contextmanager
def reading_manifest(folder: Path) -> Iterator[None]:
    """Refuse a manifest that lacks a field, or has a field of another type.

    Raises:
        IntegrityError: such a manifest.
    """
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        what = f"{folder}: its manifest is damaged ({type(error).__name__}: {error})"
        raise IntegrityError(f"{what}; remove the folder and store them again") from None


@contextmanager
def opening(folder: Path) -> Iterator[None]:
    """Refuse vectors that are replaced while their files are opened, one after the other.

    Raises:
        VectorsDoNotFit: the folder has another manifest at the end.
        InputError, IntegrityError: as `read_manifest`.
    """
    manifest = read_manifest(folder)
    try:
        yield
    finally:
        if read_manifest(folder) != manifest:
            raise VectorsDoNotFit("these vectors were replaced while they were opened", path=folder, fix="try again")


class VectorFolders(NamedTuple):
    """The folders of one kind of vectors.

    Attributes:
        room: name of their folder in the index.
        format: format of their manifests.
        version: version of the format.
        kind: kind of the vectors, for messages, and `passage_kind`, where none are stored.
        passage_kind: see `kind`.
        fix: cure of missing vectors, with a place for the index.
        option: option of the command that stores them.
    """

    room: str
    format: str
    version: int
    kind: str
    passage_kind: str
    fix: str
    option: str

    def again(self, index: Index) -> str:
        """Return the cure of stored vectors that cannot be searched."""
        command = f"longrank index {index.place} {self.option} MODEL --passages PRESET"
        return f"store them again, with their model and passages: {command}"

    def of(self, index: Index) -> dict[str, Path]:
        """Return the folders of finished vectors by name."""
        return {path.parent.name: path.parent for path in sorted((index.path / self.room).glob(f"*/{MANIFEST}"))}

    def identity(self, key: VectorsKey) -> dict[str, Any]:
        """Return the values that a manifest of such vectors has, of whatever documents."""
        return {"format": self.format, "version": self.version, **key._asdict()}

    def is_of(self, manifest: Mapping[str, Any], key: VectorsKey) -> bool:
        """Tell whether vectors are of this encoder and these passages, of whatever documents."""
        return all(manifest.get(name) == value for name, value in self.identity(key).items())

    def choose(self, index: Index, name: str, model: Callable[[], str] | None = None) -> Path:
        """Return the folder of a name; without a name, the only folder, or the only folder of a model.

        Args:
            index: the index.
            name: name of the vectors; empty: not named.
            model: gives the model's fingerprint; None: of any model.

        Raises:
            InputError: no such vectors, vectors of several names, vectors that were never finished, or vectors of
                other documents.
            IntegrityError: a manifest cannot be read.
        """
        folders, fix = self.of(index), self.fix.format(index.place)
        if name and name not in folders and (index.path / self.room / name).is_dir():
            raise InputError(
                "these vectors were never finished", path=index.path / self.room / name, fix=self.again(index)
            )
        if not folders and (closed := unlisted_vectors(index.path, self.room)):
            raise InputError("cannot be listed", path=closed[0], fix=LISTING)
        if not folders:
            raise InputError(f"the index has no {self.passage_kind}", path=index.place, fix=fix)
        if not name and len(folders) > 1 and model is not None:
            own = f" {model()} "
            folders = {
                key: path for key, path in folders.items() if own in read_manifest(path).get("encoder", "")
            } or folders
        if not name and len(folders) > 1:
            raise InputError(
                f"the index has several sets of {self.kind}", got=", ".join(folders), fix="name one of them"
            )
        name = name or next(iter(folders))
        if name not in folders:
            raise InputError(f"the index has no {self.kind} of this name", got=name, fix=suggestion(name, folders))
        self._check(folders[name], index)
        return folders[name]

    @contextmanager
    def chosen(self, index: Index, name: str, model: Callable[[], str] | None = None) -> Iterator[Path]:
        """Yield the folder of `choose` while its files are opened; raise as `choose` and `opening`."""
        folder = self.choose(index, name, model)
        with opening(folder):
            self._check(folder, index)  # it may be another folder since it was chosen
            yield folder

    def _check(self, folder: Path, index: Index) -> None:
        """Raise VectorsDoNotFit if vectors are of other documents than an index; IntegrityError as `choose`."""
        manifest, expected = read_manifest(folder), (self.format, self.version, index.digest)
        if (manifest.get("format"), manifest.get("version"), manifest.get("index")) != expected:
            what = "these vectors are of other documents or another version"
            raise VectorsDoNotFit(what, path=folder, fix=self.again(index))

    def store(
        self, index: Index, name: str, meta: Mapping[str, Any], write: Callable[[Path], None], notes: Notes
    ) -> Path:
        """Write a folder in one step; vectors of the same name and model are replaced.

        Args:
            index: the index.
            name: name of the folder; where it holds vectors of another model, these stay, and the new ones get a name
                with the beginning of their model's fingerprint.
            meta: values of the manifest, besides the index.
            write: writes the files into a folder.
            notes: says that vectors of another model stay.

        Raises:
            InputError: the index cannot be written to, has changed, or another process is writing to it.
            LongRankError: writing failed.
        """
        usual = index.path / self.room / re.sub(r"[^\w.-]+", "-", name)
        with building(index.path) as work:
            if Index(index.path).digest != index.digest:
                what = "the index has changed since it was opened, so these vectors would not fit it"
                raise Changed(what, path=index.place, fix="store them again")
            target = _free(usual, _model_of(meta))
            if target.exists() and not (target / MANIFEST).is_file():
                raise InputError(f"holds no {self.kind}, and would be replaced", path=target, fix="move it elsewhere")
            if target != usual:
                notes.say(
                    f"{usual.name} has {self.kind} of another model, which stay: the new ones are {target.name}; "
                    "remove the folder of those that you do not need"
                )
            with writing(target):
                write(work)
                with ArrayWriter(work / HASHES, "u1") as hashes:
                    for document in index:
                        hashes.append(np.frombuffer(hash_of(document), np.uint8))
                write_manifest(work, {"index": index.digest, **meta})
                replace_folder(work, target, index.path)
        return target


def _free(usual: Path, model: str) -> Path:
    """Return the folder for vectors of a model: the usual one, unless it holds vectors of another model."""
    own = usual.with_name(f"{usual.name}-{model.rpartition(':')[2][:8]}")
    models = {path: _stored_model(path) for path in (usual, own)}
    return next((path for path, stored in models.items() if stored == model), own if models[usual] else usual)


def _stored_model(folder: Path) -> str:
    """Return the model of stored vectors; empty if there are none, or their manifest cannot be read."""
    try:
        return _model_of(read_manifest(folder))
    except (InputError, IntegrityError):
        return ""


def _model_of(manifest: Mapping[str, Any]) -> str:
    """Return the kind and the model of the encoder of a manifest: its fingerprint without the options."""
    return str(manifest.get("encoder", "")).partition(" max_tokens=")[0]


DENSE_FOLDERS = VectorFolders(
    VECTORS,
    "longrank passage vectors",
    1,
    "vectors",
    "passage vectors",
    "store vectors: longrank index {} --vectors minilm",
    "--vectors",
)
SPARSE_FOLDERS = VectorFolders(
    SPARSE,
    "longrank sparse vectors",
    1,
    "sparse vectors",
    "sparse vectors",
    "store them: longrank index {} --sparse MODEL",
    "--sparse",
)


def documents_by_hash(folder: Path) -> dict[bytes, int]:
    """Return the number of each document by its hash."""
    hashes = mapped(folder / HASHES, "u1").tobytes()
    return {hashes[start : start + SIZE]: n for n, start in enumerate(range(0, len(hashes), SIZE))}


def write_passages(
    folder: Path, types: Mapping[str, str], documents: Iterable[tuple[Segmentation, Mapping[str, NDArray[Any]]]]
) -> None:
    """Write the passages of documents, and arrays with values of theirs.

    Args:
        folder: gets a file of each array.
        types: type of each array besides those of the passages.
        documents: passages and, by array, values to append.
    """
    offset = 0
    with ExitStack() as stack:
        kinds = {**types, **_PASSAGES}
        files = {name: stack.enter_context(ArrayWriter(folder / name, kind)) for name, kind in kinds.items()}
        files["offsets"].append([0])
        for (passages, n_passages, _), values in documents:
            for name in types:
                files[name].append(values[name])
            files["passages"].append([passage.index for passage in passages])
            files["starts"].append([passage.start for passage in passages])
            files["ends"].append([passage.end for passage in passages])
            files["numbers"].append([n_passages])
            offset += len(passages)
            files["offsets"].append([offset])
