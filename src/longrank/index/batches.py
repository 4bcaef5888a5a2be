"""Cut the stream of documents into batches; a segment is made of a batch.

A batch holds columns of plain strings, which reach another process several times as fast as documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from longrank.formats.metadata import json_text

if TYPE_CHECKING:
    from longrank.formats.corpora import Located

_CHARS = 4 << 20  # characters of the first batches: so small that few documents are shared out evenly, too
_GROWTH = 32  # batches until their size doubles, so that the segments of many documents can be merged quickly
_MOST = 4  # largest batch, in multiples of the first
_COSTS = 256  # characters added for each document: offsets, objects


@dataclass(slots=True)
class Batch:
    """Documents as columns; see `longrank.formats.corpora.Located`. An empty analyzer is that of the index."""

    ids: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    passages: list[tuple[tuple[int, int], ...]] = field(default_factory=list)
    metadata: list[str] = field(default_factory=list)
    expansions: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    lines: list[int | None] = field(default_factory=list)
    analyzers: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    def append(self, located: Located, analyzer: str) -> None:
        """Add a document."""
        document, path, line, expansion = located
        self.ids.append(document.doc_id)
        self.titles.append(document.title)
        self.texts.append(document.text)
        self.passages.append(document.passages)
        self.metadata.append(json_text(document.metadata))
        self.expansions.append(expansion)
        self.paths.append(path)
        self.lines.append(line)
        self.analyzers.append(analyzer)


def batches(documents: Iterable[Located], analyzer: Callable[[Located], str]) -> Iterator[Batch]:
    """Cut the stream by the size of the documents, so always at the same places; `analyzer` names each document's."""
    batch, n_batches, left = Batch(), 0, _CHARS
    for located in documents:
        batch.append(located, analyzer(located))
        document = located.document
        left -= len(document.title) + len(document.text) + len(batch.metadata[-1]) + len(located.expansion) + _COSTS
        if left <= 0:
            yield batch
            n_batches += 1
            batch, left = Batch(), _CHARS * min(2 ** (n_batches // _GROWTH), _MOST)
    if batch:
        yield batch
