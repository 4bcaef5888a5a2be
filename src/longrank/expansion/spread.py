"""Blocks of documents shared out to the workers of an engine; the queries are those of a single process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from longrank.engines import Engine, check_same_model, in_order, opening_here
from longrank.expansion.decoding import Decoding
from longrank.expansion.expand import Block, PredictBlocks, predicted
from longrank.expansion.predictor import QueryPredictor
from longrank.networks.model_files import find_model
from longrank.networks.threads import use_threads
from longrank.types import Notes


@dataclass
class Predicting:
    """A predictor that a worker opens for itself, at its first block.

    Attributes:
        model: a Hugging Face name or a folder.
        decoding: how queries are decoded.
        options: further options of `QueryPredictor`.
        threads: CPU threads of the worker; None: as they are.
        fingerprint: fingerprint of the predictor that the command opened, which a worker compares with its own.
    """

    model: str
    decoding: Decoding
    options: Mapping[str, Any]
    threads: int | None = None
    fingerprint: str = ""
    _opened: tuple[QueryPredictor, Notes] | None = field(default=None, init=False)

    def open(self, notes: Notes) -> QueryPredictor:
        """Return the predictor.

        Raises:
            Changed: it is not the command's.
            InputError, MissingExtra: as `QueryPredictor`.
        """
        predictor = QueryPredictor(find_model(self.model), self.decoding, **self.options, notes=notes)
        check_same_model(predictor.fingerprint, self.fingerprint, self.model)
        return predictor

    def __call__(self, block: Block) -> tuple[list[dict[str, Any]], Notes]:
        """Return the record of each document of a block, and the remarks on it."""
        if self._opened is None:
            notes = Notes()
            with opening_here():
                self._opened = self.open(notes), notes
            use_threads(self.threads)
        predictor, notes = self._opened
        before = notes.copy()
        return predicted(block, predictor), notes.since(before)


def predicting_by(engine: Engine, predicting: Predicting, notes: Notes) -> PredictBlocks:
    """Return what predicts for blocks by the workers of an engine, in order; `notes` takes their remarks."""

    def predict(blocks: Iterable[Block]) -> Iterator[list[dict[str, Any]]]:
        for records, made in in_order(engine.each(predicting, blocks)):
            notes.merge(made)
            yield records

    return predict
