"""Feed a document network: pairs of query and passage in, document scores or representations out.

The encoder reads every passage together with the query, as a cross-encoder does, and the network aggregates the
representations of the passages into the document's score (`longrank.models`). Passages of all documents share batches,
so short documents need no padding; documents are aggregated one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.models.row_cache import RowCache
from longrank.networks.feeding import (
    DEFAULT_MAX_QUERY_TOKENS,
    QUERY_END,
    Feeder,
    OffsetTokenizer,
    check_finite,
)
from longrank.networks.parallel import side_by_side
from longrank.protocols import PassageScores, ScoringTask
from longrank.registries import check_at_least
from longrank.text.packing import Packed
from longrank.types import Float32s, Notes

if TYPE_CHECKING:
    import torch

Kept = dict[tuple[str, str], tuple[NDArray[np.float32], np.bool_]]
"""(query, passage) -> its row, and true if the passage was cut."""

_KEPT_BYTES = 1 << 29  # in memory: 170,000 passages for PARADE on MiniLM, 25,000 for CEDR with queries of 64 tokens
_TEXT_BYTES = 1500  # a query and a passage of 900 characters as Python strings


class NetworkReader:
    """Reads pairs of query and passage with a document network, for scoring and training.

    Args:
        network: a `longrank.models.network.DocumentNetwork`, on its device.
        tokenizer: a transformers tokenizer.
        max_tokens: longest query and passage together.
        max_query_tokens: longest query.
        batch_tokens: padded tokens per batch; default: of the network's device, as `Feeder` has it.
        notes: remarks on the model.
        path: folder of the network, for messages.

    Attributes:
        network: the network.
        packer: packs the pairs.
        offset_tokenizer: for windows of wordpieces.

    Raises:
        InputError: the tokenizer puts no mark between query and passage.
    """

    def __init__(
        self,
        network: Any,
        tokenizer: Any,
        *,
        max_tokens: int,
        max_query_tokens: int,
        batch_tokens: int | None,
        notes: Notes,
        path: Path,
    ) -> None:
        self.network, self._notes = network, notes
        self._cache: RowCache | None = None
        self._kept: Kept | None = None
        self._feeder = Feeder(
            tokenizer,
            max_tokens,
            max_query_tokens=max_query_tokens,
            batch_tokens=batch_tokens,
            device=self._device,
            notes=notes,
            query_ends=bool(network.extra_features),
        )
        self.batch_tokens, self.packer = self._feeder.batch_tokens, self._feeder.packer
        self.offset_tokenizer = OffsetTokenizer(self._feeder.tokenizer, self.packer.passage_room)
        if tokenizer.sep_token_id is None or not self.packer.pair_specials[1]:
            raise InputError("the model's tokenizer puts no mark between query and passage", path=path)

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        """Return each document's score, and its passages' single scores and contributions.

        Raises:
            InputError: a document has more passages than the network reads.
            LongRankError: a score is not finite; names query, document and passage.
        """
        if not tasks:
            return []
        rows, cut = self.read([(task.query.text, text) for task in tasks for text in task.texts])
        bounds = list(pairwise(accumulate((len(task.texts) for task in tasks), initial=0)))
        documents = [rows[start:end] for start, end in bounds]
        results = []
        for task, (start, end), aggregated in zip(
            tasks, bounds, side_by_side(self._aggregate, documents, self._device), strict=True
        ):
            document, alone, contributed = aggregated
            results.append(PassageScores(alone, cut[start:end], document, contributed))
            for values in (alone, contributed, np.full(1, document, np.float32)):
                check_finite(values, task)
        return results

    def use_cache(self, path: Path, dtype: str) -> None:
        """Store rows in a file, and take known rows from it; the encoder must not be trained.

        Args:
            path: the file; created if missing.
            dtype: dtype of the encoder's products.

        Raises:
            InputError, IntegrityError: as `RowCache`.
        """
        self._cache = RowCache(path, self.network, dtype, self._notes)

    def keep_in_memory(self, kept: Kept) -> None:
        """Keep rows in memory, too, since a training reads the same passages repeatedly.

        Args:
            kept: the store; readers with the same encoder and options may share it.
        """
        self._kept = kept

    def read(self, pairs: Sequence[tuple[str, str]]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return the representations of (query, passage) pairs, float32[N, *F], and the cut passages, bool[N].

        Raises:
            LongRankError: as `rows`.
        """
        if self._kept is None:
            return self._read(pairs)
        row, _ = next(iter(self._kept.values()), (np.empty(0), None))
        if len(self._kept) * (row.nbytes + _TEXT_BYTES) > _KEPT_BYTES:
            self._kept.clear()
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._kept]
        if new:
            self._kept.update(zip(new, zip(*self._read(new), strict=True), strict=True))
        rows, cut = zip(*(self._kept[pair] for pair in pairs), strict=True)
        return np.stack(rows), np.array(cut, dtype=np.bool_)

    def packed(self, pairs: Sequence[tuple[str, str]]) -> list[Packed]:
        """Pack (query, passage) pairs; consecutive pairs of a query tokenise it once."""
        queries = groupby(pairs, key=lambda pair: pair[0])
        return [pair for query, own in queries for pair in self.packer.pairs(query, [text for _, text in own])]

    def _read(self, pairs: Sequence[tuple[str, str]]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        packed = self.packed(pairs)
        return self.rows(packed), np.array([pair.truncated for pair in packed], dtype=np.bool_)

    def rows(self, packed: Sequence[Packed]) -> NDArray[np.float32]:
        """Return the representations of pairs, float32[N, *F], without gradients.

        Raises:
            LongRankError: memory does not suffice for a single pair.
        """
        if self._cache is None:
            return self._computed(packed)
        return self._cache.rows(packed, self._computed)

    def _computed(self, packed: Sequence[Packed]) -> NDArray[np.float32]:
        import torch

        with torch.autocast(self.network.encoder.device.type, enabled=False):
            return self._feeder.run(packed, self._encode)

    def encode(self, packed: Sequence[Packed]) -> torch.Tensor:
        """Return the representations [N, *F] of pairs, with gradients."""
        return self._feeder.rows(packed, self._encode)

    def _aggregate(self, rows: NDArray[np.float32]) -> tuple[float, Float32s, Float32s]:
        """Return the document's score, the passages' single scores [P] and contributions [P], of rows [P, *F]."""
        import torch

        passages = torch.from_numpy(rows).to(self._device)
        every = torch.ones(1, len(passages), dtype=torch.bool, device=self._device)
        document = self.network.aggregate(passages[None], every)
        alone = self.network.aggregate(passages[:, None], every.T)
        contributed = self.network.contributions(passages[None], every)[0]
        return document.item(), alone.cpu().numpy(), contributed.cpu().numpy()

    def _encode(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
        if self.network.extra_features:
            specials = self.packer.pair_specials
            query, passage = pair_masks(features["attention_mask"], features.pop(QUERY_END), specials)
            features = {**features, "query_mask": query, "passage_mask": passage}
        rows: torch.Tensor = self.network.encode(features)
        return rows

    @property
    def _device(self) -> str:
        return str(self.network.encoder.device)


def query_limit(network: Any, requested: int | None) -> int:
    """Return the longest query in tokens: `requested`, or the network's limit, or 64.

    Raises:
        InputError: `requested` is below 1 or above the network's limit.
    """
    limit: int | None = network.max_query_tokens
    if requested is None:
        return limit or DEFAULT_MAX_QUERY_TOKENS
    check_at_least("max_query_tokens", requested, 1)
    if limit is not None and requested > limit:
        raise InputError(f"the network was made for queries of {limit} tokens at most", got=requested)
    return requested


def pair_masks(
    attended: torch.Tensor, ends: torch.Tensor, specials: tuple[int, int, int]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return masks of the query's and the passage's tokens in pairs, bool [N, L] each.

    Args:
        attended: ``attention_mask``, [N, L], of pairs padded at the end.
        ends: `Packed.query_end` of each pair, [N, 1].
        specials: `longrank.text.packing.Packer.pair_specials`.
    """
    import torch

    lengths = attended.sum(1, keepdim=True)
    before, between, after = specials
    at = torch.arange(attended.shape[1], device=attended.device)
    return (at >= before) & (at < ends), (at >= ends + between) & (at < lengths - after)
