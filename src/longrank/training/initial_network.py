"""Load the document network that a training begins with, and check it against the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from longrank.errors import InputError, shown
from longrank.models.create import checked_options, options_of, preset_options
from longrank.models.folders import load_network
from longrank.models.network import DocumentNetwork
from longrank.models.network_reader import NetworkReader, query_limit
from longrank.models.new import new_network
from longrank.networks.feeding import DEFAULT_BATCH_TOKENS
from longrank.networks.hub import note_unfetched_records
from longrank.networks.loading import choose_max_tokens, loading, position_limit
from longrank.networks.model_files import Model, find_model
from longrank.networks.trainings import DESCRIPTION
from longrank.protocols import Segmenter
from longrank.text.segment import make_segmenter
from longrank.training.dropout import set_dropout
from longrank.training.ranking_data import check_outputs
from longrank.training.ranks import Ranks
from longrank.training.settings import DocumentTraining, NetworkSettings
from longrank.types import Notes


class Initial(NamedTuple):
    """The network that a training begins with, its input, and the weights' origin."""

    reader: NetworkReader
    tokenizer: Any
    segmenter: Segmenter
    fingerprint: str
    lineage: Sequence[Mapping[str, str]]


def open_initial(settings: DocumentTraining, notes: Notes) -> Initial:
    """Load the network that a training begins with.

    Args:
        settings: the whole training.
        notes: describes a new network.

    Raises:
        InputError: a name is unknown, a setting does not fit, or a model cannot be read.
        MissingExtra: torch or transformers are not installed.
    """
    model = find_model(settings.network.model, records=True)
    note_unfetched_records(model.name, model.path, notes)
    network, tokenizer = _network(settings, model, notes)
    network.to(Ranks().device)  # before the reader asks for the device
    check_outputs(settings, 2 if network.unit == "logprob" else 1)
    reader = _reader(settings, model, network, tokenizer)
    read = settings.read
    segmenter = make_segmenter(read.passages, read.options, reader.offset_tokenizer, title=read.title)
    _check_passages(network, segmenter)
    return Initial(reader, tokenizer, segmenter, model.fingerprint, model.lineage)


def _reader(settings: DocumentTraining, model: Model, network: Any, tokenizer: Any) -> NetworkReader:
    """Return the network with its input, cut to the settings' lengths.

    Raises:
        InputError: the network cannot read so many tokens.
    """
    limits = tokenizer.model_max_length, position_limit(network.encoder)
    reader = NetworkReader(
        network,
        tokenizer,
        max_tokens=choose_max_tokens(model, settings.read.max_tokens, *limits),
        max_query_tokens=query_limit(network, settings.read.max_query_tokens),
        batch_tokens=DEFAULT_BATCH_TOKENS,
        notes=Notes(),  # it would count cut queries again in each validation; the task counts them once
        path=model.path,
    )
    room = reader.packer.max_query_tokens
    if (settings.read.max_query_tokens or 0) > room:
        what = "read.max_query_tokens leaves no room for a passage"
        raise InputError(what, got=settings.read.max_query_tokens, fix=f"at most {room}")
    return reader


def _network(settings: DocumentTraining, model: Model, notes: Notes) -> tuple[Any, Any]:
    """Return the network to train and its tokenizer: from a folder, or new on a pretrained model."""
    options = settings.network
    if (model.path / DESCRIPTION).is_file():
        with loading(model):
            network, tokenizer, _ = load_network(model.path)
        _check_same(options, network, model.path)
    else:
        network, tokenizer = new_network(
            options.name, model, notes, options=options.options, preset=options.preset, seed=settings.loop.seed
        )
    if options.dropout is not None:
        set_dropout(network, options.dropout)
    if options.frozen:
        set_dropout(network.pretrained, 0.0)  # also of a classifier's head: passage vectors must not change
        _freeze(network)
    return network, tokenizer


def _check_same(settings: NetworkSettings, network: DocumentNetwork, path: Path) -> None:
    """Refuse a folder whose document network is not the network of the settings.

    Raises:
        InputError: it has another name or other options.
    """
    if network.name != settings.name:
        raise InputError(
            f"is the document network {network.name}, the training is of {settings.name}",
            path=path,
            fix=f"longrank create {settings.name} --model puts a new network on its encoder",
        )
    options = checked_options(settings.name, preset_options(settings.name, settings.preset) | settings.options)
    defaults = options_of(settings.name)
    then = {**defaults, **network.options}
    for option, value in options.items():
        left_to_model = option in network.found_options and value == defaults[option]
        if then.get(option) != value and not left_to_model:
            raise InputError(
                f"is a network whose {option} is {shown(then.get(option))}",
                path=path,
                got=f"network.options.{option} = {value}",
                fix="leave network.options and network.preset out, or as they were",
            )


def _check_passages(network: DocumentNetwork, segmenter: Segmenter) -> None:
    """Refuse a segmenter that may give more passages than the network reads.

    Raises:
        InputError: such a segmenter.
    """
    cap, most = getattr(segmenter, "cap", None), network.max_passages
    if cap is not None and most is not None and not 0 < cap.most <= most:
        raise InputError(
            f"the network {network.name} reads at most {most} passages of a document",
            got=f"max_passages = {cap.most}" if cap.most else "no max_passages",
            fix=f"set read.options.max_passages = {most}"
            + (", or make the network with more positions" if "positions" in network.options else ""),
        )


def _freeze(network: DocumentNetwork) -> None:
    """Freeze all weights that passage vectors depend on.

    Raises:
        InputError: no other weights are left to train.
    """
    read = {weights.data_ptr() for weights in network.encoded_by()[1].values()}
    for values in network.parameters():
        values.requires_grad = values.data_ptr() not in read and values.requires_grad
    if not any(values.requires_grad for values in network.parameters()):
        raise InputError(f"with a frozen encoder there is nothing to train in {network.name}", got="network.frozen")
