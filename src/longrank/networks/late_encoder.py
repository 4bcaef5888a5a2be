"""The network of a late-interaction model: a vector for each token, from an encoder and linear projections."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from longrank.errors import InputError
from longrank.networks.checks import check_weights, read_json
from longrank.networks.late_settings import LateSettings
from longrank.networks.model_files import Model
from longrank.networks.module_settings import check_texts_and_loading
from longrank.networks.padding import check_padding
from longrank.networks.pretrained import load_pretrained

if TYPE_CHECKING:
    import torch

_LINEAR = "linear.weight"
_ACTIVATIONS = ("Identity", "Tanh", "ReLU", "GELU", "SiLU")
"""Classes of ``torch.nn`` that a projection may end with."""


class LateEncoder(NamedTuple):
    """An encoder in evaluation mode, its tokenizer, and a module that projects its last hidden states."""

    encoder: Any
    tokenizer: Any
    projection: Any


def load_late_encoder(model: Model, settings: LateSettings, device: str) -> LateEncoder:
    """Load encoder and projections in float32.

    Raises:
        InputError: weights that are missing, unknown or damaged, vectors that depend on padding, or settings of
            sentence-transformers that are not followed.
    """
    import torch

    encoder, tokenizer, missing = load_pretrained(model, "AutoModel", apart=(_LINEAR,))  # ColBERT's projection
    lacking = [name for name in missing if "pooler" not in name.split(".")]
    check_weights(model.path, encoder, tokenizer, lacking)
    check_texts_and_loading(model.network, tokenizer)  # `LateSettings` follow the lengths
    check_padding(model, encoder, tokenizer, lambda features: encoder(**features).last_hidden_state[:, 0], "a")
    layers = [_dense(folder) for folder in settings.projections] or [_inline(model)]
    size = encoder.config.hidden_size
    for path, layer in zip(settings.projections or (model.network,), layers, strict=True):
        _check(layer, path, size)
        size = layer.linear.out_features
    projection = torch.nn.Sequential(*layers).eval()
    return LateEncoder(encoder.to(device), tokenizer, projection.to(device))


def _projection(weights: Mapping[str, torch.Tensor], activation: str, path: Path, adds: bool = False) -> Any:
    import torch

    from longrank.networks.projection import Projection

    residual = _linear(weights, "residual", path) if "residual.weight" in weights else None
    return Projection(_linear(weights, "linear", path), getattr(torch.nn, activation)(), residual, adds)


def _linear(weights: Mapping[str, torch.Tensor], name: str, path: Path) -> Any:
    import torch

    weight = weights.get(f"{name}.weight")
    if weight is None or weight.ndim != 2:
        raise InputError(f"holds no matrix {name}.weight of a projection", path=path)
    bias = weights.get(f"{name}.bias")
    layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    layer.load_state_dict({key: values for key, values in (("weight", weight), ("bias", bias)) if values is not None})
    return layer


def _dense(folder: Path) -> Any:
    """Return the layer of a Dense module's folder."""
    from safetensors.torch import load_file

    path = folder / "model.safetensors"
    if not path.is_file():
        raise InputError("holds no model.safetensors of a projection", path=folder)
    config = read_json(folder / "config.json")
    package, _, name = str(config.get("activation_function", "torch.nn.modules.activation.Tanh")).rpartition(".")
    if not package.startswith("torch.nn") or name not in _ACTIVATIONS:
        what = f"has an activation other than {', '.join(_ACTIVATIONS)}"
        raise InputError(what, path=folder / "config.json", got=f"{package}.{name}")
    return _projection(load_file(path), name, path, bool(config.get("use_residual")))


def _inline(model: Model) -> Any:
    """Return the layer of ``linear.weight`` among the encoder's tensors."""
    from safetensors import safe_open

    for path in sorted(model.network.glob("*.safetensors")):
        with safe_open(path, "pt") as tensors:
            if _LINEAR in tensors.keys():  # noqa: SIM118
                return _projection({_LINEAR: tensors.get_tensor(_LINEAR).float()}, "Identity", path)
    raise InputError(
        "the weights lack 1 parameters of the network, which would be random", path=model.path, got=_LINEAR
    )


def _check(layer: Any, path: Path, size: int) -> None:
    if layer.linear.in_features != size:
        raise InputError(f"the projection reads {layer.linear.in_features} values, the encoder gives {size}", path=path)
    if not all(values.isfinite().all() for values in layer.parameters()):
        raise InputError("the model's weights hold a NaN or an infinity", path=path, got="the projection")
