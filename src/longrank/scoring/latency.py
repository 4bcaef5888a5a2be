"""Cost of a document network by the size of its encoder: parameters, operations and time per document.

The encoders are BERT in the sizes of Turc et al. (2019), which PARADE's efficiency study (Table 7) compares. Weights
and tokens are random, which does not change the cost; tokenisation, 1 to 2% of the time, is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longrank.errors import InputError
from longrank.networks.acceleration import accelerate, check_dtype
from longrank.networks.feeding import DEFAULT_BATCH_TOKENS
from longrank.networks.loading import choose_device
from longrank.networks.parallel import side_by_side
from longrank.scoring.speed import count_operations, median_seconds

if TYPE_CHECKING:
    import torch

SIZES = {
    "large": (24, 1024),
    "base": (12, 768),
    "10/768": (10, 768),
    "8/768": (8, 768),
    "medium": (8, 512),
    "small": (4, 512),
    "mini": (4, 256),
    "2/512": (2, 512),
    "tiny": (2, 128),
}
"""Layers and hidden size of the encoders of PARADE's Table 7; heads are hidden / 64, feed-forward layers 4 x hidden."""

_VOCABULARY = 30522  # BERT's
_QUERY_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Latency:
    """Cost of a network with an encoder of one size.

    Attributes:
        size: a key of `SIZES`.
        layers: layers of the encoder.
        hidden: H.
        parameters: parameters of encoder and aggregator.
        gflops: 1e9 multiplications and additions per document.
        milliseconds: time per document, the median of the rounds.
    """

    size: str
    layers: int
    hidden: int
    parameters: int
    gflops: float
    milliseconds: float


def latencies(
    network: str,
    sizes: Sequence[str],
    *,
    passages: int = 16,
    tokens: int = 256,
    dtype: str = "float32",
    device: str = "auto",
    seconds: float = 5,
) -> Iterator[Latency]:
    """Measure a document network with encoders of several sizes, one after the other.

    Args:
        network: a key of `longrank.models.DOCUMENT_NETWORKS`.
        sizes: keys of `SIZES`.
        passages: P, passages of each document.
        tokens: L, tokens of each passage, with query and special tokens.
        dtype: one of `longrank.networks.acceleration.DTYPES`.
        device: a torch device, or ``auto``.
        seconds: time for each size; at least three rounds.

    Raises:
        InputError: an unknown network, size or dtype.
        MissingExtra: torch or transformers are not installed.
    """
    device = choose_device(device)
    check_dtype(dtype, device)
    for size in sizes:
        if size not in SIZES:
            raise InputError("unknown encoder size", got=size, fix=f"one of {', '.join(SIZES)}")
    for size in sizes:
        yield _measured(network, size, passages, tokens, dtype, device, seconds)


def _measured(  # noqa: PLR0917 - all that varies between rows
    name: str, size: str, passages: int, tokens: int, dtype: str, device: str, seconds: float
) -> Latency:
    from longrank.models.create import create_network, options_of

    layers, hidden = SIZES[size]
    options = {"positions": passages} if "positions" in options_of(name) else {}
    network = create_network(name, _encoder(layers, hidden, tokens), options).to(device).eval()
    parameters = sum(values.numel() for values in network.parameters())
    accelerate(network.encoder, dtype=dtype, first_only=network.first_only)
    document = _batches(passages, tokens, device)

    def read() -> None:
        import torch

        rows = torch.cat(list(side_by_side(network.encode, document, device)))
        with torch.inference_mode():
            network.aggregate(rows[None], torch.ones(1, len(rows), dtype=torch.bool, device=device)).item()

    gflops = count_operations(read) / 1e9
    return Latency(size, layers, hidden, parameters, gflops, 1e3 * median_seconds(read, seconds))


def _encoder(layers: int, hidden: int, tokens: int) -> Any:
    from transformers import AutoModel, BertConfig

    config = BertConfig(
        vocab_size=_VOCABULARY,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=max(1, hidden // 64),
        intermediate_size=4 * hidden,
        max_position_embeddings=max(512, tokens),
    )
    return AutoModel.from_config(config)


def _batches(passages: int, tokens: int, device: str) -> list[dict[str, torch.Tensor]]:
    """Return a document's passages as batches of about `DEFAULT_BATCH_TOKENS`."""
    import torch

    drawn = torch.Generator().manual_seed(7)
    ids = torch.randint(1000, _VOCABULARY, (passages, tokens), generator=drawn).to(device)
    of_query = (torch.arange(tokens, device=device) < min(_QUERY_TOKENS, tokens // 2)).expand_as(ids)
    features = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "token_type_ids": torch.zeros_like(ids),
        "query_mask": of_query,
        "passage_mask": ~of_query,
    }
    at_once = max(1, DEFAULT_BATCH_TOKENS // tokens)
    return [
        {name: values[start : start + at_once] for name, values in features.items()}
        for start in range(0, passages, at_once)
    ]
