"""Networks that aggregate passages inside themselves: PARADE, KNRM, CEDR, Birch-Passage and their kin.

Every passage is read together with the query, as by a cross-encoder; what comes out of the encoder for each
passage, not a score, is what the network turns into the score of the document (`longrank.models`). Passages of all
documents of a block share batches, so nothing is spent on documents that are shorter than others; documents are
then aggregated one by one, without padding.

With the document's score come, for its evidence, what each passage contributed to it, and as the passage's score
what the network says of a document that is this passage alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.models.description import check_trained, describe
from longrank.protocols import PassageScores, ScoringTask
from longrank.scoring.acceleration import accelerate, check_dtype
from longrank.scoring.cross_encoder import DEFAULT_MAX_QUERY_TOKENS
from longrank.scoring.models import Model
from longrank.scoring.network import (
    DEFAULT_BATCH_TOKENS,
    Feeder,
    check_at_least,
    check_finite,
    choose_device,
    choose_max_tokens,
    loading,
    position_limit,
)
from longrank.scoring.padding import check_padding
from longrank.scoring.parallel import side_by_side
from longrank.scoring.relevance import count_cut_queries
from longrank.types import Float32s, Notes

if TYPE_CHECKING:
    import torch


class DocumentNetworkScorer:
    """A document network (`longrank.models`): query and passages in, the score of the document out.

    Args:
        model: a folder with a document network, as ``longrank create`` writes it.
        network: the network that the folder must hold, a key of `longrank.models.DOCUMENT_NETWORKS`.
        allow_untrained: score with a network that has never been trained.
        max_tokens: what is read of query and passage together; default: the encoder's own limit.
        max_query_tokens: what is read of the query; default: the network's own limit where it has one, else 64.
        batch_tokens: padded tokens per batch.
        device: a torch device, or ``auto``.
        dtype: ``float32`` or ``bf16``, in which the encoder's products are computed (`longrank.scoring.acceleration`).
        notes: counts queries that were cut.

    Raises:
        InputError: the folder cannot be loaded, or holds another network, or an untrained one that is not allowed;
            or an option is out of range.
        MissingExtra: torch or transformers are not installed.
    """

    example = "./parade"

    def __init__(
        self,
        model: Model,
        *,
        network: str | None = None,
        allow_untrained: bool = False,
        max_tokens: int | None = None,
        max_query_tokens: int | None = None,
        batch_tokens: int = DEFAULT_BATCH_TOKENS,
        device: str = "auto",
        dtype: str = "float32",
        notes: Notes | None = None,
    ) -> None:
        check_at_least("batch_tokens", batch_tokens, 1)
        self.model = model
        self._notes = Notes() if notes is None else notes
        self._check_kind(network)
        check_trained(model.name, model.path, allow_untrained, self._notes)
        with loading(model):
            device = choose_device(device)
            check_dtype(dtype, device)
            self._load(device)
        self.unit = self._network.unit
        encoder = self._network.encoder
        self.max_tokens = choose_max_tokens(
            model, max_tokens, self._tokenizer.model_max_length, position_limit(encoder)
        )
        queries = self._query_limit(max_query_tokens)
        accelerate(encoder, model, self._notes, dtype=dtype, first_only=self._network.first_only)
        self._feeder = Feeder(
            self._tokenizer,
            self.max_tokens,
            max_query_tokens=queries,
            batch_tokens=batch_tokens,
            device=str(encoder.device),
            notes=self._notes,
        )
        self.offset_tokenizer, self.packer = self._feeder.offset_tokenizer, self._feeder.packer
        if self._tokenizer.sep_token_id is None or not self.packer.pair_specials[1]:
            raise InputError("the model's tokenizer puts no mark between query and passage", path=model.path)
        self.fingerprint = (
            f"document-network {model.fingerprint} max_tokens={self.max_tokens} max_query_tokens={queries} "
            f"batch_tokens={batch_tokens} device={encoder.device.type} dtype={dtype}"
        )

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        """Return, for each document, its score, its passages' scores each on its own, and what each contributed.

        Raises:
            InputError: a document has more passages than the network reads.
            LongRankError: a score is not finite; names query, document and passage.
        """
        if not tasks:
            return []
        packed = [pair for task in tasks for pair in self.packer.pairs(task.query.text, task.texts)]
        count_cut_queries(tasks, self.packer, self._notes)
        rows = self._feeder.run(packed, self._encode)
        bounds = list(pairwise(accumulate((len(task.texts) for task in tasks), initial=0)))
        documents = [rows[start:end] for start, end in bounds]
        results = []
        for task, (start, end), aggregated in zip(
            tasks, bounds, side_by_side(self._aggregate, documents, self._device), strict=True
        ):
            document, alone, contributed = aggregated
            cut = np.array([one.truncated for one in packed[start:end]], dtype=np.bool_)
            results.append(PassageScores(alone, cut, document, contributed))
            for values in (alone, contributed, np.full(1, document, np.float32)):
                check_finite(values, task)
        return results

    def _aggregate(self, rows: NDArray[np.float32]) -> tuple[float, Float32s, Float32s]:
        """Return the document's score, each passage's on its own [P], and the contributions [P], of rows [P, *F]."""
        import torch

        passages = torch.from_numpy(rows).to(self._device)
        every = torch.ones(1, len(passages), dtype=torch.bool, device=self._device)
        document = self._network.aggregate(passages[None], every)
        alone = self._network.aggregate(passages[:, None], every.T)
        contributed = self._network.contributions(passages[None], every)[0]
        return document.item(), alone.cpu().numpy(), contributed.cpu().numpy()

    def _encode(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
        if self._network.extra_features:
            query, passage = pair_masks(features, self.packer.pair_specials, self._tokenizer.sep_token_id)
            features = {**features, "query_mask": query, "passage_mask": passage}
        rows: torch.Tensor = self._network.encode(features)
        return rows

    @property
    def _device(self) -> str:
        return str(self._network.encoder.device)

    def _check_kind(self, network: str | None) -> None:
        found = describe(self.model.path)["network"]
        if network is not None and found != network:
            raise InputError(
                f"holds the document network {found}, the pipeline reads with {network}",
                path=self.model.path,
                fix="choose the pipeline of its name",
            )

    def _load(self, device: str) -> None:
        from longrank.models.folders import load_network

        network, self._tokenizer, _ = load_network(self.model.path)
        first = lambda features: network.encoder(**features).last_hidden_state[:, 0]  # noqa: E731
        check_padding(self.model, network.encoder, self._tokenizer, first, "a", "b")
        self._network: Any = network.to(device)

    def _query_limit(self, wanted: int | None) -> int:
        limit = self._network.max_query_tokens
        if wanted is None:
            return limit or DEFAULT_MAX_QUERY_TOKENS
        check_at_least("max_query_tokens", wanted, 1)
        if limit is not None and wanted > limit:
            raise InputError(f"the network was made for queries of {limit} tokens at most", got=wanted)
        return wanted


def pair_masks(
    features: dict[str, torch.Tensor], specials: tuple[int, int, int], separator: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return which tokens of pairs are the query's, and which the passage's, bool [N, L] each.

    Args:
        features: ``input_ids`` and ``attention_mask``, [N, L], padded at the end.
        specials: `longrank.text.packing.Packer.pair_specials`.
        separator: the token that follows the query.
    """
    import torch

    ids, lengths = features["input_ids"], features["attention_mask"].sum(1, keepdim=True)
    before, between, after = specials
    at = torch.arange(ids.shape[1], device=ids.device)
    end = ((ids == separator) & (at >= before)).int().argmax(1, keepdim=True)
    return (at >= before) & (at < end), (at >= end + between) & (at < lengths - after)
