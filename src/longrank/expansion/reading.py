"""Texts of a document that a model reads to predict queries.

    [passages]                 # see longrank.text.segment.PRESETS; any option of the preset may be set
    preset = "doct5query"
    max_characters = 10000     # characters of a document; 0: all
    title = true               # put the document's title before each passage

docTTTTTquery reads the first 10,000 characters of MS MARCO's documents in windows of 10 sentences, one every 5.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from longrank.config import Assignments, override, validated
from longrank.protocols import Segmenter
from longrank.ranking.passages import repeats_title, texts_read
from longrank.ranking.settings import Passages
from longrank.registries import lookup
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
    """Settings of a preset; see the head of this module."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    passages: Passages
    max_characters: int = Field(ge=0)
    title: bool


class Read(NamedTuple):
    """Texts and numbers of a document's passages, and counts of cut or missing text; empty passages have no text."""

    texts: tuple[str, ...]
    passages: tuple[int, ...]
    remarks: dict[str, int]


class Reading:
    """Make texts of documents.

    Args:
        preset: a key of `READINGS`.
        assignments: ``key=value``, settings that replace those of the preset.
        tokenizer: of the model, for passages of wordpieces.

    Raises:
        InputError: no such preset or setting, or a wrong value.
    """

    def __init__(self, preset: str, assignments: Assignments, tokenizer: OffsetTokenizer | None = None) -> None:
        data: dict[str, Any] = lookup(READINGS, preset, "reading preset")
        self._settings = validated(ReadingSettings, override(data, assignments), preset)
        passages = self._settings.passages
        self._segmenter: Segmenter = make_segmenter(
            passages.preset, passages.options, tokenizer, title=self._settings.title
        )
        self.fingerprint = (
            f"{self._segmenter.fingerprint} max_characters={self._settings.max_characters} title={self._settings.title}"
        )

    def read(self, document: Document) -> Read:
        """Return the texts that the model reads of a document."""
        remarks: dict[str, int] = {}
        cut = self._cut(document)
        segmentation = self._segmenter.segment(cut)
        if len(cut.text) < len(document.text):
            remarks[f"documents read to character {self._settings.max_characters:,}"] = 1
        if left_out := segmentation.n_passages - len(segmentation.passages):
            remarks["passages left out"] = left_out
        if segmentation.title is not None:
            remarks["titles cut"] = 1
        if self._settings.title and repeats_title(document):
            remarks["documents whose text begins with their title, which is read twice there"] = 1
        passages = segmentation.passages
        texts = texts_read(cut, segmentation, title=self._settings.title)
        filled = tuple(text if passage.text else "" for text, passage in zip(texts, passages, strict=True))
        return Read(filled, tuple(passage.index for passage in passages), remarks)

    def _cut(self, document: Document) -> Document:
        """Return the document with its text and its own passages cut at the last character that is read."""
        end = self._settings.max_characters
        if not 0 < end < len(document.text):
            return document
        spans = tuple((a, min(b, end)) for a, b in document.passages if a < end)
        return replace(document, text=document.text[:end], passages=spans)
