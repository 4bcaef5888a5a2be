"""Make a loaded network fast on its device, with the same results.

On a CPU, encoders of the BERT family compute without padding (`unpadded`), and oneDNN computes the dense layers of all
others (`dense`). Accelerators keep Hugging Face's forward pass. ``bf16`` halves the encoder's weights and activations
(8 bits of precision instead of 24); the encoder's output and the head stay float32, so that scores keep their
precision. Other backends than PyTorch may compute the encoder (`backends`); ``int8`` rounds weights and activations to
a few hundred levels, calibrated on the user's text (`backends.quantized`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from longrank.errors import InputError
from longrank.networks.backends.exported import exported_folder
from longrank.networks.backends.forward import Exported, load_graph
from longrank.networks.backends.quantized import quantized_folder
from longrank.networks.dense import use_onednn
from longrank.networks.model_files import Model, check_unchanged
from longrank.networks.unpadded import Unpadded, can_unpad
from longrank.types import Notes

DTYPES = ("float32", "bf16")


def accelerate(encoder: Any, *, dtype: str = "float32", first_only: bool = False) -> None:
    """Replace the forward pass of an encoder by a faster one of PyTorch; it cannot be trained afterwards.

    Args:
        encoder: a transformers model without head (``network.base_model``), float32, on its device.
        dtype: one of `DTYPES`.
        first_only: the head reads only the first token, so the last hidden states of all others are left out.

    Raises:
        InputError: unknown dtype, or this machine has no fast instructions for it.
    """
    check_dtype(dtype, encoder.device.type)
    if dtype == "bf16":
        _to_bf16(encoder)
    if encoder.device.type == "cpu" and can_unpad(encoder):
        encoder.forward = Unpadded(encoder, first_only=first_only)
        return
    use_onednn(encoder)
    if dtype == "bf16":
        encoder.forward = _returning_float32(encoder.forward)


def accelerate_by(
    backend: str, encoder: Any, model: Model, notes: Notes, *, dtype: str = "float32", first_only: bool = False
) -> None:
    """Replace the forward pass of an encoder by that of a backend.

    Args:
        backend: a key of `longrank.networks.backends.BACKENDS`, checked before by `check_backend`.
        encoder: see `accelerate`.
        model: the encoder's files.
        notes: names the graph that was exported.
        dtype: a dtype of the backend.
        first_only: see `accelerate`; other backends compute all tokens.

    Raises:
        InputError: as `accelerate`; or the encoder cannot be exported, or the model is not quantised, for int8.
        IntegrityError: the quantised model is damaged.
    """
    if backend == "torch":
        accelerate(encoder, dtype=dtype, first_only=first_only)
        return
    if dtype != "int8":
        check_dtype(dtype, encoder.device.type)
    folder = quantized_folder(model) if dtype == "int8" else exported_folder(encoder, model, backend, notes)
    encoder.forward = Exported(encoder, load_graph(backend, folder, bf16=dtype == "bf16"))
    if dtype == "int8":
        check_unchanged(model)  # the graph lies beside the other weights, which were read before


def computed_by(dtype: str, backend: str) -> str:
    """Return dtype and backend for a fingerprint; for int8 also the precision of the layers that are not quantised.

    That precision is float32 on every CPU. In bf16, OpenVINO 2026 computes int8 graphs wrongly for texts of up to 32
    tokens (cosines of .77 to the same graph in float32).
    """
    if backend == "torch":
        return f"dtype={dtype}"
    return f"dtype={dtype} backend={backend}" + (" precision=float32" if dtype == "int8" else "")


def check_dtype(dtype: str, device: str) -> None:
    """Refuse an unknown dtype, and a dtype that the device has no instructions for.

    Raises:
        InputError: the dtype is refused.
    """
    if dtype not in DTYPES:
        raise InputError(f"dtype must be one of {', '.join(DTYPES)}", got=dtype)
    if dtype == "bf16" and not multiplies_bf16(device):
        raise InputError(
            "this machine has no instructions for products in bf16, so bf16 would be slower than float32",
            got=f"dtype={dtype}, device={device}",
            fix="use float32",
        )


def multiplies_bf16(device: str) -> bool:
    """Tell whether a kind of device (``cpu``, ``cuda``) has instructions for products in bf16."""
    import torch

    if device == "cpu":
        instructions = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
        return bool(instructions and torch.ops.mkldnn._is_mkldnn_bf16_supported())  # ONEDNN_MAX_CPU_ISA may forbid them
    return device == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)


def to_bf16(network: Any) -> None:
    """Round the weights of a network to bf16; its other tensors (rotary frequencies) stay as they are."""
    import torch

    for weights in network.parameters():
        weights.data = weights.data.to(torch.bfloat16)


def _to_bf16(encoder: Any) -> None:
    for name, part in encoder.named_children():
        if name == "pooler":  # reads one token: no time to gain, only precision to lose
            part.register_forward_pre_hook(lambda _, inputs: tuple(values.float() for values in inputs))
        else:
            to_bf16(part)


def _returning_float32(forward: Callable[..., Any]) -> Callable[..., Any]:
    def rounded_inside(*args: Any, **named: Any) -> Any:
        outputs = forward(*args, **named)
        for name, value in outputs.items():
            outputs[name] = _as_float32(value)
        return outputs

    return rounded_inside


def _as_float32(value: Any) -> Any:
    """Return a tensor of fractions, or a tuple of them (the hidden states of all layers), in float32."""
    if isinstance(value, tuple):
        return tuple(map(_as_float32, value))
    return value.float() if hasattr(value, "is_floating_point") and value.is_floating_point() else value
