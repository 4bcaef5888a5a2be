"""The stream of documents, cut into batches: what one segment is made of.

A batch is columns of plain strings rather than documents, which reach another process several times as fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longrank.formats.corpora import Located

_CHARS = 4 << 20  # of the first batches: so small that few documents, too, are shared out evenly
_GROWTH = 32  # batches, after which they become twice as large: so the segments of many can still be merged quickly
_MOST = 4  # times as large as the first
_COSTS = 256  # characters that a document counts for besides its own: offsets, objects


@dataclass(slots=True)
class Batch:
    """Documents, the i-th of which is the i-th of every list; see `longrank.formats.corpora.Located`."""

    ids: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    passages: list[tuple[tuple[int, int], ...]] = field(default_factory=list)
    expansions: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    lines: list[int | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    def append(self, one: Located) -> None:
        """Add a document."""
        document, path, line, expansion = one
        self.ids.append(document.doc_id)
        self.titles.append(document.title)
        self.texts.append(document.text)
        self.passages.append(document.passages)
        self.expansions.append(expansion)
        self.paths.append(path)
        self.lines.append(line)


def batches(documents: Iterable[Located]) -> Iterator[Batch]:
    """Cut the stream by the size of what the documents hold, so always at the same places."""
    batch, n_batches, left = Batch(), 0, _CHARS
    for one in documents:
        batch.append(one)
        left -= len(one.document.title) + len(one.document.text) + len(one.expansion) + _COSTS
        if left <= 0:
            yield batch
            n_batches += 1
            batch, left = Batch(), _CHARS * min(2 ** (n_batches // _GROWTH), _MOST)
    if batch:
        yield batch
