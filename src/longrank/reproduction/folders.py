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
from longrank.networks.model_files import find_model
from longrank.reproduction.assignments import flat
from longrank.reproduction.phases import PHASES
from longrank.storage import atomic_write, digest_of, sha256_of
from longrank.storage.workplace import check_own, read_json, refuse_changed, working_in, write_json

IDENTITY = "reproduction.json"
_END = 1 << 20  # bytes; the last eight of a .gz file hold the checksum of all


@contextmanager
def reproducing(folder: Path, given: Collection) -> Iterator[None]:
    """Hold the folder of all recipes alone, for one collection.

    Args:
        folder: new, empty, or of reproductions on the same collection; the folder above must exist.
        given: the collection.

    Raises:
        InputError: it is of another collection or of something else, another process works in it, or it cannot be
            written.
        IntegrityError: what it says of itself is damaged.
    """
    check_own(folder, "reproduction", begun=(folder / IDENTITY).exists())
    with working_in(folder, worthless=[IDENTITY]):
        documents = [*given.sources, *given.index_options]
        claim(folder, {"collection": given.name, "documents": documents, "state of the documents": _state(given)})
        yield


def _state(given: Collection) -> str:
    """Return a digest of the documents' files: names and states."""
    files = [
        path for source in map(Path, given.sources) for path in (source, *sorted(source.rglob("*"))) if path.is_file()
    ]
    return digest_of([str(path) for path in files] + [state_of(files)])


def state_of(files: Sequence[Path]) -> str:
    """Return a digest of files' sizes and both ends; reading all of a collection could take hours."""
    return digest_of([[path.stat().st_size, _ends(path)] for path in files])


def _ends(path: Path) -> str:
    with path.open("rb") as file:
        digest = sha256(file.read(_END))
        file.seek(max(0, path.stat().st_size - _END))
        digest.update(file.read(_END))
    return digest.hexdigest()


def claim(folder: Path, identity: Mapping[str, object], inputs: Sequence[str] = ()) -> None:
    """Refuse a folder in which something else was reproduced.

    Args:
        folder: of a recipe, or of all.
        identity: what is reproduced there.
        inputs: files that are written before anything is done; a folder that holds no more of another reproduction
            (its first command failed, say) is free.

    Raises:
        InputError: it was.
        IntegrityError: what the folder says of itself is damaged.
    """
    path = folder / IDENTITY
    free = bool(inputs) and {one.name for one in folder.iterdir()} <= {IDENTITY, *inputs}
    if free or not path.exists():
        write_json(path, identity)
        return
    begun = identity_of(folder)
    refuse_changed(
        path, dict(flat({key: begun.get(key) for key in identity})), dict(flat(json.loads(json.dumps(identity))))
    )


def identity_of(folder: Path) -> Mapping[str, Any]:
    """Return what a folder says was begun in it.

    Raises:
        IntegrityError: it cannot be read.
    """
    return read_json(folder / IDENTITY, f"delete it and {PHASES} beside it to run everything again")


def replace(path: Path, text: str) -> None:
    """Write a file that is whole or as it was."""
    with atomic_write(path, "w") as stream:
        stream.write(text)


def check_models(models: Mapping[str, str]) -> None:
    """Load nothing, but find every model that a recipe asks for, before hours are spent on what does not need it.

    Args:
        models: role -> model.

    Raises:
        InputError: one cannot be found; says how to give it.
        MissingExtra, IntegrityError: as `find_model`.
    """
    for role, model in models.items():
        if " " in model and not Path(model).is_dir():  # what was published is described, since it has no name
            what = f"the model of the role {role} has no name by which it could be fetched"
            raise InputError(what, got=model, fix=f"give a folder: --model '{role}=FOLDER'")
        try:
            find_model(model)
        except InputError as error:
            raise InputError(f"the model of the role {role}: {error}", fix=f"--model '{role}=FOLDER'") from error


def fingerprint(model: str) -> str:
    """Return a digest of a model's folder, so that another model of the same name is another reproduction."""
    folder = Path(model)
    if not folder.is_dir():
        return model
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return digest_of({str(path.relative_to(folder)): sha256_of(path) for path in files})
