"""What all networks share: quiet loading, checks of the loaded weights, and padded batches.

torch is imported only when a network is loaded.
"""

from __future__ import annotations

import copy
import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError, LongRankError, MissingExtra, first_line
from longrank.protocols import ScoringTask
from longrank.scoring.backoff import halving
from longrank.scoring.batching import batches
from longrank.scoring.models import Model
from longrank.scoring.parallel import side_by_side
from longrank.text.packing import Packed, Packer
from longrank.types import Notes

if TYPE_CHECKING:
    import torch

DEFAULT_BATCH_TOKENS = 2048
"""Padded tokens per batch: about where a CPU is fastest; accelerators want more."""

_NEURAL = ("torch", "transformers", "sentence_transformers", "tokenizers", "safetensors", "accelerate")
_DEVICES = ("cpu", "cuda", "mps", "xpu")
_LEAST_TOKENS = 8  # special tokens and a word or two
_UNLIMITED = 1 << 20  # tokenizers without a limit of their own say 1e30


@contextmanager
def loading(model: Model) -> Iterator[None]:
    """Silence progress bars while a model is loaded, and turn what goes wrong into one line.

    Raises:
        MissingExtra: torch or transformers are not installed.
        InputError: the library cannot load the model.
    """
    with quiet():
        try:
            yield
        except (LongRankError, MemoryError):
            raise
        except ModuleNotFoundError as error:
            if error.name in _NEURAL:
                raise MissingExtra(f"the model '{model.name}'", "neural") from error
            raise InputError(f"the model needs the package {error.name}", path=model.path) from error
        except Exception as error:  # whatever these libraries raise on a folder they cannot read
            raise InputError(f"the model cannot be loaded: {first_line(error)}", path=model.path) from error


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers and sentence-transformers from writing to stderr; what matters is checked here."""
    loggers = [logging.getLogger(name) for name in ("transformers", "sentence_transformers")]
    levels = [logger.level for logger in loggers]
    bars = _switch_bars(False)
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        _switch_bars(bars)


def _switch_bars(on: bool) -> bool:
    """Switch the progress bars of transformers; return whether they were on."""
    try:
        from transformers.utils import logging as bars
    except ModuleNotFoundError:
        return False  # said by name when the model is loaded
    was: bool = bars.is_progress_bar_enabled()
    (bars.enable_progress_bar if on else bars.disable_progress_bar)()
    return was


def choose_device(device: str) -> str:
    """Return the torch device for ``auto`` (an accelerator if there is one), or the one named.

    Raises:
        InputError: no such device here, or none that a network can be computed on.
    """
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if device.partition(":")[0] not in _DEVICES:
        raise InputError(f"device must be auto, or one of {', '.join(_DEVICES)}", got=device)
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError):
        raise InputError("device is not available here", got=device, fix="use cpu or auto") from None
    return device


def position_limit(network: Any) -> int:
    """Return how many tokens a transformers model can read, by its position embeddings."""
    limit = getattr(network.config, "max_position_embeddings", None)
    if not isinstance(limit, int) or limit < 1:
        return _UNLIMITED
    # RoBERTa and its kin count positions from the padding id on.
    embeddings = getattr(network.base_model, "embeddings", None)
    padding = getattr(getattr(embeddings, "position_embeddings", None), "padding_idx", None)
    return limit if padding is None else limit - int(padding) - 1


def choose_max_tokens(model: Model, wanted: int | None, *limits: int | None) -> int:
    """Return the length to read: the least of the model's limits, or a lesser one that is wanted.

    Raises:
        InputError: more is wanted than the model can read, or hardly anything; or it can read hardly anything.
    """
    limit = min([limit for limit in limits if limit is not None and limit < _UNLIMITED], default=512)
    if limit < _LEAST_TOKENS:
        raise InputError(f"the model reads {limit} tokens at most, too few for a passage", path=model.path)
    if wanted is not None and not _LEAST_TOKENS <= wanted <= limit:
        raise InputError(
            f"max_tokens must be between {_LEAST_TOKENS} and {limit}, what '{model.name}' can read",
            got=wanted,
            fix=f"give {limit} or less (--max-tokens of expand; by --set, read.max_tokens of a training, "
            "scorer.options.max_tokens of a pipeline)",
        )
    return limit if wanted is None else wanted


def check_at_least(name: str, value: int, least: int) -> None:
    """Refuse an option that is too small.

    Raises:
        InputError: it is.
    """
    if value < least:
        raise InputError(f"{name} must be {least} or more", got=value)


class OffsetTokenizer:
    """A model's tokenizer for windows of wordpieces."""

    def __init__(self, tokenizer: Any) -> None:
        """Take a ``tokenizers.Tokenizer`` whose truncation and padding are off."""
        self._tokenizer = tokenizer

    @property
    def fingerprint(self) -> str:
        """Names vocabulary and rules."""
        return hashlib.sha256(self._tokenizer.to_str().encode()).hexdigest()[:16]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return (start, end) in code points of every token of `text`, special tokens left out."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).offsets)


class Feeder:
    """Turns packed texts into the padded tensors a network wants, batch by batch.

    Args:
        tokenizer: a transformers tokenizer: names the network's inputs and the padding.
        max_tokens: longest input.
        max_query_tokens: longest query in a pair.
        batch_tokens: padded tokens per batch.
        device: where the tensors go.
        notes: counts batches that were halved because memory ran out.

    Attributes:
        tokenizer: a copy of the ``tokenizers.Tokenizer``, its truncation and padding switched off.
        packer: packs texts with that copy.
        offset_tokenizer: the same copy, for windows of wordpieces.
    """

    def __init__(
        self,
        tokenizer: Any,
        max_tokens: int,
        *,
        max_query_tokens: int,
        batch_tokens: int,
        device: str,
        notes: Notes,
    ) -> None:
        own = copy.deepcopy(tokenizer.backend_tokenizer)  # transformers switches truncation and padding of its own on
        self.tokenizer = own
        self.packer = Packer(own, max_tokens, max_query_tokens)
        self.offset_tokenizer = OffsetTokenizer(own)
        self._inputs = frozenset(tokenizer.model_input_names)
        self._padding = int(tokenizer.pad_token_id or 0)
        self._batch_tokens, self._device, self._notes = batch_tokens, device, notes

    def run(
        self, packed: Sequence[Packed], forward: Callable[[dict[str, torch.Tensor]], torch.Tensor]
    ) -> NDArray[np.float32]:
        """Return ``forward``'s rows for all texts, float32[N, ...], in the order given.

        Batches are formed among `packed` only, so the result is a pure function of it; where memory runs out,
        a batch is halved, which can change the last bits.

        Raises:
            LongRankError: there is no memory for one text alone.
        """
        return self.run_apart([packed], forward)[0]

    def run_apart(
        self, groups: Sequence[Sequence[Packed]], forward: Callable[[dict[str, torch.Tensor]], torch.Tensor]
    ) -> list[NDArray[np.float32]]:
        """Return what `run` returns for each group: the same bytes, but the batches of all run side by side."""
        jobs = [(n, batch) for n, packed in enumerate(groups) for batch in self._batches(packed)]
        # The largest first: the memory that they leave then holds all others.
        jobs.sort(key=lambda job: sum(len(groups[job[0]][n].ids) for n in job[1]), reverse=True)
        rows, first_of_group = [np.empty(0, np.float32)] * len(groups), Lock()

        def keep(group: int, part: list[int], values: NDArray[np.float32]) -> None:
            """Copy at once: what a network returns lies between its own large blocks of memory and would pin them."""
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
        """Return ``forward``'s rows for all texts, [N, ...], with gradients; those of like length at once."""
        import torch

        order = self._batches(packed)
        rows = torch.cat([forward(self.features([packed[n] for n in batch])) for batch in order])
        places = torch.tensor([n for batch in order for n in batch], device=rows.device)
        return rows[places.argsort()]

    def _batches(self, packed: Sequence[Packed]) -> list[list[int]]:
        return batches([len(one.ids) for one in packed], self._batch_tokens)

    def features(self, packed: Sequence[Packed]) -> dict[str, torch.Tensor]:
        """Return the padded tensors of some texts, int64 [N, L] each, by the names of the network's inputs."""
        import torch

        shape = (len(packed), max(len(one.ids) for one in packed))
        ids, mask = np.full(shape, self._padding, np.int64), np.zeros(shape, np.int64)
        types = np.zeros(shape, np.int64)
        for row, one in enumerate(packed):
            ids[row, : len(one.ids)], mask[row, : len(one.ids)] = one.ids, 1
            types[row, : len(one.ids)] = one.type_ids
        arrays = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        return {
            name: torch.from_numpy(array).to(self._device) for name, array in arrays.items() if name in self._inputs
        }


def check_finite(scores: NDArray[np.float32], task: ScoringTask) -> None:
    """Refuse a score that is not a number.

    Raises:
        LongRankError: names query, document and passage.
    """
    bad = np.flatnonzero(~np.isfinite(scores))
    if bad.size:
        raise LongRankError(
            f"score of passage {task.passages[int(bad[0])].index} of document {task.doc_id!r} "
            f"for query {task.query.query_id!r} is not finite"
        )
