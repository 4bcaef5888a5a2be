"""KNRM and CEDR-KNRM, kernels over similarities of contextual embeddings; and VanillaBERT, CEDR's baseline.

    M^l_ij = cos(q^l_i, d^l_j)                         query token i, passage token j, layer l
    phi^l_ki = sum_j exp(-(M^l_ij - mu_k)^2 / 2 sigma_k^2)    over the tokens j of all passages: soft counts
    f^l_k = c sum_i log(max(phi^l_ki, floor))          over the query's tokens

KNRM (Xiong et al. 2017) scores the f of all layers; CEDR-KNRM (MacAvaney et al. 2019) adds the mean (in PARADE's
experiments: the maximum) of the passages' [CLS] vectors. A document's soft counts are the sums of its passages' counts,
so the row of a passage holds its soft counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch

from longrank.models.network import DocumentNetwork, check_choice, check_range, inputs_of, without_pooler
from longrank.models.parade import ParadeAvg

MUS = (-0.9, -0.7, -0.5, -0.3, -0.1, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
_SIGMA = 0.1  # of all kernels but the last, which counts exact matches


class Knrm(DocumentNetwork):
    """KNRM on contextual embeddings: soft counts of the query's tokens, by similarity, in each layer.

    Features ``query_mask`` and ``passage_mask`` [N, L] mark the tokens of query and passage.

    Args:
        encoder: a transformers model without head; its pooler is removed, and it returns the hidden states of all
            layers if they are read.
        layers: ``all``, the embeddings below the first layer included, or ``last``.
        max_query_tokens: longest query; sets the width of rows.
        exact_sigma: width of the kernel for exact matches.
        log_floor: least soft count.
        log_scale: factor c of the logarithms.
        combine_hidden: width of a second linear layer before the score; 0: none.
        separators: count the separators after query and passage as their tokens.
        train_kernels: train means and widths of the kernels.

    Raises:
        InputError: no such option value.
    """

    first_only = False
    extra_features = ("query_mask", "passage_mask")

    def __init__(
        self,
        encoder: Any,
        *,
        layers: str = "all",
        max_query_tokens: int = 64,
        exact_sigma: float = 0.001,
        log_floor: float = 1e-6,
        log_scale: float = 1.0,
        combine_hidden: int = 0,
        separators: bool = False,
        train_kernels: bool = True,
    ) -> None:
        super().__init__()
        check_choice("layers", layers, ("all", "last"))
        check_range("max_query_tokens", max_query_tokens, 1)
        check_range("exact_sigma", exact_sigma, 1e-6)
        check_range("log_floor", log_floor, 1e-30)
        check_range("log_scale", log_scale)
        check_range("combine_hidden", combine_hidden, 0)
        config = encoder.config
        if layers == "all":
            config.output_hidden_states = True
        self.encoder, self.all_layers, self._separators = without_pooler(encoder), layers == "all", separators
        self.max_query_tokens, self._room = max_query_tokens, max_query_tokens + separators
        self._floor, self._scale = log_floor, log_scale
        sigmas = [_SIGMA] * (len(MUS) - 1) + [exact_sigma]
        self.mus = torch.nn.Parameter(torch.tensor(MUS), requires_grad=train_kernels)
        self.sigmas = torch.nn.Parameter(torch.tensor(sigmas), requires_grad=train_kernels)
        self._n_layers = config.num_hidden_layers + 1 if layers == "all" else 1
        width = self._n_layers * len(MUS) + self._more(config.hidden_size)
        sizes = [width, combine_hidden, 1] if combine_hidden else [width, 1]
        linear = [torch.nn.Linear(inputs, outputs) for inputs, outputs in pairwise(sizes)]
        self.combine = torch.nn.Sequential(*linear)

    def encode(self, features: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return the row of each passage, [N, F].

        A row holds 1 for each query token (`max_query_tokens` places), and the soft counts (tokens x layers x kernels).

        Raises:
            ValueError: a query has more than `max_query_tokens` tokens.
        """
        return self._matched(features, self._hidden(features))

    def encoded_by(self) -> tuple[object, dict[str, torch.Tensor]]:
        """Return the identity of rows, which includes the kernels."""
        way = (
            type(self).__name__,
            self.all_layers,
            self.max_query_tokens,
            "all separators" if self._separators else False,
        )
        return way, {**self.encoder.state_dict(prefix="encoder."), "mus": self.mus, "sigmas": self.sigmas}

    def _hidden(self, features: Mapping[str, torch.Tensor]) -> Sequence[torch.Tensor]:
        """Return the hidden states of the layers that are read, [N, L, H] each, the last layer's last."""
        outputs = self.encoder(**inputs_of(features))
        return outputs.hidden_states if self.all_layers else (outputs.last_hidden_state,)

    def _matched(self, features: Mapping[str, torch.Tensor], hidden: Sequence[torch.Tensor]) -> torch.Tensor:
        query, passage = features["query_mask"].bool(), features["passage_mask"].bool()
        if self._separators:
            attended = features["attention_mask"].bool()
            last = attended & ~torch.nn.functional.pad(attended[:, 1:], (0, 1))  # the separator of an empty passage
            empty = ~passage.any(1, keepdim=True)
            query, passage = _with_next(query) & attended, (_with_next(passage) & attended) | (empty & last)
        tokens = int(query.sum(1).max())
        if tokens > self._room:
            raise ValueError(f"{tokens} tokens of a query, but room for {self._room}")
        places = query.byte().argsort(dim=1, descending=True, stable=True)[:, :tokens]  # the query's tokens, in order
        present = query.gather(1, places)
        counts = torch.stack([self._soft_counts(states, places, passage) for states in hidden], dim=2)
        counts = counts * present[..., None, None]  # [N, tokens, layers, kernels]
        spare = self._room - tokens
        counts = torch.nn.functional.pad(counts, (0, 0, 0, 0, 0, spare))
        present = torch.nn.functional.pad(present, (0, spare))
        return torch.cat([present.to(counts.dtype), counts.flatten(1)], dim=1)

    def _soft_counts(self, states: torch.Tensor, places: torch.Tensor, passage: torch.Tensor) -> torch.Tensor:
        """Return phi of one layer, [N, tokens, kernels].

        Always in float32: near 1, bf16 has steps of .004, four sigmas of the exact kernel.
        """
        with torch.autocast(states.device.type, enabled=False):
            states = torch.nn.functional.normalize(states.float(), dim=2, eps=1e-9)
            query = states.gather(1, places[..., None].expand(-1, -1, states.shape[2]))
            similarity = (query @ states.transpose(1, 2))[..., None]  # [N, tokens, L, 1]
        kernels = torch.exp(-((similarity - self.mus) ** 2) / (2 * self.sigmas**2))
        return (kernels * passage[:, None, :, None]).sum(2)

    def _logits(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.combine(self._counted(passages))
        return logits

    def _counted(self, passages: torch.Tensor) -> torch.Tensor:
        """Return f, [B, layers x kernels], of rows of `encode`."""
        present = passages[:, 0, : self._room]  # equal in all passages
        counts = passages[:, :, self._room :].sum(1).view(len(passages), self._room, -1)
        logs = counts.clamp(min=self._floor).log() * self._scale
        return (logs * present[..., None]).sum(1)

    def _more(self, width: int) -> int:
        """Return the number of features besides the kernels'."""
        return 0


class CedrKnrm(Knrm):
    """CEDR-KNRM: KNRM with the passages' [CLS] vectors.

    Args:
        encoder: see `Knrm`.
        cls: document vector: ``avg`` of the passages' vectors (CEDR), or ``max`` of each dimension (PARADE).

    Raises:
        InputError: as `Knrm`.
    """

    def __init__(self, encoder: Any, *, cls: str = "avg", **options: Any) -> None:
        super().__init__(encoder, **options)
        check_choice("cls", cls, ("avg", "max"))
        self._max = cls == "max"

    def encode(self, features: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return `Knrm`'s row of each passage followed by its [CLS] vector, [N, F + H]."""
        hidden = self._hidden(features)
        return torch.cat([self._matched(features, hidden), hidden[-1][:, 0]], dim=1)

    def _logits(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        width = self.encoder.config.hidden_size
        counts, vectors = passages[..., :-width], passages[..., -width:]
        if self._max:
            document = vectors.masked_fill(~mask[..., None], -torch.inf).amax(1)
        else:
            document = vectors.sum(1) / mask.sum(1, keepdim=True)
        logits: torch.Tensor = self.combine(torch.cat([self._counted(counts), document], dim=1))
        return logits

    def _more(self, width: int) -> int:
        return width


class VanillaBert(ParadeAvg):
    """VanillaBERT (CEDR's baseline): a linear layer on the mean of the passages' [CLS] vectors, dropout before it."""

    def __init__(self, encoder: Any, *, dropout: float = 0.1, **options: Any) -> None:
        super().__init__(encoder, dropout=dropout, **options)


def _with_next(mask: torch.Tensor) -> torch.Tensor:
    """Extend a mask [N, L] by the token after each of its tokens."""
    return mask | torch.nn.functional.pad(mask[:, :-1], (1, 0))
