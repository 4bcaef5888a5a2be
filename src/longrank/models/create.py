"""Build document networks by name, with options, presets and seeded random weights."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch

from longrank.errors import InputError
from longrank.models import DOCUMENT_NETWORKS, PRESETS
from longrank.models.description import FORMER_DEFAULTS
from longrank.models.network import DocumentNetwork
from longrank.registries import lookup, suggestion


def create_network(
    name: str,
    model: Any,
    options: Mapping[str, Any] | None = None,
    *,
    tokenizer: Any = None,
    preset: str | None = None,
    seed: int = 0,
) -> DocumentNetwork:
    """Build a document network on a pre-trained model; new weights are random.

    Args:
        name: a key of `DOCUMENT_NETWORKS`.
        model: a transformers model, which becomes a part of the network: its encoder, and in networks of passage
            scores also the head of a sequence classifier.
        options: keyword options of the network.
        tokenizer: the model's; gives the token whose embedding PARADE-Transformer's [CLS] begins as. Without a
            tokenizer the start is random.
        preset: a key of `PRESETS`; `options` override its options.
        seed: seed of the new weights.

    Returns:
        float32, on the model's device, in evaluation mode; ``.train()`` enables dropout.

    Raises:
        InputError: no such network, preset or option, or a value of the wrong type or out of range.
    """
    kind: type[DocumentNetwork] = lookup(DOCUMENT_NETWORKS, name, "document network")
    named = {option: options_of(name)[option] for option in FORMER_DEFAULTS.get(name, {})}
    chosen = checked_options(name, named | preset_options(name, preset) | dict(options or {}))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network: DocumentNetwork = kind(model if kind.from_classifier else model.base_model, **chosen)
    network.name, network.options = name, {**chosen, **network.found_options}
    if tokenizer is not None:
        network.begin(tokenizer)
    network.float().to(model.device)
    network.eval()
    return network


def options_of(name: str) -> dict[str, Any]:
    """Return the options of a document network and their defaults.

    Raises:
        InputError: no such network.
    """
    kind: type[DocumentNetwork] = lookup(DOCUMENT_NETWORKS, name, "document network")
    options: dict[str, Any] = {}
    for ancestor in kind.__mro__:  # a subclass passes other options on, and may have other defaults
        if ancestor is DocumentNetwork:
            break
        for parameter in inspect.signature(ancestor).parameters.values():
            if parameter.kind is parameter.KEYWORD_ONLY:
                options.setdefault(parameter.name, parameter.default)
    return options


def checked_options(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Check options; whole numbers become floats where the default is a float.

    Raises:
        InputError: no such network or option, or a value of another type than the default's.
    """
    known, checked = options_of(name), {}
    for option, value in options.items():
        if option not in known:
            raise InputError(f"the network {name} has no option", got=option, fix=suggestion(option, known))
        kind = type(known[option])
        if kind is float and type(value) is int:
            value = float(value)  # noqa: PLW2901 - as TOML writes 0
        if type(value) is not kind:
            raise InputError(f"{option} must be of the type {kind.__name__}", got=value)
        checked[option] = value
    return checked


def preset_options(name: str, preset: str | None) -> dict[str, Any]:
    """Return the options of a preset for a network; none without a preset.

    Raises:
        InputError: no such preset, or it does not have this network.
    """
    if preset is None:
        return {}
    networks: Mapping[str, Mapping[str, Any]] = lookup(PRESETS, preset, "preset")
    if name not in networks:
        raise InputError(f"the preset '{preset}' has no network", got=name, fix=f"it has {', '.join(sorted(networks))}")
    return dict(networks[name])
