"""Split and encode documents by the workers of an engine; the vectors are those of a single process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import islice
from typing import Any, Generic, TypeVar

from longrank.engines import Engine, check_same_model, in_order, opening_here
from longrank.networks.threads import use_threads
from longrank.protocols import Segmenter
from longrank.text.segment import make_segmenter
from longrank.types import Document, Notes

E = TypeVar("E")  # encoder
D = TypeVar("D")  # a document's vectors

_AT_ONCE = 16  # documents per task


@dataclass
class Encoding(ABC, Generic[E, D]):
    """Splits and encodes documents; a worker loads the model at its first batch.

    Attributes:
        model: an encoder: an alias, a folder or a Hugging Face name.
        preset: segmentation preset, a key of `longrank.text.segment.PRESETS`.
        threads: CPU threads of a worker; None: as they are.
        fingerprint: fingerprint of the encoder that the command loaded, which a worker compares with its own; empty
            until then.
    """

    model: str
    preset: str
    threads: int | None
    fingerprint: str = ""

    @abstractmethod
    def load(self, notes: Notes) -> E:
        """Load the encoder."""

    @abstractmethod
    def vectors(self, encoder: E, segmenter: Segmenter, batch: Sequence[Document], notes: Notes) -> list[D]:
        """Return the vectors of some documents; `notes` takes remarks."""

    @cached_property
    def opened(self) -> tuple[E, Segmenter, Notes]:
        """The encoder, the segmenter, and the remarks of the encoder."""
        notes = Notes()
        encoder: Any = self.load(notes)
        check_same_model(encoder.fingerprint, self.fingerprint, self.model)
        self.fingerprint = encoder.fingerprint
        return encoder, make_segmenter(self.preset, tokenizer=encoder.offset_tokenizer), notes

    def __reduce__(self) -> tuple[type[Encoding[E, D]], tuple[object, ...]]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # the model does not travel

    def __call__(self, batch: Sequence[Document]) -> tuple[list[D], Notes]:
        """Return the vectors of some documents, and the remarks on them."""
        if "opened" not in vars(self):
            with opening_here():
                self.opened  # noqa: B018 - loads
            use_threads(self.threads)
        encoder, segmenter, notes = self.opened
        before, made = notes.copy(), Notes()
        documents = self.vectors(encoder, segmenter, batch, made)
        made.merge(notes.since(before))
        return documents, made

    def by(self, engine: Engine, documents: Iterator[Document], notes: Notes) -> Iterator[D]:
        """Yield the vectors of each document, in order, by the workers of an engine; `notes` takes their remarks."""
        batches = iter(lambda: list(islice(documents, _AT_ONCE)), [])
        for vectors, made in in_order(engine.each(self, batches)):
            notes.merge(made)
            yield from vectors
