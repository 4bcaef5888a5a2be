"""From settings and data to a ranking task: models are found, checked against the settings, and loaded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longrank.errors import InputError, shown
from longrank.models.create import checked_options, options_of, preset_options
from longrank.models.description import FILE, describe, lineage_of
from longrank.models.folders import load_network
from longrank.models.network import DocumentNetwork
from longrank.models.network_reader import NetworkReader, query_limit
from longrank.models.new import new_network
from longrank.networks.feeding import DEFAULT_BATCH_TOKENS
from longrank.networks.loading import choose_max_tokens, position_limit
from longrank.networks.model_files import Model, find_model
from longrank.protocols import Segmenter
from longrank.text.segment import make_segmenter
from longrank.training.dropout import set_dropout
from longrank.training.ranking_data import Data, Material
from longrank.training.ranking_task import RankingTask
from longrank.training.ranks import Ranks
from longrank.training.settings import DocumentTraining, NetworkSettings
from longrank.training.teacher import check_outputs
from longrank.types import Notes


def open_task(settings: DocumentTraining, data: Data, material: Material, notes: Notes) -> RankingTask:
    """Load the network of a training and make it a task.

    Args:
        settings: the whole training.
        data: queries, judgments and documents.
        material: the samples and the teacher's scores.
        notes: counts dropped queries, cut texts and the like.

    Raises:
        InputError: a name is unknown, a setting does not fit, or a model cannot be read.
        MissingExtra: torch or transformers are not installed.
    """
    model = find_model(settings.network.model)
    network, tokenizer = _network(settings, model, notes)
    network.to(Ranks().device)  # before what feeds it asks where it is
    check_outputs(settings, 2 if network.unit == "logprob" else 1)
    reader = _reader(settings, model, network, tokenizer)
    segmenter = make_segmenter(settings.read.passages, settings.read.options, reader.offset_tokenizer)
    _check_passages(network, segmenter)
    notes.merge(material.notes)
    depth = settings.validation.depth
    for query_id in data.dev if settings.loop.validate_every is not None else ():
        relevant = any(data.qrels[query_id].get(row.doc_id, 0) > 0 for row in data.run.get(query_id)[:depth])
        what = f"dev queries without a relevant document among the first {depth}, which choose nothing"
        notes.add(what, query_id, not relevant)
    for query_id in (*data.train, *data.dev):
        cut = query_id in data.queries and reader.packer.cuts_query(data.queries[query_id].text)
        notes.add(f"queries cut at {reader.packer.max_query_tokens} tokens", query_id, cut)
    return RankingTask(
        reader,
        tokenizer,
        segmenter,
        material=material,
        data=data,
        settings=settings,
        fingerprint=model.fingerprint,
        lineage=lineage_of(model.path),
        notes=notes,
    )


def _reader(settings: DocumentTraining, model: Model, network: Any, tokenizer: Any) -> NetworkReader:
    """Return what reads as the settings say.

    Raises:
        InputError: they ask for more tokens than are read.
    """
    limits = tokenizer.model_max_length, position_limit(network.encoder)
    reader = NetworkReader(
        network,
        tokenizer,
        max_tokens=choose_max_tokens(model, settings.read.max_tokens, *limits),
        max_query_tokens=query_limit(network, settings.read.max_query_tokens),
        batch_tokens=DEFAULT_BATCH_TOKENS,
        notes=Notes(),  # it would count cut queries again in each validation; `open_task` counts them once
        path=model.path,
    )
    room = reader.packer.max_query_tokens
    if (settings.read.max_query_tokens or 0) > room:
        wanted = settings.read.max_query_tokens
        raise InputError("read.max_query_tokens leaves no room for a passage", got=wanted, fix=f"at most {room}")
    return reader


def _network(settings: DocumentTraining, model: Model, notes: Notes) -> tuple[Any, Any]:
    """Return the network to train and its tokenizer: the one in a folder, or a new one on a pretrained model."""
    wanted = settings.network
    if (model.path / FILE).is_file():
        _check_same(wanted, describe(model.path), model.path)
        network, tokenizer, _ = load_network(model.path)
    else:
        network, tokenizer = new_network(
            wanted.name, model, notes, options=wanted.options, preset=wanted.preset, seed=settings.loop.seed
        )
    if wanted.dropout is not None:
        set_dropout(network, wanted.dropout)
    if wanted.frozen:
        set_dropout(network.pretrained, 0.0)  # of a classifier, the head's, too: what is read must not change
        _freeze(network)
    return network, tokenizer


def _check_same(wanted: NetworkSettings, found: Mapping[str, Any], path: Path) -> None:
    """Refuse a document network in a folder that is another than the one to be trained.

    Raises:
        InputError: it has another name or other options.
    """
    if found["network"] != wanted.name:
        raise InputError(
            f"is the document network {found['network']}, the training is of {wanted.name}",
            path=path,
            fix=f"longrank create {wanted.name} --model makes one on its encoder",
        )
    options = checked_options(wanted.name, preset_options(wanted.name, wanted.preset) | wanted.options)
    then = {**options_of(wanted.name), **found["options"]}
    for option, value in options.items():
        if then.get(option) != value:
            raise InputError(
                f"is a network whose {option} is {shown(then.get(option))}",
                path=path,
                got=f"network.options.{option} = {value}",
                fix="leave network.options and network.preset out, or as they were",
            )


def _check_passages(network: DocumentNetwork, segmenter: Segmenter) -> None:
    """Refuse passages of which a document may have more than the network reads.

    Raises:
        InputError: it may.
    """
    cap, most = getattr(segmenter, "cap", None), network.max_passages
    if cap is not None and most is not None and not 0 < cap.most <= most:
        raise InputError(
            f"the network {network.name} reads at most {most} passages of a document",
            got=f"max_passages = {cap.most}" if cap.most else "no max_passages",
            fix=f"set read.options.max_passages = {most}",
        )


def _freeze(network: DocumentNetwork) -> None:
    """Let nothing be trained that the representations of passages depend on.

    Raises:
        InputError: nothing else is there.
    """
    read = {weights.data_ptr() for weights in network.encoded_by()[1].values()}
    for values in network.parameters():
        values.requires_grad = values.data_ptr() not in read and values.requires_grad
    if not any(values.requires_grad for values in network.parameters()):
        raise InputError(f"with a frozen encoder there is nothing to train in {network.name}", got="network.frozen")
