"""Tensors of TensorFlow 1 checkpoints, as Google's BERT and ELECTRA code writes them: dl4marco-bert, PARADE.

    bert/encoder/layer_0/attention/self/query/kernel    bert.encoder.layer.0.attention.self.query.weight, transposed
    bert/embeddings/LayerNorm/gamma                     bert.embeddings.LayerNorm.weight
    output_weights, output_bias                         classifier.weight, .bias; of ELECTRA classifier.out_proj
    parade_transformer/layer_0/..., cls_weight, ...     aggregator.layer.0..., aggregator.cls_weight: PARADE networks

A checkpoint is read by the package tensorflow, if it is installed: variables only, no graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from longrank.errors import InputError, first_line

_OF_TRAINING = re.compile(
    r"(^|/)(global_step|beta[12]_power|learning_rate|adam_[mv]|Adam(_1)?|AdamWeightDecayOptimizer(_1)?)(/|$)"
)
_HEADS = {"output_weights": "weight", "output_bias": "bias"}
_NEW = {"kernel": "weight", "gamma": "weight", "beta": "bias", "output_bias": "bias"}
_TABLES = ("word_embeddings", "position_embeddings", "token_type_embeddings")
_AGGREGATOR = re.compile(r"(parade_transformer/)|(cls_weight|passage_position_embedding|clsid_tf)(_\d+)?$")


def read_variables(index: Path) -> dict[str, torch.Tensor]:
    """Return the variables of a checkpoint as tensors with the names of transformers.

    Args:
        index: the file ``PREFIX.index`` beside ``PREFIX.data-00000-of-00001``.

    Raises:
        InputError: tensorflow is not installed, or the checkpoint cannot be read.
    """
    try:
        import tensorflow
    except ImportError:
        raise InputError(
            "is a TensorFlow checkpoint, and the package tensorflow is not installed",
            path=index,
            fix="pip install tensorflow-cpu, in an environment of its own if other versions are in the way",
        ) from None
    try:
        reader = tensorflow.train.load_checkpoint(str(index.with_suffix("")))
        kept = [name for name in sorted(reader.get_variable_to_shape_map()) if not _OF_TRAINING.search(name)]
        variables = {name: reader.get_tensor(name) for name in kept}
    except Exception as error:  # tensorflow raises errors of many types
        raise InputError(f"is no TensorFlow checkpoint, or damaged: {first_line(error)}", path=index) from error
    return _named(variables, index)


def variable_name(name: str, electra: bool) -> str:
    """Return the name of transformers for a variable; `electra`: the checkpoint is ELECTRA's.

    >>> variable_name("bert/encoder/layer_11/output/LayerNorm/beta", electra=False)
    'bert.encoder.layer.11.output.LayerNorm.bias'
    """
    if aggregator := _AGGREGATOR.match(name):
        name = f"aggregator/{name[aggregator.end(1) :] if aggregator[1] else aggregator[2]}"
    *scopes, last = re.sub(r"layer_(\d+)", r"layer/\1", name).split("/")
    if last in _HEADS and scopes in ([], ["cls", "seq_relationship"]):
        head = scopes or (["classifier", "out_proj"] if electra else ["classifier"])
        return ".".join([*head, _HEADS[last]])
    if last in _TABLES:
        return ".".join([*scopes, last, "weight"])
    return ".".join([*scopes, _NEW.get(last, last)])


def _named(variables: dict[str, Any], index: Path) -> dict[str, torch.Tensor]:
    scope = _scope(variables)
    electra = any(name.startswith(f"{scope}electra/") for name in variables)
    tensors: dict[str, torch.Tensor] = {}
    for name, values in variables.items():
        short = name.removeprefix(scope)
        if short.startswith(("generator_predictions/", "discriminator_predictions/", "generator/")):
            continue
        tensor = torch.from_numpy(values.copy())
        tensors[variable_name(short, electra)] = tensor.T.contiguous() if short.endswith("kernel") else tensor
    return tensors


def _scope(names: Iterable[str]) -> str:
    """Return the scope around the encoder, such as ``student/`` of a distilled network."""
    inner = (re.match(r"(.*?)(bert|electra)/", name) for name in names)
    return next((match[1] for match in inner if match), "")
