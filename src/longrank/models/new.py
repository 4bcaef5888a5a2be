"""Create document networks: a pretrained encoder and a random aggregator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.models.description import describe
from longrank.networks.checks import check_weights, read_json
from longrank.networks.loading import loading
from longrank.networks.model_files import Model
from longrank.networks.padding import check_network
from longrank.networks.pretrained import Pretrained, load_next_sentence, load_pretrained, load_sequence_classifier
from longrank.networks.trainings import DESCRIPTION
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
    """Write an untrained document network with the encoder of a pretrained model.

    Args:
        name: a key of `longrank.models.DOCUMENT_NETWORKS`.
        model: an encoder, a bi-encoder, a cross-encoder (networks of passage scores keep its head), or another
            document network, whose encoder is used.
        folder: the new folder.
        notes: tells if only a part of the model is used.
        options: options of the network.
        preset: a key of `longrank.models.PRESETS`.
        seed: seed of the new weights.
        layers: number of the encoder's layers to keep, see `longrank.models.layers`; None: all. With a network of the
            same name as `model`, the aggregator is kept, too, and the result is a student.

    Raises:
        InputError: no such network, option or preset; a model that cannot be read, lacks parameters that the network
            needs, or whose layers cannot be removed; or `folder` holds a trained network or something else.
        MissingExtra: torch or transformers are not installed.
    """
    if (folder / DESCRIPTION).is_file() and not describe(folder)["untrained"]:
        raise InputError("holds a trained network, which would be lost", path=folder, fix="choose a new folder")
    if layers is not None and (model.path / DESCRIPTION).is_file() and describe(model.path)["network"] == name:
        if options or preset is not None or seed:
            got = preset or next(iter(options), f"seed {seed}")
            raise InputError("a student has its teacher's aggregator and options", got=got, fix="give none")
        network, tokenizer = _student(model, layers)
    else:
        network, tokenizer = new_network(name, model, notes, options=options, preset=preset, seed=seed, layers=layers)
    with loading(model):
        from longrank.models.folders import save_network
    save_network(folder, network, tokenizer, lineage=model.lineage)


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
    """Return an untrained document network with the encoder of a pretrained model, and the tokenizer.

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
    """Return a document network with fewer encoder layers and the same aggregator, and the tokenizer."""
    with loading(model):
        from longrank.models.folders import load_network
        from longrank.models.layers import keep_layers

        network, tokenizer, _ = load_network(model.path)
        if network.all_layers:
            raise InputError(
                f"{network.name} reads every layer of its encoder, so its aggregator needs all of them",
                path=model.path,
                fix="first create vanilla-bert from it with --layers, then this network from the result",
            )
        keep_layers(network.pretrained, layers)
    return network, tokenizer


def _pretrained(model: Model, notes: Notes) -> Pretrained:
    """Return the transformers model that the network is built on, possibly from another document network."""
    if (model.path / DESCRIPTION).is_file():
        from longrank.models.folders import load_network

        network, tokenizer, _ = load_network(model.path)
        part = "classifier" if network.from_classifier else "encoder"
        notes.say(f"only the {part} of the document network '{model.name}' ({network.name}) is used")
        return Pretrained(network.pretrained, tokenizer, [])
    architectures = read_json(model.network / "config.json").get("architectures") or []
    for head, load in _HEADS.items():
        if any(str(name).endswith(head) for name in architectures):
            return load(model, notes)
    return load_pretrained(model, "AutoModel")
