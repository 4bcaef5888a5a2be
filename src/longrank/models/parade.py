"""PARADE (Li, Yates, MacAvaney, He and Sun 2020): a document's vector from the [CLS] vectors of its passages.

    p_i = encoder([CLS] query [SEP] passage_i [SEP])[CLS],  i = 1..P          score = w . d + b

    Max          d[j] = max_i p_i[j]
    Sum, Avg     d = sum_i p_i,  / P
    Attn         d = sum_i a_i p_i,  a = softmax_i(w . p_i)
    CNN          layers of convolutions halve p_1..p_P until one vector is left; a feed-forward net scores each
    Transformer  d = first output of two layers of self-attention over ([CLS], p_1..p_P) + position embeddings

Padding passages are masked. Differences of published code are options (docs/decisions/parade.md).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from longrank.errors import InputError
from longrank.models.network import SHARE, DocumentNetwork, check_choice, check_range, inputs_of, without_pooler, won

CNN_PASSAGES = 16
POSITIONS = 16
_CNN_LAYERS = 4  # 16 -> 8 -> 4 -> 2 -> 1


class Parade(DocumentNetwork):
    """Base of all PARADE networks: the encoder's vectors, and a linear layer on the document's vector.

    Args:
        encoder: a transformers model without head; its pooler is removed if it is not read.
        vector: vector of a passage: ``cls``, the last hidden state of [CLS], or ``pooled``, the output of the
            encoder's pooler (a tanh layer).
        outputs: 1, the score; or 2, with the log-softmax of the second as score.
        dropout: dropout before the linear layer in training.

    Raises:
        InputError: no such option value, or the encoder has no pooler.
    """

    def __init__(self, encoder: Any, *, vector: str = "cls", outputs: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        check_choice("vector", vector, ("cls", "pooled"))
        check_choice("outputs", outputs, (1, 2))
        check_range("dropout", dropout, 0, 1)
        if vector == "pooled" and getattr(encoder, "pooler", None) is None:
            raise InputError("the encoder has no pooler", got="vector = pooled", fix="use vector = cls")
        self.encoder, self._vector = encoder if vector == "pooled" else without_pooler(encoder), vector
        self.unit = "logit" if outputs == 1 else "logprob"
        self.width = int(encoder.config.hidden_size)
        self.spread = float(getattr(encoder.config, "initializer_range", 0.02))
        self.dropout = torch.nn.Dropout(dropout)
        self.head = self.drawn(torch.nn.Linear(self.width, outputs))

    def encode(self, features: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return the vector of each passage, [N, H]."""
        outputs = self.encoder(**inputs_of(features))
        vectors: torch.Tensor = outputs.pooler_output if self._vector == "pooled" else outputs.last_hidden_state[:, 0]
        return vectors

    def encoded_by(self) -> tuple[object, dict[str, torch.Tensor]]:
        """Return the identity of rows, equal for all aggregators."""
        return f"PARADE {self._vector}", dict(self.encoder.state_dict())

    def drawn(self, module: torch.nn.Module) -> torch.nn.Module:
        """Draw the weights of new layers as the encoder's were: normal; biases 0."""
        for name, values in module.named_parameters():
            if name.endswith("bias"):
                torch.nn.init.zeros_(values)
            elif values.ndim > 1:  # the norms' weights stay 1
                torch.nn.init.normal_(values, std=self.spread)
        return module


class OneVector(Parade):
    """Networks that aggregate passages into one vector, which the linear layer scores."""

    @abstractmethod
    def represent(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the vector of each document, [B, H], of its passages' [B, P, H], padding zeros."""

    def _logits(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.dropout(self.represent(passages, mask)))
        return logits


class ParadeMax(OneVector):
    """PARADE-Max: the largest value of each dimension."""

    contribution = SHARE

    def represent(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return max_i p_i[j] for each dimension j, [B, H]."""
        return passages.masked_fill(~mask[..., None], -torch.inf).amax(1)

    def _contributed(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return won(passages, mask)


class ParadeSum(OneVector):
    """PARADE-Sum: the sum of the passages' vectors."""

    def represent(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return sum_i p_i, [B, H]."""
        return passages.sum(1)


class ParadeAvg(OneVector):
    """PARADE-Avg: the mean of the passages' vectors."""

    def represent(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the mean of p_i, [B, H]."""
        return passages.sum(1) / mask.sum(1, keepdim=True)


class ParadeAttn(OneVector):
    """PARADE-Attn: a weighted mean of the passages' vectors, weights by a learned vector."""

    contribution = SHARE

    def __init__(self, encoder: Any, **options: Any) -> None:
        super().__init__(encoder, **options)
        self.attention = self.drawn(torch.nn.Linear(self.width, 1, bias=False))

    def represent(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return sum_i a_i p_i, [B, H]."""
        return (self._contributed(passages, mask)[:, None] @ passages)[:, 0]

    def _contributed(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        energies: torch.Tensor = self.attention(passages)[..., 0]
        return energies.masked_fill(~mask, -torch.inf).softmax(1)


class ParadeCNN(Parade):
    """PARADE-CNN: convolutions join neighbouring passages, layer by layer; every vector they give is scored.

    r^0 = p; r^j_i = convolution of (r^(j-1)_(2i-1), r^(j-1)_(2i)), a linear map; s^j_i = FFN(r^j_i), one hidden layer.
    A vector is valid if one of its two inputs is; others are zeros and are not scored.

    Args:
        encoder: see `Parade`.
        shared: true: layers share weights, and their number depends on the document's length, at least one (survey);
            false: four layers with own weights, for at most 16 passages (paper).
        score: ``sum`` of all s^j_i, j >= 1 (paper); or ``layer_max``: sum over j >= 0 of max_i s^j_i (survey).

    Raises:
        InputError: as `Parade`.
    """

    def __init__(self, encoder: Any, *, shared: bool = False, score: str = "sum", **options: Any) -> None:
        super().__init__(encoder, **options)
        check_choice("score", score, ("sum", "layer_max"))
        self._shared, self._reading = shared, score
        self.max_passages = None if shared else CNN_PASSAGES
        layers = [torch.nn.Conv1d(self.width, self.width, 2, stride=2) for _ in range(1 if shared else _CNN_LAYERS)]
        self.convolutions = self.drawn(torch.nn.ModuleList(layers))
        self.hidden = self.drawn(torch.nn.Linear(self.width, self.width))

    def _logits(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        layers = list(self._layers(passages, mask))
        parts = []
        for vectors, valid in layers[1:] if self._reading == "sum" else layers:
            invalid = ~valid[..., None]
            scores = self.head(self.dropout(self.hidden(vectors).relu()))
            if self._reading == "sum":
                parts.append(scores.masked_fill(invalid, 0).sum(1))
            else:  # 0 for a document that earlier layers reduced to one vector
                best = scores.masked_fill(invalid, -torch.inf).amax(1)
                parts.append(best.masked_fill(~valid[:, :1], 0))
        return torch.stack(parts).sum(0)

    def _layers(self, passages: torch.Tensor, mask: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield the vectors of each layer, [B, P / 2^j, H], and the mask of valid ones, beginning with the passages."""
        places = CNN_PASSAGES
        if self._shared:
            places = 2 ** max(1, (mask.shape[1] - 1).bit_length())
        extra = places - mask.shape[1]
        vectors = torch.nn.functional.pad(passages, (0, 0, 0, extra))
        valid = torch.nn.functional.pad(mask, (0, extra))
        yield vectors, valid
        for n in range(places.bit_length() - 1):
            if self._shared and n:  # further layers are for documents of two vectors or more
                valid = valid & valid[:, 1:2]
            layer = self.convolutions[0 if self._shared else n]
            valid = valid.view(len(valid), -1, 2).any(2)
            vectors = layer(vectors.transpose(1, 2)).transpose(1, 2).masked_fill(~valid[..., None], 0)
            yield vectors, valid


class ParadeTransformer(OneVector):
    """PARADE-Transformer: two layers of self-attention over the passages' vectors and a separate [CLS].

    The layers have the encoder's dimensions and are post-norm, as BERT's: h = LN(x + MHA(x)), x' = LN(h + FFN(h)).

    Args:
        encoder: see `Parade`.
        activation: activation of the FFN, ``relu`` (paper) or ``gelu`` (released code).
        start: token whose word embedding the aggregator's [CLS] begins as: ``cls`` (paper) or ``sep`` (standalone
            release).
        start_trained: train the aggregator's [CLS], which is separate from the encoder's embedding.
        positions: number of learned embeddings of passages' positions, and most passages; the [CLS] has its own
            embedding. 0: none; the order of passages is not read, and their number has no limit.

    Raises:
        InputError: as `Parade`; or the encoder's embeddings are narrower than its vectors and it has no projection.
    """

    def __init__(
        self,
        encoder: Any,
        *,
        activation: str = "relu",
        start: str = "cls",
        start_trained: bool = True,
        positions: int = POSITIONS,
        **options: Any,
    ) -> None:
        super().__init__(encoder, **options)
        check_choice("activation", activation, ("relu", "gelu"))
        check_choice("start", start, ("cls", "sep"))
        check_range("positions", positions, 0)
        self._start = start
        self.max_passages = positions or None
        self.cls = torch.nn.Parameter(torch.zeros(1, self.width), requires_grad=start_trained)
        torch.nn.init.normal_(self.cls, std=self.spread)  # until `begin` sets it
        self.layers = torch.nn.ModuleList(self._layer(activation) for _ in range(2))
        self.positions = self.drawn(torch.nn.Embedding(positions + 1, self.width)) if positions else None

    def begin(self, tokenizer: Any) -> None:
        """Set the aggregator's [CLS] to a word embedding of the encoder."""
        token = tokenizer.cls_token_id if self._start == "cls" else tokenizer.sep_token_id
        if token is None:
            raise InputError(f"the tokenizer has no [{self._start.upper()}] token")
        with torch.no_grad():
            self.cls.copy_(_widened(self.encoder, self.encoder.get_input_embeddings().weight[token]))

    def represent(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the first output of the last layer, [B, H]."""
        vectors = torch.cat([self.cls.expand(len(passages), 1, -1), passages], dim=1)
        if self.positions is not None:
            vectors = vectors + self.positions.weight[: vectors.shape[1]]
        padding = torch.nn.functional.pad(~mask, (1, 0))
        for layer in self.layers:
            vectors = layer(vectors, src_key_padding_mask=padding)
        return vectors[:, 0]

    def _layer(self, activation: str) -> torch.nn.Module:
        config = self.encoder.config
        feed_forward = getattr(config, "intermediate_size", None) or getattr(config, "hidden_dim", 4 * self.width)
        return self.drawn(
            torch.nn.TransformerEncoderLayer(
                self.width,
                config.num_attention_heads,
                feed_forward,
                dropout=getattr(config, "hidden_dropout_prob", 0.1),
                activation=activation,
                layer_norm_eps=getattr(config, "layer_norm_eps", 1e-12),
                batch_first=True,
            )
        )


def _widened(encoder: Any, embedding: torch.Tensor) -> torch.Tensor:
    """Project a word embedding, [E], to the width of the encoder's vectors, [H], by the encoder's projection."""
    width = encoder.config.hidden_size
    if len(embedding) == width:
        return embedding
    for module in encoder.modules():
        if isinstance(module, torch.nn.Linear) and module.weight.shape == (width, len(embedding)):
            widened: torch.Tensor = module(embedding)
            return widened
    raise InputError(f"the encoder has no projection of its embeddings to {width} dimensions", got=len(embedding))
