"""Networks whose output changes with the padding beside a text would score by chance of the batch: refused.

XLNet reads its summary off the last position, padding or not; ConvBERT's convolutions and FNet's Fourier
transforms run over padding as over text. Hugging Face's own scores of such models change with the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from longrank.errors import InputError
from longrank.networks.model_files import Model

if TYPE_CHECKING:
    import torch

_PADDING = 8  # tokens
_PAIR = ("a", "b")
_EQUAL = 1e-6  # of the size of a vector
_NOISE, _NOISE_BF16 = 1e-3, 5e-2  # of the output's size; float32 gives 1e-6, bf16 up to 1e-2


def check_network(model: Model, network: Any, tokenizer: Any) -> None:
    """Check what a document network reads of each passage: a classifier's output, or an encoder's first vector.

    Args:
        model: where it comes from, for the message.
        network: a document network.
        tokenizer: its tokenizer.

    Raises:
        InputError: as `check_padding`; or the first vector does not depend on the text, as in decoders, where the first
            token sees nothing else.
    """
    if network.from_classifier:
        check_padding(
            model, network.classifier, tokenizer, lambda features: network.classifier(**features).logits, *_PAIR
        )
        return
    import torch

    encoder = network.encoder
    if getattr(encoder.config, "is_encoder_decoder", False):
        fix = "use an encoder"
        raise InputError(
            "reads by an encoder and a decoder, which has no vector of a passage", path=model.path, fix=fix
        )

    def first(features: dict[str, torch.Tensor]) -> torch.Tensor:
        vector: torch.Tensor = encoder(**features).last_hidden_state[:, 0]
        return vector

    check_padding(model, encoder, tokenizer, first, *_PAIR)
    features = [tokenizer(*texts, return_tensors="pt").to(encoder.device) for texts in (_PAIR, ("b a", "b a b"))]
    with torch.inference_mode():
        one, other = (first(dict(inputs)) for inputs in features)
    if (one - other).abs().max() <= _EQUAL * one.abs().max():
        raise InputError(
            "the encoder's first vector is the same whatever the text, as that of a decoder is",
            path=model.path,
            fix="use an encoder whose tokens see each other",
        )


def check_padding(
    model: Model, network: Any, tokenizer: Any, forward: Callable[[dict[str, torch.Tensor]], torch.Tensor], *texts: str
) -> None:
    """Read one short input without padding and with it.

    Args:
        model: where the network comes from, for the message.
        network: float32 or bf16, on its device.
        tokenizer: a transformers tokenizer.
        forward: what the network makes of its input, any tensor.
        texts: one text, or a pair.

    Raises:
        InputError: the two outputs differ by more than noise.
    """
    import torch

    if getattr(network.config, "attention_type", None) == "block_sparse":
        raise InputError(
            "block-sparse attention, which transformers replaces by full attention at the first short text",
            path=model.path,
            fix='set "attention_type": "original_full" in config.json',
        )
    alone = {name: row.to(network.device) for name, row in tokenizer(*texts, return_tensors="pt").items()}
    fill = {"input_ids": int(tokenizer.pad_token_id or 0)}
    padded = {name: torch.nn.functional.pad(row, (0, _PADDING), value=fill.get(name, 0)) for name, row in alone.items()}
    with torch.inference_mode():
        one, other = forward(alone), forward(padded)
    noise = _NOISE_BF16 if network.dtype == torch.bfloat16 else _NOISE
    if (one - other).abs().max() > noise * one.abs().max().clamp(min=1e-3):
        raise InputError(
            "the network's output changes with the padding beside a text, so its scores would depend on the batch",
            path=model.path,
            fix="use a model of another architecture",
        )
