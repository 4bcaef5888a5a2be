"""Publish a trained or converted model on the Hugging Face hub: the work of ``longrank publish``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from longrank.errors import InputError, LongRankError
from longrank.models.description import describe
from longrank.networks.model_card import CARD
from longrank.networks.model_files import INT8_GRAPH, WITH_TEMPLATES, Model, check_unchanged, find_model
from longrank.networks.trainings import DESCRIPTION
from longrank.networks.uploading import upload
from longrank.small_files import CONFIG, read_small
from longrank.storage import MANIFEST
from longrank.training.model_card import local_paths, read_record, trained_card
from longrank.training.run_folder import FOLDS, MODEL, begun_here, finished
from longrank.types import Notes
from longrank.verbs.check import check

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_LICENCE = re.compile(r"[a-z0-9][a-z0-9.-]*")
_NAMES = (CARD, "LICENSE", "NOTICE")
_UNNAMED = "OWNER/NAME"


class Publication(NamedTuple):
    """A model as the hub gets it.

    Attributes:
        path: folder of the model.
        sizes: file -> bytes, the card included.
        card: text of README.md.
        url: address of the commit; None: nothing was uploaded.
        notes: remarks.
    """

    path: Path
    sizes: Mapping[str, int]
    card: str
    url: str | None
    notes: Notes


def publish(
    folder: str | Path,
    repo: str | None = None,
    *,
    licence: str | None = None,
    private: bool = False,
    token: str | None = None,
    replace: bool = False,
    dry_run: bool = False,
    notes: Notes | None = None,
) -> Publication:
    """Check a model, write its card and upload both to the Hugging Face hub.

    The folder stays as it is. A README.md in the model's folder is uploaded instead of a new card.
    A README.md of the repository is replaced, and noted if it was another.

    Args:
        folder: a finished training, or a model with safetensors, such as one of `convert`.
        repo: ``owner/name``; is created if it does not exist. Needed unless `dry_run`.
        licence: of the model, as the hub names it: ``apache-2.0``, ``mit``, ``cc-by-4.0``.
        private: hide a new repository from others.
        token: of an account that may write; None: the client's own, HF_TOKEN or that of ``hf auth login``.
        replace: delete files of an earlier model in the repository that this model lacks; its history keeps them.
        dry_run: upload nothing and connect to nothing.
        notes: collects remarks; None: only ``publication.notes`` has them.

    Raises:
        InputError: an unfinished training, a training per fold, an untrained network, no card without a training,
            files that no model needs, such as pickled weights, a repository with files of another model, or a file
            that changed since the model was checked.
        IntegrityError: a file differs from its checksum.
        MissingExtra: the hub's client is not installed.
        LongRankError: the upload failed, as without network; or a file changed during the upload.

    Example:
        >>> longrank.publish("parade/s1", dry_run=True).card
    """
    notes = Notes() if notes is None else notes
    _check_names(repo, licence, dry_run)
    path, model = _model(Path(folder), notes)
    files = _files(path)
    card = _card(path, repo or _UNNAMED, licence, notes)
    sizes = {name: file.stat().st_size for name, file in files.items()} | {CARD: len(card.encode())}
    url = None
    if not dry_run and repo is not None:
        check_unchanged(model)
        url = upload(files, card, repo, private=private, token=token, notes=notes, replace=replace)
        try:
            check_unchanged(model)
        except InputError as error:
            raise LongRankError(
                f"{error.path}: changed while it was uploaded to {url}; publish the model again"
            ) from error
    return Publication(path, dict(sorted(sizes.items())), card, url, notes)


def _check_names(repo: str | None, licence: str | None, dry_run: bool) -> None:
    if repo is None and not dry_run:
        raise InputError("no repository to upload to", fix="give `repo`, or `dry_run` to see what would be uploaded")
    if repo is not None and not _NAME.fullmatch(repo):
        raise InputError("is no name of a repository", got=repo, fix="give `repo` as OWNER/NAME")
    if licence is not None and not _LICENCE.fullmatch(licence):
        raise InputError("is no licence's name on the hub", got=licence, fix="such as apache-2.0, mit or cc-by-4.0")


def _model(folder: Path, notes: Notes) -> tuple[Path, Model]:
    """Return the folder of the model, and its files, after a check of all files.

    Raises:
        InputError, IntegrityError: as `publish`.
    """
    if not folder.is_dir():
        raise InputError("no such folder", path=folder)
    path = folder
    if begun_here(folder):
        if finished(folder) is None:
            raise InputError("the training is not finished", path=folder, fix="run its command again to finish it")
        path = folder / MODEL
    elif (folder / FOLDS).is_file():
        trainings = sorted(each.name for each in folder.iterdir() if begun_here(each))
        fix = f"choose a fold, such as {folder / (trainings or ['s1'])[0]}"
        raise InputError("holds a training per fold", path=folder, fix=fix)
    model = find_model(str(path.resolve()))
    if (path / DESCRIPTION).is_file() and describe(path)["untrained"]:
        raise InputError(
            "the network has never been trained", path=path / DESCRIPTION, fix="train it with longrank train"
        )
    if (path / MANIFEST).is_file():
        check(path)
    else:
        notes.say(f"{path} has no {MANIFEST}, so checksums were not compared")
    return path, model


def _files(folder: Path) -> dict[str, Path]:
    """Return name in the repository -> file.

    Raises:
        InputError: a file that no model needs, or an int8 graph.
    """
    if (folder / INT8_GRAPH).is_dir():
        what = "holds a graph of longrank quantize, and graphs are not published"
        raise InputError(what, path=folder / INT8_GRAPH, fix="publish the model that was quantised")
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    for path in files.values():
        if (path.suffix not in WITH_TEMPLATES and path.name not in _NAMES) or path.name.startswith("."):
            what = f"is no file of a model ({', '.join(WITH_TEMPLATES)}), and pickled weights or code are not published"
            raise InputError(what, path=path, fix="move it out of the folder")
    return files


def _card(folder: Path, name: str, licence: str | None, notes: Notes) -> str:
    """Return the folder's own card, or a new card.

    Raises:
        InputError: no training to describe, or a licence for a card that is written already, or that cannot be read.
    """
    if (folder / CARD).is_file():
        if licence is not None:
            fix = f"write 'license: {licence}' between its first --- lines, and leave the licence out here"
            raise InputError("is the model's card", path=folder / CARD, fix=fix)
        notes.say(f"the card is {folder / CARD}")
        return _own_card(folder / CARD)
    record = read_record(folder)
    if record is None or "training" not in record.get("run", {}):
        raise InputError("holds no record of a training to write a card from", path=folder, fix=f"write {CARD} there")
    if licence is None:
        notes.say("the card states no licence")
    for path in list(local_paths(record))[:1]:
        notes.say(f"the training's record, which is uploaded, names paths of this machine, such as {path}")
    return trained_card(folder, record, name, licence)


def _own_card(path: Path) -> str:
    try:
        return read_small(path, CONFIG, "model cards").decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", path=path, fix="write it in UTF-8") from None
