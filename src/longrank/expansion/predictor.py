"""Predict queries that texts answer, with a sequence-to-sequence model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from longrank.errors import InputError
from longrank.expansion.decoding import Decoding, TextKey, end_tokens, first_logits, written
from longrank.expansion.network import open_seq2seq
from longrank.networks.acceleration import check_dtype, to_bf16
from longrank.networks.backoff import halving
from longrank.networks.feeding import DEFAULT_BATCH_TOKENS, Feeder, OffsetTokenizer
from longrank.networks.inference import note_precision
from longrank.networks.loading import choose_device, choose_max_tokens, forget_habits, loading, position_limit
from longrank.networks.model_files import Model
from longrank.networks.padding import check_padding
from longrank.networks.parallel import side_by_side
from longrank.registries import check_at_least
from longrank.text.packing import Packed
from longrank.types import Notes

DEFAULT_BATCH = 64
"""Queries predicted at a time."""


class Prediction(NamedTuple):
    """The queries of a text, in the order of drawing, or the likeliest first.

    Attributes:
        queries: without special tokens, single blanks between words; empty queries are left out, duplicates are kept.
        text_cut: whether the text was longer than the model reads.
        n_cut: queries that were cut at the maximum length.
        n_empty: empty queries.
    """

    queries: tuple[str, ...]
    text_cut: bool = False
    n_cut: int = 0
    n_empty: int = 0


class QueryPredictor:
    """Predict queries with a model.

    Args:
        model: its files.
        decoding: sampling or beam search.
        max_tokens: tokens read of a text; None: the model's own limit, or 512.
        batch: queries predicted at a time, 1 or more; on a CPU by each core. It changes the last bits of scores only.
        device: a torch device, or ``auto``.
        dtype: ``float32`` or ``bf16``.
        notes: counts batches that were halved because memory ran out.

    Attributes:
        fingerprint: names the model and everything that its queries depend on.
        batch: queries predicted at a time.
        offset_tokenizer: the model's tokenizer, for passages of wordpieces.

    Raises:
        InputError: as `open_seq2seq` and `Decoding.check`, or an option is out of range.
        MissingExtra: torch or transformers are not installed.
    """

    def __init__(
        self,
        model: Model,
        decoding: Decoding,
        *,
        max_tokens: int | None = None,
        batch: int = DEFAULT_BATCH,
        device: str = "auto",
        dtype: str = "float32",
        notes: Notes,
    ) -> None:
        decoding.check()
        check_at_least("batch", batch, 1)
        with loading(model):
            check_dtype(dtype, choose_device(device).partition(":")[0])
        self._network, self._tokenizer = open_seq2seq(model, dtype)
        with loading(model):
            check_padding(model, self._network, self._tokenizer, partial(first_logits, self._network), "a")
        forget_habits(self._network)
        if dtype == "bf16":
            to_bf16(self._network)
        self._network.to(choose_device(device))
        positions = position_limit(self._network)
        if decoding.max_query_tokens > positions:  # decoders of BART count positions, too
            what = f"'{model.name}' writes {positions} tokens at most"
            raise InputError(what, path=model.path, got=f"max_query_tokens={decoding.max_query_tokens}")
        self.max_tokens = choose_max_tokens(model, max_tokens, self._tokenizer.model_max_length, positions)
        self.decoding, self.batch, self._notes = decoding, batch, notes
        self._device, self._ends = str(self._network.device), end_tokens(self._network)
        self._feeder = Feeder(
            self._tokenizer,
            self.max_tokens,
            max_query_tokens=1,
            batch_tokens=DEFAULT_BATCH_TOKENS,
            device=self._device,
            notes=notes,
        )
        self.offset_tokenizer = OffsetTokenizer(self._feeder.tokenizer, self._feeder.packer.text_room)
        settings = " ".join(f"{name}={value}" for name, value in decoding._asdict().items())
        self.fingerprint = (
            f"{model.fingerprint} {settings} read={self.max_tokens} batch={batch} "
            f"device={self._network.device.type} dtype={dtype}"
        )

    def predict(self, texts: Sequence[str], keys: Sequence[TextKey]) -> list[Prediction]:
        """Return the queries of each text; a blank text has none.

        Args:
            texts: the texts to read.
            keys: of each text; its draws are functions of it.

        Raises:
            LongRankError: there is no memory for a single text.
        """
        all_predictions = [Prediction(())] * len(texts)
        filled = [n for n, text in enumerate(texts) if text.strip()]
        packed = dict(zip(filled, self._feeder.packer.texts([texts[n] for n in filled]), strict=True))
        for batch, predictions, notes in side_by_side(
            lambda batch: self._written(batch, packed, keys), self._batches(packed), self._device
        ):
            self._notes.merge(notes)
            for n, prediction in zip(batch, predictions, strict=True):
                all_predictions[n] = prediction
        return all_predictions

    def _batches(self, packed: dict[int, Packed]) -> list[list[int]]:
        """Return batches of texts of similar length, by number."""
        order = sorted(packed, key=lambda n: len(packed[n].ids))
        step = max(1, self.batch // self.decoding.n)
        return [order[first : first + step] for first in range(0, len(order), step)]

    def _written(
        self, batch: list[int], packed: dict[int, Packed], keys: Sequence[TextKey]
    ) -> tuple[list[int], list[Prediction], Notes]:
        notes = Notes()
        note_precision(self._device, notes)

        def rows(part: list[int]) -> list[list[list[int]]]:
            features = self._feeder.features([packed[n] for n in part])
            return written(self._network, features, [keys[n] for n in part], self.decoding)

        parts = list(halving(batch, rows, notes))
        predictions = [
            self._prediction(packed[n], queries)
            for part, by_text in parts
            for n, queries in zip(part, by_text, strict=True)
        ]
        return batch, predictions, notes

    def _prediction(self, text: Packed, rows: Sequence[list[int]]) -> Prediction:
        ended = [self._ended(row[1:]) for row in rows]  # the first token begins every query
        queries = [" ".join(self._tokenizer.decode(ids, skip_special_tokens=True).split()) for ids, _ in ended]
        kept = tuple(filter(None, queries))
        return Prediction(kept, text.truncated, sum(cut for _, cut in ended), len(queries) - len(kept))

    def _ended(self, ids: list[int]) -> tuple[list[int], bool]:
        """Return the tokens up to the end of a query, and whether its end was cut off."""
        end = next((place for place, token in enumerate(ids) if token in self._ends), None)
        return ids[:end], end is None
