"""Write PARADE networks of the released TensorFlow code (canjiali/PARADE) as document networks.

bert/... or electra/...                encoder; of BERT the pooled vector is read, of ELECTRA [CLS]
parade_transformer/layer_0, layer_1    PARADE-Transformer's layers; its [CLS] is the embedding of the token clsid_tf
passage_position_embedding             its positions, if the network has them
cls_weight                             PARADE-Attn's vector
output_weights, output_bias            two outputs
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import transformers

from longrank.errors import InputError
from longrank.models.create import create_network
from longrank.models.folders import load_network, save_network
from longrank.networks.conversion.heads import AGGREGATOR
from longrank.networks.conversion.sources import Source
from longrank.networks.conversion.writing import Checkpoint, Written, model_card, naming, read_tokenizer
from longrank.networks.model_card import CARD
from longrank.storage.folders import atomic_folder

_SEP = 102  # the released code's default for clsid_tf, the uncased vocabulary's [SEP]
_LAYERS = {
    "self_attn.out_proj": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
    "norm2": "output.LayerNorm",
}
"""Module of torch's layer -> module of BERT's."""


def write_network(source: Source, checkpoint: Checkpoint, folder: Path) -> Written:
    """Write a document network whose every parameter comes from the checkpoint.

    Args:
        source: the checkpoint's files.
        checkpoint: with tensors of `AGGREGATOR`.
        folder: the new folder.

    Raises:
        InputError: tensors are missing, have another shape or no place in the network.
    """
    config, tensors = checkpoint.config, dict(checkpoint.tensors)
    aggregator = {name.removeprefix(AGGREGATOR): tensors.pop(name) for name in list(tensors) if AGGREGATOR in name}
    name = "parade-attn" if "cls_weight" in aggregator else "parade-transformer"
    positions = aggregator.get("passage_position_embedding")
    bert = config.model_type != "electra"
    head = {
        part: _taken(tensors, f"classifier.{'' if bert else 'out_proj.'}{part}", source) for part in ("weight", "bias")
    }
    options = {"vector": "pooled" if bert else "cls", "outputs": len(head["bias"]), "dropout": 0.1}
    if name == "parade-transformer":
        own = 0 if positions is None else len(positions) - 1
        options |= {"activation": "gelu", "start": "sep", "positions": own}
    network = create_network(name, transformers.AutoModel.from_config(config, dtype=torch.float32), options)
    prefix = "bert." if bert else "electra."
    state = {f"encoder.{key.removeprefix(prefix)}": each for key, each in tensors.items() if key.startswith(prefix)}
    state |= {f"head.{part}": values for part, values in head.items()}
    state |= _attention(aggregator) if name == "parade-attn" else _transformer(aggregator, state, source)
    _fill(network, state, source)
    written = Written(name, len(checkpoint.tensors), len(checkpoint.tensors))
    with atomic_folder(folder, replace=False) as new:
        save_network(new, network, read_tokenizer(source, config), record={"converted": source.name})
        (new / CARD).write_text(model_card(source, written, checkpoint.names), encoding="utf-8")
        with naming(source):
            load_network(new)
    return written


def _attention(aggregator: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {"attention.weight": aggregator["cls_weight"][None]}


def _transformer(
    aggregator: Mapping[str, torch.Tensor], encoder: Mapping[str, torch.Tensor], source: Source
) -> dict[str, torch.Tensor]:
    """Return the parameters of PARADE-Transformer's aggregator."""
    words = encoder.get("encoder.embeddings.word_embeddings.weight", torch.zeros(0, 0))
    start = int(aggregator.get("clsid_tf", torch.tensor([_SEP]))[0])
    if not start < len(words):
        raise InputError("names a token that the vocabulary lacks (clsid_tf)", path=source.weights[0], got=start)
    state = {"cls": words[start : start + 1].clone()}
    if "passage_position_embedding" in aggregator:
        state["positions.weight"] = aggregator["passage_position_embedding"]
    for number in range(2):
        inner = {key: each for key, each in aggregator.items() if key.startswith(f"layer.{number}.")}
        for part in ("weight", "bias"):
            query, key, value = (
                _taken(inner, f"layer.{number}.attention.self.{role}.{part}", source)
                for role in ("query", "key", "value")
            )
            state[f"layers.{number}.self_attn.in_proj_{part}"] = torch.cat([query, key, value])
            for own, theirs in _LAYERS.items():
                state[f"layers.{number}.{own}.{part}"] = _taken(inner, f"layer.{number}.{theirs}.{part}", source)
    return state


def _taken(tensors: dict[str, torch.Tensor], name: str, source: Source) -> torch.Tensor:
    if name not in tensors:
        raise InputError("lacks a tensor of its PARADE network", path=source.weights[0], got=name)
    return tensors.pop(name)


def _fill(network: Any, state: Mapping[str, torch.Tensor], source: Source) -> None:
    """Set every parameter of the network.

    Raises:
        InputError: a tensor is missing, has no place or has another shape.
    """
    own = network.state_dict()
    for what, names in (
        ("lacks a tensor of", own.keys() - state.keys()),
        ("has a tensor beside", state.keys() - own.keys()),
    ):
        if names:
            raise InputError(f"{what} its PARADE network", path=source.weights[0], got=sorted(names)[0])
    for name, values in state.items():
        if own[name].shape != values.shape:
            what = f"has a tensor of another shape than {list(own[name].shape)}"
            raise InputError(what, path=source.weights[0], got=f"{name} {list(values.shape)}")
    network.load_state_dict(dict(state))
