"""A document network with what makes its input: pairs of query and passage in, document scores or rows out.

Every passage is read together with the query, as by a cross-encoder; what comes out of the encoder for each
passage, not a score, is what the network turns into the score of the document (`longrank.models`). Passages of all
documents share batches, so nothing is spent on documents that are shorter than others; documents are then aggregated
one by one, without padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from longrank.config import check_at_least
from longrank.errors import InputError
from longrank.models.row_cache import RowCache
from longrank.networks.feeding import DEFAULT_MAX_QUERY_TOKENS, Feeder, check_finite, count_cut_queries
from longrank.networks.parallel import side_by_side
from longrank.protocols import PassageScores, ScoringTask
from longrank.text.packing import Packed
from longrank.types import Float32s, Notes

if TYPE_CHECKING:
    import torch

Kept = dict[tuple[str, str], tuple[NDArray[np.float32], np.bool_]]
"""(query, passage) -> its row, and whether the passage was cut."""

_KEPT_BYTES = 1 << 29  # in memory: 170,000 passages for PARADE on MiniLM, 25,000 for CEDR with queries of 64 tokens
_TEXT_BYTES = 1500  # of a query and a passage of 900 characters, with what Python adds


class NetworkReader:
    """Reads pairs with a document network, to score documents or to learn.

    Args:
        network: a `longrank.models.network.DocumentNetwork`, on its device.
        tokenizer: of transformers.
        max_tokens: what is read of query and passage together.
        max_query_tokens: what is read of the query.
        batch_tokens: padded tokens per batch.
        notes: counts queries that were cut.
        path: where the network comes from, for a message.

    Attributes:
        network: as given.
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
        batch_tokens: int,
        notes: Notes,
        path: Path,
    ) -> None:
        self.network, self._notes = network, notes
        self._separator = tokenizer.sep_token_id
        self._cache: RowCache | None = None
        self._kept: Kept | None = None
        self._feeder = Feeder(
            tokenizer,
            max_tokens,
            max_query_tokens=max_query_tokens,
            batch_tokens=batch_tokens,
            device=self._device,
            notes=notes,
        )
        self.offset_tokenizer, self.packer = self._feeder.offset_tokenizer, self._feeder.packer
        if self._separator is None or not self.packer.pair_specials[1]:
            raise InputError("the model's tokenizer puts no mark between query and passage", path=path)

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        """Return, for each document, its score, its passages' scores each on its own, and what each contributed.

        Raises:
            InputError: a document has more passages than the network reads.
            LongRankError: a score is not finite; names query, document and passage.
        """
        if not tasks:
            return []
        count_cut_queries(tasks, self.packer, self._notes)
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
        """Keep rows in a file from now on, and take from it those that it knows; the encoder must not be trained.

        Args:
            path: the file; made if it is not there.
            dtype: in which the encoder computes.

        Raises:
            InputError, IntegrityError: as `RowCache`.
        """
        self._cache = RowCache(path, self.network, dtype, self._notes)

    def keep_in_memory(self, kept: Kept) -> None:
        """Keep rows in memory, too, from now on: a training reads the same passages again and again.

        Args:
            kept: where; may be shared with readers of the same encoder that read alike.
        """
        self._kept = kept

    def read(self, pairs: Sequence[tuple[str, str]]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return the representations of (query, passage) pairs, float32[N, *F], and whether passages were cut, bool[N].

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
        """Return (query, passage) pairs packed; a query is tokenised once for the passages that follow it."""
        queries = groupby(pairs, key=lambda pair: pair[0])
        return [one for query, own in queries for one in self.packer.pairs(query, [text for _, text in own])]

    def _read(self, pairs: Sequence[tuple[str, str]]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        packed = self.packed(pairs)
        return self.rows(packed), np.array([one.truncated for one in packed], dtype=np.bool_)

    def rows(self, packed: Sequence[Packed]) -> NDArray[np.float32]:
        """Return the representations of pairs, float32[N, *F], without gradients.

        Raises:
            LongRankError: there is no memory for one pair alone.
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
        """Return the document's score, each passage's on its own [P], and the contributions [P], of rows [P, *F]."""
        import torch

        passages = torch.from_numpy(rows).to(self._device)
        every = torch.ones(1, len(passages), dtype=torch.bool, device=self._device)
        document = self.network.aggregate(passages[None], every)
        alone = self.network.aggregate(passages[:, None], every.T)
        contributed = self.network.contributions(passages[None], every)[0]
        return document.item(), alone.cpu().numpy(), contributed.cpu().numpy()

    def _encode(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
        if self.network.extra_features:
            query, passage = pair_masks(features, self.packer.pair_specials, self._separator)
            features = {**features, "query_mask": query, "passage_mask": passage}
        rows: torch.Tensor = self.network.encode(features)
        return rows

    @property
    def _device(self) -> str:
        return str(self.network.encoder.device)


def query_limit(network: Any, wanted: int | None) -> int:
    """Return how many tokens of a query are read: `wanted`, or the network's own limit, or the usual 64.

    Raises:
        InputError: more is wanted than the network was made for, or less than 1.
    """
    limit: int | None = network.max_query_tokens
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
