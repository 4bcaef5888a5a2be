"""A new document network in a folder of its own: a pretrained encoder, and an aggregator that is still random."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.models.description import FILE, describe, lineage_of
from longrank.networks.checks import check_weights, read_json
from longrank.networks.loading import loading
from longrank.networks.model_files import Model
from longrank.networks.padding import check_network
from longrank.networks.pretrained import Pretrained, load_next_sentence, load_pretrained, load_sequence_classifier
from longrank.types import Notes

_HEADS = {"ForSequenceClassification": load_sequence_classifier, "ForNextSentencePrediction": load_next_sentence}


def create_folder(
    name: str,
    model: Model,
    folder: Path,
    notes: Notes,
    *,
    options: Mapping[str, Any],
    preset: str | None = None,
    seed: int = 0,
    layers: int | None = None,
) -> None:
    """Write a document network that begins with the weights of a pretrained model; marked as untrained.

    Args:
        name: a key of `longrank.models.DOCUMENT_NETWORKS`.
        model: an encoder, a bi-encoder or a cross-encoder; networks of passage scores keep a cross-encoder's head. Or
            another document network, whose encoder is taken.
        folder: where it goes.
        notes: says what is taken of the model that one would not expect.
        options: of the network.
        preset: a key of `longrank.models.PRESETS`.
        seed: of the new weights.
        layers: how many of the encoder's are kept, see `longrank.models.layers`; None: all. Of a network of the same
            name the aggregator is kept, too: it begins as a student.

    Raises:
        InputError: no such network, option or preset; a model that cannot be read, or lacks what the network reads, or
            whose layers cannot be left out; or a folder that holds something else, or a network that has been trained.
        MissingExtra: torch or transformers are not installed.
    """
    if (folder / FILE).is_file() and not describe(folder)["untrained"]:
        raise InputError("holds a trained network, which would be lost", path=folder, fix="choose a new folder")
    if layers is not None and (model.path / FILE).is_file() and describe(model.path)["network"] == name:
        if options or preset is not None:
            raise InputError("a student has its teacher's options", got=preset or next(iter(options)), fix="give none")
        network, tokenizer = _student(model, layers)
    else:
        network, tokenizer = new_network(name, model, notes, options=options, preset=preset, seed=seed, layers=layers)
    with loading(model):
        from longrank.models.folders import save_network
    save_network(folder, network, tokenizer, lineage=lineage_of(model.path))


def new_network(
    name: str,
    model: Model,
    notes: Notes,
    *,
    options: Mapping[str, Any],
    preset: str | None = None,
    seed: int = 0,
    layers: int | None = None,
) -> tuple[Any, Any]:
    """Return a document network that begins with the weights of a pretrained model, and the tokenizer.

    Args and Raises: as `create_folder`, without the folder.
    """
    with loading(model):
        from longrank.models.create import create_network
        from longrank.models.layers import keep_layers

        pretrained, tokenizer, missing = _pretrained(model, notes)
        if layers is not None:
            keep_layers(pretrained, layers)
        network = create_network(name, pretrained, options, tokenizer=tokenizer, preset=preset, seed=seed)
    random = {id(values) for key, values in pretrained.named_parameters() if key in missing}
    lost = [key for key, values in network.named_parameters() if id(values) in random]
    check_weights(model.path, network, tokenizer, lost)
    check_network(model, network, tokenizer)
    return network, tokenizer


def _student(model: Model, layers: int) -> tuple[Any, Any]:
    """Return a document network with some of its encoder's layers and its aggregator, and the tokenizer."""
    with loading(model):
        from longrank.models.folders import load_network
        from longrank.models.layers import keep_layers

        network, tokenizer, _ = load_network(model.path)
        if network.all_layers:
            raise InputError(
                f"{network.name} reads every layer of its encoder, so its aggregator fits no other number of them",
                path=model.path,
                fix="first make vanilla-bert of it with --layers, then this network on that",
            )
        keep_layers(network.pretrained, layers)
    return network, tokenizer


def _pretrained(model: Model, notes: Notes) -> Pretrained:
    """Return what a network can be built on: a model of transformers, or that inside another document network."""
    if (model.path / FILE).is_file():
        from longrank.models.folders import load_network

        network, tokenizer, _ = load_network(model.path)
        what = "classifier" if network.from_classifier else "encoder"
        notes.say(f"of the document network '{model.name}' ({network.name}) only the {what} is taken")
        return Pretrained(network.pretrained, tokenizer, [])
    architectures = read_json(model.network / "config.json").get("architectures") or []
    for head, load in _HEADS.items():
        if any(str(one).endswith(head) for one in architectures):
            return load(model, notes)
    return load_pretrained(model, "AutoModel")
