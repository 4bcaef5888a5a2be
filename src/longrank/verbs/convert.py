"""Convert a published checkpoint to safetensors: the work of ``longrank convert``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from longrank.config import suggestion
from longrank.errors import InputError
from longrank.networks.conversion.heads import FAMILIES
from longrank.networks.conversion.sources import find_source
from longrank.networks.loading import loading
from longrank.networks.model_files import Model
from longrank.storage.workplace import check_apart, check_own
from longrank.types import Notes


class Conversion(NamedTuple):
    """A folder of safetensors that ``--model`` takes.

    Attributes:
        path: the folder.
        head: ``classification``, ``next-sentence``, ``seq2seq``, ``decoder`` or ``encoder``.
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
        base: a folder or a Hugging Face name; its configuration and tokenizer are taken where the source has none.
        head: ``classification``, ``next-sentence``, ``seq2seq``, ``decoder`` or ``encoder``; None: the head that the
            tensors hold.
        notes: collects remarks; None: only ``conversion.notes`` has them.

    Raises:
        InputError: no such checkpoint; a file that holds objects other than tensors; a network that lacks parameters,
            so that its head would be random, or has no place for some; or `output` is not empty.
        MissingExtra: torch or transformers are not installed.

    Example:
        >>> longrank.convert("castorini/monobert-large-msmarco", "./monobert")
    """
    notes, folder = Notes() if notes is None else notes, Path(output)
    if head is not None and head not in FAMILIES:
        raise InputError("unknown head", got=head, fix=suggestion(head, FAMILIES))
    check_own(folder, "conversion", begun=False)
    found = find_source(str(source), base)
    check_apart(folder, *found.weights, found.tokenizer, found.config)
    place = found.weights[0].parent
    with loading(Model(found.name, place, place, "")):
        from longrank.networks.conversion.writing import write_converted

        written = write_converted(found, folder, head, notes)
    return Conversion(folder, *written, notes)
