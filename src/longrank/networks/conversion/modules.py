"""Carry over what a model of sentence-transformers has beside its network: modules, prompts, lengths."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from longrank.networks.checks import modules_of
from longrank.networks.conversion.reading import read_tensors
from longrank.networks.conversion.sources import Source, weights_in
from longrank.networks.model_files import module_folders
from longrank.networks.weights_file import save_weights
from longrank.small_files import CONFIG, read_small
from longrank.types import Notes

_CARRIED = {
    "encoder": ("Transformer", "Pooling", "Dense", "LayerNorm", "Dropout", "Normalize"),
    "decoder": ("Transformer", "LogitScore"),
}
"""Head -> modules of a bi-encoder, of a decoder reranker."""


def carried_from(source: Source) -> Path | None:
    """Return the folder of the sentence-transformers model whose network the source is; None: there is none."""
    network = source.config.parent
    if not source.base and network != source.weights[0].parent:
        return None  # a configuration of another model
    places = ((each, modules_of(each)) for each in (network, network.parent))
    return next((folder for folder, modules in places if network in [place for _, place in modules]), None)


def module_places(source: Source) -> list[Path]:
    """Return the folders of the modules that `carry_modules` carries over, the network's not included."""
    folder = carried_from(source)
    known = {kind for kinds in _CARRIED.values() for kind in kinds}
    if folder is None or not {kind for kind, _ in modules_of(folder)} <= known:
        return []
    return [place for place in module_folders(folder) if place != source.config.parent]


def carry_modules(source: Source, head: str, output: Path, notes: Notes) -> None:
    """Write modules and settings of a source into the folder of its converted network.

    Args:
        source: the checkpoint's files.
        head: a key of `longrank.networks.conversion.heads.FAMILIES`.
        output: the folder with the converted network.
        notes: names modules that stay behind.

    Raises:
        InputError: modules.json is damaged or names a folder outside the model, or weights of a module are damaged.
    """
    network, folder = source.config.parent, carried_from(source)
    if folder is None:
        elsewhere = network != source.weights[0].parent
        if elsewhere and (network / "modules.json").is_file():
            notes.say("the network alone is converted: the modules of its base model stay behind")
        if source.base or not elsewhere:
            _copy_settings(network, network, output)
        return
    _copy_settings(folder, network, output)
    kinds = [kind for kind, _ in modules_of(folder)]
    if kinds == ["Transformer"]:
        return
    if lost := [kind for kind in kinds if kind not in ("Transformer", *_CARRIED.get(head, ()))]:
        notes.say(f"the network alone is converted (head {head}): the module {lost[0]} stays behind")
        return
    for place in module_places(source):
        _carry(place, output / place.relative_to(folder))
    entries = json.loads(read_small(folder / "modules.json", CONFIG, "a model's settings"))
    for entry in entries:
        if folder / entry["path"] == network:
            entry["path"] = ""  # older models have their network in a folder of its own
    (output / "modules.json").write_text(json.dumps(entries, indent=2), encoding="utf-8")


def _copy_settings(folder: Path, network: Path, output: Path) -> None:
    for path in (folder / "config_sentence_transformers.json", network / "sentence_bert_config.json"):
        if path.is_file():
            shutil.copyfile(path, output / path.name)


def _carry(place: Path, output: Path) -> None:
    output.mkdir(parents=True)
    for path in place.iterdir():
        if path.suffix in (".json", ".txt"):
            shutil.copyfile(path, output / path.name)
    if any(path.suffix in (".bin", ".safetensors") for path in place.iterdir()):
        save_weights(read_tensors(weights_in(place)), output / "model.safetensors", output.parent / "config.json")
