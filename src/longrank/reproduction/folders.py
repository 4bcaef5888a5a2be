"""Lock a reproduction folder and refuse to mix collections or inputs in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from longrank.collections.collection import Collection
from longrank.errors import InputError
from longrank.networks.model_files import absolute_model, find_model
from longrank.reproduction.assignments import flat
from longrank.reproduction.phases import PHASES
from longrank.storage import atomic_write, digest_of, sha256_of
from longrank.storage.workplace import check_own, read_json, refuse_changed, working_in, write_json

IDENTITY = "reproduction.json"
_STATE = "state of the documents"
_END = 1 << 20  # bytes; the last eight of a .gz file hold the checksum of all
_WHOLE = 64 << 20  # bytes of a file that is read whole; of a larger one, the time of the last change counts


@contextmanager
def reproducing(folder: Path, collection: Collection) -> Iterator[None]:
    """Lock the output folder of all recipes, for one collection.

    Args:
        folder: new, empty, or begun on the same collection; the folder above must exist.
        collection: the collection.

    Raises:
        InputError: the folder belongs to another collection or holds something else, is locked by another process, or
            cannot be written to.
        IntegrityError: the identity file is damaged.
    """
    check_own(folder, "reproduction", begun=(folder / IDENTITY).exists())
    with working_in(folder, worthless=[IDENTITY]):
        documents = [*collection.sources, *collection.index_options]
        claim(
            folder,
            {"collection": collection.name, "documents": documents, _STATE: _state(collection)},
        )
        yield


def check_documents(folder: Path, collection: Collection) -> None:
    """Refuse an index whose documents changed since the reproduction began: the indexes of a folder would differ.

    Raises:
        InputError: a file was changed, added or deleted.
    """
    if _state(collection) != identity_of(folder).get(_STATE):
        fix = "put the documents back, and run the command again; or begin again in a new folder"
        raise InputError("the documents have changed since the reproduction began", path=folder, fix=fix)


def _state(collection: Collection) -> str:
    """Return a digest of the names and states of the document files."""
    files = collection.document_files()
    return digest_of([str(path) for path in files] + [state_of(files)])


def state_of(files: Sequence[Path]) -> str:
    """Return a digest of each file's size and bytes; of large files, the first and last megabyte and the time.

    Reading whole collections could take hours.
    """
    return digest_of([[path.stat().st_size, _content(path)] for path in files])


def _content(path: Path) -> str:
    """Return a digest of the first and last megabyte, and of what lies between them or the time of the last change."""
    state = path.stat()
    with path.open("rb") as file:
        digest = sha256(file.read(_END))
        file.seek(max(0, state.st_size - _END))
        digest.update(file.read(_END))
        if 2 * _END < state.st_size <= _WHOLE:
            file.seek(_END)
            digest.update(file.read(state.st_size - 2 * _END))
    if state.st_size > _WHOLE and path.suffix != ".gz":
        digest.update(str(state.st_mtime_ns).encode())
    return digest.hexdigest()


def claim(folder: Path, identity: Mapping[str, object], inputs: Sequence[str] = ()) -> None:
    """Record the identity of a reproduction in its folder, or refuse a folder of another reproduction.

    Args:
        folder: folder of one recipe, or of all recipes.
        identity: everything that the results depend on.
        inputs: names of input files. A folder that holds only these (its first command failed) may be reused.

    Raises:
        InputError: the folder belongs to another reproduction; names the first difference.
        IntegrityError: the identity file is damaged.
    """
    path = folder / IDENTITY
    free = bool(inputs) and {path.name for path in folder.iterdir()} <= {IDENTITY, *inputs}
    if free or not path.exists():
        write_json(path, identity)
        return
    begun = identity_of(folder)
    refuse_changed(
        path, dict(flat({key: begun.get(key) for key in identity})), dict(flat(json.loads(json.dumps(identity))))
    )


def identity_of(folder: Path) -> Mapping[str, Any]:
    """Read the identity that a folder was begun with.

    Raises:
        IntegrityError: the identity file cannot be read.
    """
    return read_json(folder / IDENTITY, f"delete it and {PHASES} beside it to run everything again")


def replace(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_write(path, "w") as stream:
        stream.write(text)


def check_models(models: Mapping[str, str]) -> None:
    """Find every model of a recipe, without loading it, before hours of work begin.

    Args:
        models: role -> model.

    Raises:
        InputError: a model cannot be found.
        MissingExtra, IntegrityError: as `find_model`.
    """
    for role, model in models.items():
        if is_description(model):
            what = f"the published model of the role {role} cannot be downloaded"
            raise InputError(what, got=model, fix=f"give a folder: --model '{role}=FOLDER'")
        try:
            find_model(model)
        except InputError as error:
            raise InputError(f"the model of the role {role}: {error}", fix=f"--model '{role}=FOLDER'") from error


def is_description(model: str) -> bool:
    """Tell whether a model is only described in words, since the published model has no name."""
    return " " in model and folder_of(model) is None


def folder_of(model: str) -> Path | None:
    """Return the folder that a model's name leads to; None: it leads to no folder."""
    try:
        folder = Path((model and absolute_model(model)) or "minilm")  # an alias, and no folder
    except RuntimeError:  # ~ of a user whom the system does not know
        return None
    return folder if folder.is_absolute() and folder.is_dir() else None


def files_of(model: str) -> list[Path]:
    """Return the files of a model that is a folder; none of another model."""
    folder = folder_of(model)
    return [] if folder is None else sorted(path for path in folder.rglob("*") if path.is_file())


def fingerprint(model: str) -> str:
    """Return a digest of a model's folder, or the name of a model that is no folder."""
    folder = folder_of(model)
    if folder is None:
        return model
    return digest_of({str(path.relative_to(folder)): sha256_of(path) for path in files_of(model)})
