"""Which texts of a document a model reads to predict its queries.

    [passages]                 # see longrank.text.segment.PRESETS; any option of the preset may be set
    preset = "doct5query"
    max_characters = 10000     # of a document; 0: all of it
    title = true               # whether each passage begins with the document's title

docTTTTTquery reads the first 10,000 characters of MS MARCO's documents in windows of 10 sentences, one every 5.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from longrank.config import Assignments, lookup, override, validated
from longrank.protocols import Segmenter
from longrank.ranking.passages import text_read
from longrank.ranking.settings import Passages
from longrank.text.segment import make_segmenter
from longrank.text.windows import OffsetTokenizer
from longrank.types import Document

READINGS = MappingProxyType(
    {
        "doct5query": {"passages": {"preset": "doct5query"}, "max_characters": 10_000, "title": True},
        "whole": {"passages": {"preset": "whole"}, "max_characters": 0, "title": True},
    }
)


class ReadingSettings(BaseModel):
    """What is read; see the head of this module."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    passages: Passages
    max_characters: int = Field(ge=0)
    title: bool


class Read(NamedTuple):
    """The texts of a document's passages, empty where a passage is; the passages' numbers; what was left out."""

    texts: tuple[str, ...]
    passages: tuple[int, ...]
    remarks: dict[str, int]


class Reading:
    """Makes texts of documents.

    Args:
        preset: a key of `READINGS`.
        assignments: ``key=value``, settings that replace the preset's own.
        tokenizer: of the model, for passages of wordpieces.

    Raises:
        InputError: no such preset or setting, or a value that is wrong.
    """

    def __init__(self, preset: str, assignments: Assignments, tokenizer: OffsetTokenizer | None = None) -> None:
        data: dict[str, Any] = lookup(READINGS, preset, "preset of what is read")
        self._settings = validated(ReadingSettings, override(data, assignments), preset)
        passages = self._settings.passages
        self._segmenter: Segmenter = make_segmenter(passages.preset, passages.options, tokenizer)
        self.fingerprint = (
            f"{self._segmenter.fingerprint} max_characters={self._settings.max_characters} title={self._settings.title}"
        )

    def read(self, document: Document) -> Read:
        """Return what the model reads of a document."""
        remarks: dict[str, int] = {}
        begun = self._begun(document)
        found = self._segmenter.segment(begun)
        if len(begun.text) < len(document.text):
            remarks[f"documents read to character {self._settings.max_characters:,}"] = 1
        if left_out := found.n_passages - len(found.passages):
            remarks["passages left out"] = left_out
        title = self._settings.title
        texts = tuple(text_read(begun, one.text, title=title) if one.text else "" for one in found.passages)
        return Read(texts, tuple(one.index for one in found.passages), remarks)

    def _begun(self, document: Document) -> Document:
        """Return the document, its text and its own passages up to the last character that is read."""
        end = self._settings.max_characters
        if not 0 < end < len(document.text):
            return document
        spans = tuple((a, min(b, end)) for a, b in document.passages if a < end)
        return replace(document, text=document.text[:end], passages=spans)
