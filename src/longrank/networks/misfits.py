"""Explain why a model's configuration does not fit its weights, where transformers only says that it does not."""

from __future__ import annotations

import re
from pathlib import Path

from longrank.errors import InputError
from longrank.networks.checks import read_json, tensor_shapes

_DIMENSIONS = (  # key of config.json; the end of a tensor's name; its dimension
    ("vocab_size", "word_embeddings.weight", 0),
    ("vocab_size", "tok_embeddings.weight", 0),
    ("vocab_size", "embed_tokens.weight", 0),
    ("embedding_size", "word_embeddings.weight", 1),
    ("hidden_size", "LayerNorm.weight", 0),
    ("hidden_size", "attention.self.query.weight", 0),
    ("hidden_size", "embed_tokens.weight", 1),
    ("dim", "word_embeddings.weight", 1),
    ("hidden_dim", "ffn.lin1.weight", 0),
    ("intermediate_size", "intermediate.dense.weight", 0),
    ("max_position_embeddings", "position_embeddings.weight", 0),
    ("type_vocab_size", "token_type_embeddings.weight", 0),
)
_INVALID = re.compile(r"Validation error for field '(\w+)'")


def misfit(folder: Path, error: Exception) -> InputError | None:
    """Return an error that names the key of config.json at fault; None if `error` is about something else.

    Args:
        folder: of the network.
        error: raised by transformers while it loaded the folder.
    """
    config = folder / "config.json"
    if invalid := _INVALID.search(str(error)):
        return InputError(f"'{invalid[1]}' has a wrong value", path=config, got=read_json(config).get(invalid[1]))
    if "ignore_mismatched_sizes" not in str(error):
        return None
    values = read_json(config)
    shapes = {name: shape for path in folder.glob("*.safetensors") for name, shape in tensor_shapes(path).items()}
    for key, end, dimension in _DIMENSIONS:
        sizes = {shape[dimension] for name, shape in shapes.items() if name.endswith(end) and len(shape) > dimension}
        if key in values and sizes and values[key] not in sizes:
            return InputError(
                f"'{key}' does not fit the weights, which have {min(sizes)}", path=config, got=values[key]
            )
    return InputError("does not fit the shapes of the weights", path=config, fix="fetch or copy the folder again")
