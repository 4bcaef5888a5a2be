"""Refuse networks whose output depends on the padding of a batch.

XLNet reads its summary at the last position, padding or not; ConvBERT's convolutions and FNet's Fourier transforms
include padding. Hugging Face's own scores of such models change with the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from longrank.errors import InputError
from longrank.networks.inference import inference
from longrank.networks.model_files import Model

if TYPE_CHECKING:
    import torch

_PADDING = 8  # tokens
_PAIR = ("a", "b")
_EQUAL = 1e-6  # of the size of a vector
_NOISE, _NOISE_BF16 = 1e-3, 5e-2  # of the output's size; float32 gives 1e-6, bf16 up to 1e-2


def check_network(model: Model, network: Any, tokenizer: Any) -> None:
    """Check the output that a document network reads: a classifier's logits, or an encoder's first vector.

    Args:
        model: the network's files, for messages.
        network: a document network.
        tokenizer: its tokenizer.

    Raises:
        InputError: as `check_padding`; or the first vector does not depend on the text, as in decoders.
    """
    if network.from_classifier:
        check_padding(
            model, network.classifier, tokenizer, lambda features: network.classifier(**features).logits, *_PAIR
        )
        return
    encoder = network.encoder
    if getattr(encoder.config, "is_encoder_decoder", False):
        fix = "use an encoder"
        raise InputError("is an encoder with a decoder, which has no vector of a passage", path=model.path, fix=fix)

    def first(features: dict[str, torch.Tensor]) -> torch.Tensor:
        vector: torch.Tensor = encoder(**features).last_hidden_state[:, 0]
        return vector

    check_padding(model, encoder, tokenizer, first, *_PAIR)
    features = [tokenizer(*texts, return_tensors="pt").to(encoder.device) for texts in (_PAIR, ("b a", "b a b"))]
    with inference(str(encoder.device)):
        short, long = (first(dict(inputs)) for inputs in features)
    if (short - long).abs().max() <= _EQUAL * short.abs().max():
        raise InputError(
            "the encoder's first vector does not depend on the text, as in a decoder",
            path=model.path,
            fix="use an encoder whose tokens see each other",
        )


def check_padding(
    model: Model, network: Any, tokenizer: Any, forward: Callable[[dict[str, torch.Tensor]], torch.Tensor], *texts: str
) -> None:
    """Compare the outputs of a short input with and without padding.

    Args:
        model: the network's files, for messages.
        network: float32 or bf16, on its device.
        tokenizer: a transformers tokenizer.
        forward: function from the network's inputs to a tensor.
        texts: one text, or a pair.

    Raises:
        InputError: the two outputs differ by more than noise.
    """
    import torch

    if getattr(network.config, "attention_type", None) == "block_sparse":
        raise InputError(
            "has block-sparse attention, which transformers replaces by full attention at the first short text",
            path=model.path,
            fix='set "attention_type": "original_full" in config.json',
        )
    alone = {name: row.to(network.device) for name, row in tokenizer(*texts, return_tensors="pt").items()}
    fill = {"input_ids": int(tokenizer.pad_token_id or 0)}
    padded = {name: torch.nn.functional.pad(row, (0, _PADDING), value=fill.get(name, 0)) for name, row in alone.items()}
    with inference(str(network.device)):
        expected, output = forward(alone), forward(padded)
    noise = _NOISE_BF16 if network.dtype == torch.bfloat16 else _NOISE
    if (expected - output).abs().max() > noise * expected.abs().max().clamp(min=1e-3):
        raise InputError(
            "the network's output changes with the padding beside a text, so its scores would depend on the batch",
            path=model.path,
            fix="use a model of another architecture",
        )
