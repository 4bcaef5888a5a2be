"""Carry over what a model of sentence-transformers has beside its network: modules, prompts, lengths."""

from __future__ import annotations

import shutil
from pathlib import Path

from safetensors.torch import save_file

from longrank.networks.conversion.reading import read_tensors
from longrank.networks.conversion.sources import Source, weights_in
from longrank.networks.model_files import module_folders, modules_of
from longrank.types import Notes

_SETTINGS = ("config_sentence_transformers.json", "sentence_bert_config.json")
_CARRIED = {
    "encoder": ("Transformer", "Pooling", "Dense", "LayerNorm", "Dropout", "Normalize"),
    "decoder": ("Transformer", "LogitScore"),
}
"""Head -> modules of a bi-encoder, of a decoder reranker."""


def carried_from(source: Source) -> Path | None:
    """Return the folder of a sentence-transformers model; None: the configuration belongs to another model."""
    folder = source.config.parent
    return folder if source.base or folder == source.weights[0].parent else None


def carry_modules(source: Source, head: str, output: Path, notes: Notes) -> None:
    """Write modules and settings of a source into the folder of its converted network.

    Args:
        source: the checkpoint's files.
        head: a key of `longrank.networks.conversion.heads.FAMILIES`.
        output: the folder with the converted network.
        notes: names modules that stay behind.

    Raises:
        InputError: modules outside the folder, or damaged weights.
    """
    folder = carried_from(source)
    if folder is None:
        return
    for path in (folder / name for name in _SETTINGS):
        if path.is_file():
            shutil.copyfile(path, output / path.name)
    places = module_folders(folder)
    kinds = [kind for kind, _ in modules_of(folder)]
    if not places or kinds == ["Transformer"]:
        return
    if lost := [kind for kind in kinds if kind not in _CARRIED.get(head, ())]:
        notes.say(f"the network alone is converted (head {head}): the module {lost[0]} stays behind")
        return
    shutil.copyfile(folder / "modules.json", output / "modules.json")
    for place in places:
        if place != folder:
            _carry(place, output / place.relative_to(folder))


def _carry(place: Path, output: Path) -> None:
    output.mkdir(parents=True)
    for path in place.iterdir():
        if path.suffix in (".json", ".txt"):
            shutil.copyfile(path, output / path.name)
    if any(path.suffix in (".bin", ".safetensors") for path in place.iterdir()):
        save_file(dict(read_tensors(weights_in(place))), output / "model.safetensors", {"format": "pt"})
