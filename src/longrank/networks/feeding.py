"""Feed networks: padded batches of packed texts, and checks of the scores that come back.

torch is imported only when a network is loaded.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError, LongRankError
from longrank.networks.backoff import halving
from longrank.networks.batching import batches
from longrank.networks.inference import note_precision
from longrank.networks.parallel import side_by_side
from longrank.protocols import ScoringTask
from longrank.registries import check_at_least
from longrank.text.packing import Packed, Packer
from longrank.types import Notes

if TYPE_CHECKING:
    import torch

DEFAULT_BATCH_TOKENS = 2048
"""Padded tokens per batch on a CPU, which is about the fastest there, and in training."""

ACCELERATOR_BATCH_TOKENS = 16_384
"""Padded tokens per batch of an accelerator: 32 texts of 512 tokens, as other libraries read at once."""

DEFAULT_MAX_QUERY_TOKENS = 64
"""Tokens read of a query that is paired with passages."""

QUERY_END = "query_end"
"""Name of the tensor of `Packed.query_end`."""


class OffsetTokenizer:
    """A model's tokenizer for windows of wordpieces."""

    def __init__(self, tokenizer: Any, room: int) -> None:
        """Take a ``tokenizers.Tokenizer`` whose truncation and padding are off, and the room for a passage."""
        self._tokenizer, self.room = tokenizer, room

    @property
    def fingerprint(self) -> str:
        """Digest of vocabulary and rules."""
        rules = self._tokenizer.to_str()  # it does not tell how texts that name a special token are read
        if getattr(self._tokenizer, "encode_special_tokens", False):
            rules += "split_special_tokens"
        return hashlib.sha256(rules.encode()).hexdigest()[:16]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return (start, end) in code points of every token of `text`, special tokens left out."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).offsets)


def backend_of(tokenizer: Any) -> Any:
    """Return a copy of the ``tokenizers.Tokenizer`` of a transformers tokenizer, which reads texts as that one does.

    transformers switches truncation and padding on in its own, and sets at each call whether "[SEP]" in a text is the
    special token; a copy loses that.
    """
    backend = copy.deepcopy(tokenizer.backend_tokenizer)
    backend.encode_special_tokens = bool(getattr(tokenizer, "split_special_tokens", False))
    return backend


class Feeder:
    """Feed packed texts to a network in batches of padded tensors.

    Args:
        tokenizer: a transformers tokenizer; gives the names of inputs and the padding.
        max_tokens: longest input.
        max_query_tokens: longest query in a pair.
        batch_tokens: padded tokens per batch; default: `DEFAULT_BATCH_TOKENS` on a CPU, else
            `ACCELERATOR_BATCH_TOKENS`.
        device: torch device of the tensors.
        notes: counts batches halved for lack of memory.
        query_ends: whether the tensors include `QUERY_END`, which no encoder takes.

    Raises:
        InputError: `batch_tokens` is less than 1; or the tokenizer cuts texts at their beginning.

    Attributes:
        batch_tokens: padded tokens per batch.
        tokenizer: a copy of the ``tokenizers.Tokenizer``, its truncation and padding switched off.
        packer: packs texts with that copy.
    """

    def __init__(
        self,
        tokenizer: Any,
        max_tokens: int,
        *,
        max_query_tokens: int,
        batch_tokens: int | None,
        device: str,
        notes: Notes,
        query_ends: bool = False,
    ) -> None:
        if batch_tokens is None:
            batch_tokens = DEFAULT_BATCH_TOKENS if device == "cpu" else ACCELERATOR_BATCH_TOKENS
        check_at_least("batch_tokens", batch_tokens, 1)
        _check_side(tokenizer)
        backend = backend_of(tokenizer)
        self.tokenizer = backend
        self.packer = Packer(backend, max_tokens, max_query_tokens)
        self._inputs = frozenset(tokenizer.model_input_names)
        self._padding = int(tokenizer.pad_token_id or 0)
        self.batch_tokens, self._device, self._notes = batch_tokens, device, notes
        self._query_ends = query_ends

    def run(
        self, packed: Sequence[Packed], forward: Callable[[dict[str, torch.Tensor]], torch.Tensor]
    ) -> NDArray[np.float32]:
        """Return ``forward``'s rows for all texts, float32[N, ...], in the order of `packed`.

        Batches hold texts of `packed` only, so the result is a function of it. A batch halved for lack of memory can
        change the last bits.

        Raises:
            LongRankError: memory does not suffice for a single text.
        """
        return self.run_apart([packed], forward)[0]

    def run_apart(
        self, groups: Sequence[Sequence[Packed]], forward: Callable[[dict[str, torch.Tensor]], torch.Tensor]
    ) -> list[NDArray[np.float32]]:
        """Return the result of `run` for each group, to the byte; the batches of all groups run side by side."""
        note_precision(self._device, self._notes)
        jobs = [(n, batch) for n, packed in enumerate(groups) for batch in self._batches(packed)]
        # Largest first: smaller batches fit into the memory that these free.
        jobs.sort(key=lambda job: sum(len(groups[job[0]][n].ids) for n in job[1]), reverse=True)
        rows, first_of_group = [np.empty(0, np.float32)] * len(groups), Lock()

        def keep(group: int, part: list[int], values: NDArray[np.float32]) -> None:
            """Copy at once: a network's output lies between its large blocks of memory and would pin them."""
            with first_of_group:
                if not rows[group].size:
                    rows[group] = np.empty((len(groups[group]), *values.shape[1:]), np.float32)
            rows[group][part] = values

        def work(job: tuple[int, list[int]]) -> Notes:
            group, batch = job
            notes = Notes()

            def numbers(part: list[int]) -> None:
                keep(group, part, forward(self.features([groups[group][n] for n in part])).float().cpu().numpy())

            for _ in halving(batch, numbers, notes):
                pass
            return notes

        for notes in side_by_side(work, jobs, self._device):
            self._notes.merge(notes)
        return rows

    def rows(
        self, packed: Sequence[Packed], forward: Callable[[dict[str, torch.Tensor]], torch.Tensor]
    ) -> torch.Tensor:
        """Return ``forward``'s rows for all texts, [N, ...], with gradients; texts of similar length share a batch."""
        import torch

        order = self._batches(packed)
        rows = torch.cat([forward(self.features([packed[n] for n in batch])) for batch in order])
        places = torch.tensor([n for batch in order for n in batch], device=rows.device)
        return rows[places.argsort()]

    def _batches(self, packed: Sequence[Packed]) -> list[list[int]]:
        return batches([len(text.ids) for text in packed], self.batch_tokens)

    def features(self, packed: Sequence[Packed]) -> dict[str, torch.Tensor]:
        """Return the padded tensors of texts, int64 [N, L] each, by the names of the network's inputs.

        `QUERY_END`, if wanted, is int64 [N, 1].
        """
        import torch

        shape = (len(packed), max(len(text.ids) for text in packed))
        ids, mask = np.full(shape, self._padding, np.int64), np.zeros(shape, np.int64)
        types = np.zeros(shape, np.int64)
        for row, text in enumerate(packed):
            ids[row, : len(text.ids)], mask[row, : len(text.ids)] = text.ids, 1
            types[row, : len(text.ids)] = text.type_ids
        arrays = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        wanted = {name: array for name, array in arrays.items() if name in self._inputs}
        if self._query_ends:
            wanted[QUERY_END] = np.array([[text.query_end] for text in packed], dtype=np.int64)
        return {name: torch.from_numpy(array).to(self._device) for name, array in wanted.items()}


def _check_side(tokenizer: Any) -> None:
    """Refuse tokenizers that keep the end of a long text.

    Raises:
        InputError: the tokenizer is refused.
    """
    side = getattr(tokenizer, "truncation_side", "right")
    if side != "right":
        raise InputError(
            "the model's tokenizer cuts a long text at its beginning, and texts here are cut at their end",
            path=getattr(tokenizer, "name_or_path", None) or None,
            got=f"truncation_side={side}",
            fix="set it to right in tokenizer_config.json if the model may read the beginning",
        )


def check_finite(scores: NDArray[np.float32], task: ScoringTask) -> None:
    """Refuse scores that are not finite.

    Raises:
        LongRankError: a score is not finite; names query, document and passage.
    """
    bad = np.flatnonzero(~np.isfinite(scores))
    if bad.size:
        raise LongRankError(
            f"score of passage {task.passages[int(bad[0])].index} of document {task.doc_id!r} "
            f"for query {task.query.query_id!r} is not finite"
        )
