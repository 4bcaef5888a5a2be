"""Split a document at its headings, then into windows inside the sections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from longrank.text.segmenters import Cap, segmentation_of
from longrank.text.windows import Units, whitespace_words, windows_over
from longrank.types import Document, Segmentation, Span


@dataclass(frozen=True)
class Sections:
    """Windows of words that do not cross a heading; a document without headings is one section.

    A section of fewer than `shortest` words is joined with the next section, the last one with the section before.
    """

    fingerprint: str
    length: int
    stride: int
    shortest: int
    cap: Cap

    def segment(self, document: Document) -> Segmentation:
        """Return the windows of all sections, in order of appearance."""
        words = whitespace_words(document.text)
        spans = list(self._windows(words, _begins(document, words)))
        chosen = self.cap.choose(len(spans), document.doc_id)
        return segmentation_of(document, ((number, spans[number]) for number in chosen), len(spans))

    def _windows(self, words: Units, begins: list[int]) -> Iterator[Span]:
        for first, after in self._sections(begins, len(words)):
            for begin in windows_over(after - first, self.length, self.stride, drop_contained=True):
                yield words.span(first + begin, min(first + begin + self.length, after))

    def _sections(self, begins: list[int], n_words: int) -> list[tuple[int, int]]:
        """Return (first word, one past the last) of each section."""
        sections: list[tuple[int, int]] = []
        first = 0
        for after in [*begins, n_words]:
            if after - first >= self.shortest and after > first:
                sections.append((first, after))
                first = after
        if first < n_words:
            begin = sections.pop()[0] if sections else 0
            sections.append((begin, n_words))
        return sections


def _begins(document: Document, words: Units) -> list[int]:
    """Return the number of the first word of each heading, ascending."""
    starts = words.starts.searchsorted([start for start, _, _ in document.headings])
    return sorted(set(starts.tolist()))
