"""Carry over what a model of sentence-transformers has beside its network: modules, prompts, lengths."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from longrank.networks.checks import modules_of
from longrank.networks.conversion.reading import read_tensors
from longrank.networks.conversion.sources import Source, weights_in
from longrank.networks.model_files import module_folders
from longrank.networks.module_settings import own_settings
from longrank.networks.weights_file import save_weights
from longrank.small_files import CONFIG, read_small
from longrank.types import Notes

_CARRIED = {
    "encoder": ("Transformer", "Pooling", "Dense", "LayerNorm", "Dropout", "Normalize"),
    "decoder": ("Transformer", "LogitScore"),
}
"""Head -> modules of a bi-encoder, of a decoder reranker."""


def carried_files(source: Source) -> list[Path]:
    """Return the files that `carry_modules` reads; a module's weights are among them."""
    folder, files = carried_from(source), [path for _, path in _settings_of(source)]
    if folder is not None:
        files.append(folder / "modules.json")
        for place in _module_places(folder, _carried_network(source)):
            files += [*_settings_in(place), *_weights_of(place)]
    return files


def carried_from(source: Source) -> Path | None:
    """Return the folder of the sentence-transformers model whose modules are carried over; None: there is none."""
    network = _carried_network(source)
    if not source.base and network != source.weights[0].parent:
        return None  # a configuration of another model
    return _model_of(network)


def _carried_network(source: Source) -> Path:
    """Return the folder of the network that the modules follow: of an adapter without modules, its base's."""
    own = source.weights[0].parent
    return own if source.base and _model_of(own) is not None else source.config.parent


def _model_of(network: Path) -> Path | None:
    """Return the folder of the sentence-transformers model that a network belongs to; None: there is none."""
    places = ((each, modules_of(each)) for each in (network, network.parent))
    return next((folder for folder, modules in places if network in [place for _, place in modules]), None)


def _module_places(folder: Path, network: Path) -> list[Path]:
    """Return the folders of the modules to carry over, the network's not included."""
    known = {kind for kinds in _CARRIED.values() for kind in kinds}
    if not {kind for kind, _ in modules_of(folder)} <= known:
        return []
    return [place for place in module_folders(folder) if place != network]


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
    network, folder = _carried_network(source), carried_from(source)
    for name, path in _settings_of(source):
        shutil.copyfile(path, output / name)
    if folder is None:
        if network != source.weights[0].parent and (network / "modules.json").is_file():
            notes.say("the network alone is converted: the modules of its base model stay behind")
        return
    kinds = [kind for kind, _ in modules_of(folder)]
    if kinds == ["Transformer"]:
        return
    if lost := [kind for kind in kinds if kind not in ("Transformer", *_CARRIED.get(head, ()))]:
        notes.say(f"the network alone is converted (head {head}): the module {lost[0]} stays behind")
        return
    for place in _module_places(folder, network):
        _carry(place, output / place.relative_to(folder))
    entries = json.loads(read_small(folder / "modules.json", CONFIG, "a model's settings"))
    for entry in entries:
        if folder / entry["path"] == network:
            entry["path"] = ""  # older models have their network in a folder of its own
    (output / "modules.json").write_text(json.dumps(entries, indent=2), encoding="utf-8")


def _settings_of(source: Source) -> list[tuple[str, Path]]:
    """Return the files of prompts and lengths under their names of today; an adapter's own come after its base's."""
    network, own = _carried_network(source), source.weights[0].parent
    if not source.base and network != own:
        return []  # a configuration of another model
    top, module = "config_sentence_transformers.json", "sentence_bert_config.json"
    folders = dict.fromkeys(((carried_from(source) or network, network), (own, own)))
    files = (pair for model, place in folders for pair in ((top, model / top), (module, own_settings(place)[0])))
    return [(name, path) for name, path in files if path.is_file()]


def _settings_in(place: Path) -> list[Path]:
    return [path for path in place.iterdir() if path.suffix in (".json", ".txt")]


def _weights_of(place: Path) -> tuple[Path, ...]:
    """Return the files with the weights of a module; it may have none."""
    return weights_in(place) if any(path.suffix in (".bin", ".safetensors") for path in place.iterdir()) else ()


def _carry(place: Path, output: Path) -> None:
    output.mkdir(parents=True)
    for path in _settings_in(place):
        shutil.copyfile(path, output / path.name)
    if weights := _weights_of(place):
        save_weights(read_tensors(weights), output / "model.safetensors", output.parent / "config.json")
