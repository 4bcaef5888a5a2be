"""Forward pass of BERT-like encoders without padding: sequences lie end to end in one matrix.

    [CLS] a b [SEP] [PAD] [PAD]
    [CLS] c d  e  f [SEP]          ->    [CLS] a b [SEP] [CLS] c d e f [SEP]      T x H instead of B x L x H

Embeddings, projections, norms and feed-forward layers work token by token, so they need no change; keys and values are
one product. Attention is computed for each run of sequences of equal length, without a mask. If the head reads only the
first token, the last layer computes only keys and values for all other tokens.

The result is that of Hugging Face's forward pass, up to the last bits of float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from longrank.networks.dense import ACTIVATIONS, dense, rounded_up

if TYPE_CHECKING:
    import torch

    Run = tuple[int, int]  # (tokens of each, number): neighbouring sequences of equal length


_ROWS_AT_ONCE = 1024


class _Names(NamedTuple):
    """Names of the parts of a layer, and of fields of the configuration, in a family of models."""

    layers: str = "encoder.layer"
    query: str = "attention.self.query"
    key: str = "attention.self.key"
    value: str = "attention.self.value"
    output: str = "attention.output.dense"
    output_norm: str = "attention.output.LayerNorm"
    up: str = "intermediate.dense"
    down: str = "output.dense"
    down_norm: str = "output.LayerNorm"
    activation: str = "hidden_act"


_BERT = _Names()
_DISTILBERT = _Names(
    layers="transformer.layer",
    query="attention.q_lin",
    key="attention.k_lin",
    value="attention.v_lin",
    output="attention.out_lin",
    output_norm="sa_layer_norm",
    up="ffn.lin1",
    down="ffn.lin2",
    down_norm="output_layer_norm",
    activation="activation",
)
FAMILIES = {
    "BertModel": _BERT,
    "RobertaModel": _BERT,
    "XLMRobertaModel": _BERT,
    "CamembertModel": _BERT,
    "ElectraModel": _BERT,
    "DistilBertModel": _DISTILBERT,
}
"""Classes of transformers that `Unpadded` supports."""


def can_unpad(encoder: Any) -> bool:
    """Say, by class and configuration, whether `Unpadded` supports the encoder."""
    names, config = FAMILIES.get(type(encoder).__name__), encoder.config
    return (
        names is not None
        and getattr(config, names.activation) in ACTIVATIONS
        and getattr(config, "position_embedding_type", "absolute") == "absolute"
        and not getattr(config, "is_decoder", False)
        and not config.output_hidden_states
    )


class Unpadded:
    """Forward pass of an encoder, with the encoder's inputs and outputs: padded tensors.

    Args:
        encoder: an encoder for which `can_unpad` is true; its query, key and value weights become views of one matrix.
        first_only: compute the last hidden state of each sequence's first token only, [B, 1, H].
    """

    def __init__(self, encoder: Any, *, first_only: bool) -> None:
        names, config = FAMILIES[type(encoder).__name__], encoder.config
        self._first_only = first_only
        # Not the encoder itself: its `forward` is this object, and memory in a cycle of references is freed late.
        self._embeddings, self._pooler = encoder.embeddings, getattr(encoder, "pooler", None)
        self._wider = getattr(encoder, "embeddings_project", None)  # of ELECTRA with narrower embeddings
        self._layers = [
            _Layer(layer, names, config.num_attention_heads, getattr(config, names.activation))
            for layer in encoder.get_submodule(names.layers)
        ]

    def __call__(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
        **others: Any,
    ) -> Any:
        """Return transformers' output of [B, L] ids and mask, in float32; padding is zeros.

        Raises:
            TypeError: an input other than ids, mask and token types.
        """
        from transformers.modeling_outputs import BaseModelOutputWithPooling

        unknown = sorted(name for name, value in others.items() if value is not None and name != "return_dict")
        if unknown:
            raise TypeError(f"inputs of an unpadded encoder: {unknown}")
        mask = attention_mask.bool()
        lengths = mask.sum(1)
        runs = [(length, len(list(run))) for length, run in groupby(lengths.tolist())]
        first = lengths.cumsum(0) - lengths
        ids, types, positions, extra = self._packed(input_ids, mask, token_type_ids)
        x = self._embedded(ids, types, positions)
        for layer in self._layers[:-1]:
            x = layer(x, runs)
        x = self._layers[-1](x, runs, first if self._first_only else None).float()
        hidden = x[:, None] if self._first_only else x.new_zeros(*mask.shape, x.shape[1])
        if not self._first_only:
            hidden[mask] = x[: len(x) - extra]
        return BaseModelOutputWithPooling(hidden, self._pooler(hidden) if self._pooler is not None else None)

    def _packed(
        self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor, int]:
        """Return ids, segment ids and positions of all tokens, each [T + extra], and extra.

        The extra rows give `dense` a number of rows that it knows; attention leaves them out.
        """
        from torch.nn.functional import pad

        positions = _positions(self._embeddings.position_embeddings, ids, mask)[mask]
        extra = rounded_up(len(positions)) - len(positions)
        kinds = None if types is None else pad(types[mask], (0, extra))
        return pad(ids[mask], (0, extra)), kinds, pad(positions, (0, extra)), extra

    def _embedded(self, ids: torch.Tensor, types: torch.Tensor | None, positions: torch.Tensor) -> torch.Tensor:
        """Return the embedding of each token, [T, H]."""
        parts = self._embeddings
        x = parts.word_embeddings.weight[ids]
        if hasattr(parts, "token_type_embeddings"):
            x += parts.token_type_embeddings.weight[0 if types is None else types]
        x = parts.LayerNorm(x.add_(parts.position_embeddings.weight[positions]))
        return x if self._wider is None else dense(x, self._wider.weight, self._wider.bias)


def _positions(embeddings: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return each token's position, [B, L]; RoBERTa and similar models count tokens other than padding."""
    padding = embeddings.padding_idx
    if padding is None:
        return mask.cumsum(1) - 1
    counted = ids.ne(padding)
    return counted.cumsum(1) * counted + padding


class _Layer:
    """One transformer layer on packed rows: attention and feed-forward, each added and normalised afterwards."""

    def __init__(self, layer: Any, names: _Names, heads: int, activation: str) -> None:
        part = layer.get_submodule
        self._heads, self._activation = heads, activation
        self._qkv = _fused([part(names.query), part(names.key), part(names.value)])
        self._output, self._output_norm = part(names.output), part(names.output_norm)
        self._up, self._down, self._down_norm = part(names.up), part(names.down), part(names.down_norm)

    def __call__(self, x: torch.Tensor, runs: Sequence[Run], first: torch.Tensor | None = None) -> torch.Tensor:
        """Return the next hidden states of all rows, [T, H], or only of the rows `first`."""
        (weight, bias), width = self._qkv, self._output.in_features
        keys_values = dense(x, weight[width:], bias[width:])
        if first is not None:
            x = x[first]
        queries = dense(x, weight[:width], bias[:width])
        attended = _attention(queries, keys_values, runs, self._heads)
        del queries, keys_values  # a third of a layer's memory
        x = self._output_norm(dense(attended, self._output.weight, self._output.bias).add_(x))
        del attended
        result: torch.Tensor = self._down_norm(self._fed_forward(x).add_(x))
        return result

    def _fed_forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return [T, H], computed in blocks of rows, since the wide rows take most of a layer's memory."""
        narrow = x.new_empty(x.shape)
        for rows, result in zip(x.split(_ROWS_AT_ONCE), narrow.split(_ROWS_AT_ONCE), strict=True):
            wide = dense(rows, self._up.weight, self._up.bias, self._activation)
            result.copy_(dense(wide, self._down.weight, self._down.bias))
        return narrow


def _fused(parts: Sequence[Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the weights and biases of dense layers side by side; the layers keep views of them."""
    import torch

    weight = torch.cat([part.weight.detach() for part in parts])
    bias = torch.cat([part.bias.detach() for part in parts])
    for part, rows, values in zip(parts, weight.chunk(len(parts)), bias.chunk(len(parts)), strict=True):
        part.weight.data, part.bias.data = rows, values
    return weight, bias


def _attention(queries: torch.Tensor, keys_values: torch.Tensor, runs: Sequence[Run], heads: int) -> torch.Tensor:
    """Return the attention output of each query row over its own sequence; zeros for rows after the last sequence.

    Args:
        queries: [T, H], or [B, H]: one per sequence.
        keys_values: [T, 2H].
        runs: the sequences, in order.
        heads: of attention; divides H.
    """
    from torch.nn.functional import scaled_dot_product_attention

    result = queries.new_zeros(queries.shape)
    each = len(queries) == len(keys_values)
    token = row = 0
    for length, n in runs:
        rows = n * length if each else n
        q = queries[row : row + rows].view(n, rows // n, heads, -1).transpose(1, 2)
        k, v = keys_values[token : token + n * length].view(n, length, 2, heads, -1).permute(2, 0, 3, 1, 4)
        gathered = scaled_dot_product_attention(q, k, v)
        result[row : row + rows] = gathered.transpose(1, 2).reshape(rows, -1)
        token, row = token + n * length, row + rows
    return result
