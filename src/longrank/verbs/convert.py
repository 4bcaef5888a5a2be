"""Convert a published checkpoint to safetensors: the work of ``longrank convert``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from longrank.errors import InputError
from longrank.networks.conversion.heads import FAMILIES
from longrank.networks.conversion.sources import Source, find_source
from longrank.networks.loading import loading
from longrank.networks.model_files import WITH_TEMPLATES, Model, Unconverted, find_model
from longrank.networks.trainings import lineage_of, united
from longrank.registries import suggestion
from longrank.storage import digest_of, sha256_of
from longrank.storage.cache import cache_folder
from longrank.storage.workplace import check_apart, check_outside, check_own
from longrank.types import Notes

if TYPE_CHECKING:
    from longrank.networks.conversion.writing import Checkpoint


_VERSION = 2
"""Version of the rules by which a checkpoint is converted: a conversion in the cache by older rules is not read."""


class Conversion(NamedTuple):
    """A folder of safetensors that ``--model`` takes.

    Attributes:
        path: the folder.
        head: ``classification``, ``next-sentence``, ``seq2seq``, ``decoder`` or ``encoder``; or a document network,
            ``parade-transformer`` or ``parade-attn``.
        n_tensors: tensors of the checkpoint.
        n_renamed: tensors with new names.
        notes: remarks.
    """

    path: Path
    head: str
    n_tensors: int
    n_renamed: int
    notes: Notes


def convert(
    source: str | Path,
    output: str | Path,
    *,
    base: str | None = None,
    head: str | None = None,
    notes: Notes | None = None,
) -> Conversion:
    """Convert a published checkpoint to a folder with safetensors, tokenizer and model card.

    PyTorch files are read by ``torch.load(weights_only=True)``: no code of a checkpoint is run.

    Args:
        source: a PyTorch file, a folder, or a Hugging Face name, ``owner/model`` or ``owner/model@revision``.
        output: the new folder.
        base: a folder or a Hugging Face name; its configuration and tokenizer are taken where the source has none. Of
            a LoRA adapter: the base model, if it is not the model that the adapter names.
        head: ``classification``, ``next-sentence``, ``seq2seq``, ``decoder`` or ``encoder``; None: the head that the
            tensors hold.
        notes: collects remarks; None: only ``conversion.notes`` has them.

    Raises:
        InputError: no such checkpoint; a file that holds objects other than tensors; a network that lacks parameters,
            so that its head would be random, or has no place for some; or `output` is not empty.
        MissingExtra: torch or transformers are not installed, or peft, which merges adapters.

    Example:
        >>> longrank.convert("castorini/monobert-large-msmarco", "./monobert")
    """
    notes, folder = Notes() if notes is None else notes, Path(output)
    if head is not None and head not in FAMILIES:
        raise InputError("unknown head", got=head, fix=suggestion(head, FAMILIES))
    check_own(folder, "", begun=False)
    check_outside(folder)
    found = find_source(str(source), base)
    check_apart(folder, *found.weights, found.tokenizer, found.config)
    place = found.weights[0].parent
    with loading(Model(found.name, place, place, "")):
        from longrank.models.converted import write_network
        from longrank.networks.conversion.writing import write_checkpoint

        checkpoint = _read(found, head, notes)
        if checkpoint.head == "parade":
            written = write_network(found, checkpoint, folder)
        else:
            lineage = united(lineage_of(place), find_model(found.base).lineage if found.base else ())
            written = write_checkpoint(found, checkpoint, folder, notes, lineage)
    return Conversion(folder, *written, notes)


def converted(model: str, notes: Notes) -> str:
    """Return a model that can be read: `model` itself, or its conversion in the cache folder.

    Args:
        model: an alias, a folder or a Hugging Face name.
        notes: tells the folder of a conversion.

    Raises:
        InputError, MissingExtra: as `convert` and `longrank.networks.model_files.find_model`.
    """
    try:
        find_model(model)
        return model
    except Unconverted as error:
        source = error.source
    from longrank.networks.conversion.modules import carried_files

    found = find_source(source)
    place = found.weights[0].parent
    # of a base on the hub, the commit is in the path of the configuration
    named = Path(found.base or "").expanduser()
    base = [named] if found.base and named.is_dir() else []
    folders = (place, found.tokenizer, *base)
    settings = {path for folder in folders for path in folder.iterdir() if path.suffix in WITH_TEMPLATES}
    read = {*found.weights, found.config, *carried_files(found), *filter(Path.is_file, settings)}
    digest = digest_of([_VERSION, {os.path.relpath(path, place): sha256_of(path) for path in read}])
    folder = cache_folder() / "models" / f"{found.name.partition('@')[0].replace('/', '--')}-{digest[:16]}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            notes.merge(convert(source, folder).notes)
        except InputError:
            if not folder.is_dir():  # else another process has written the same conversion meanwhile
                raise
    notes.say(f"'{model}' is read from its conversion, {folder}")
    return str(folder)


def _read(source: Source, head: str | None, notes: Notes) -> Checkpoint:
    from longrank.networks.conversion.adapters import read_adapter
    from longrank.networks.conversion.writing import read_checkpoint

    return read_adapter(source, head) if source.base else read_checkpoint(source, head, notes)
