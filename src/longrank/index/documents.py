"""Documents of an index: ids, titles, texts and passage spans, memory-mapped."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longrank.index.arrays import Array, Strings, mapped
from longrank.types import Document


class Documents:
    """Documents by number, in the order of reading, and by id.

    Attributes:
        lengths: uint32[D], terms per document.
        id_ranks: uint32[D], the place of each document in sorted ids.
        id_order: uint32[D], the documents in that order.
    """

    def __init__(self, folder: Path) -> None:
        self._ids = Strings.mapped(folder, "ids")
        self._titles = Strings.mapped(folder, "titles")
        self._texts = Strings.mapped(folder, "texts")
        self._spans = mapped(folder / "spans", "<u4")
        self._span_offsets = mapped(folder / "span_offsets", "<u8")
        self.id_order: Array = mapped(folder / "id_order", "<u4")
        self.id_ranks: Array = mapped(folder / "id_ranks", "<u4")
        self.lengths: Array = mapped(folder / "lengths", "<u4")

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[Document]:
        return map(self.at, range(len(self)))

    def doc_id(self, number: int) -> str:
        """Return the id of a document."""
        return self._ids[int(number)].decode()

    def doc_ids(self, numbers: NDArray[np.integer]) -> list[str]:
        """Return the ids of some documents."""
        return self._ids.decoded(numbers)

    def number(self, doc_id: str) -> int:
        """Return the number of a document.

        Raises:
            KeyError: no such document.
        """
        key = doc_id.encode(errors="surrogatepass")  # lone surrogates are in no id
        place = bisect_left(_Ordered(self._ids, self.id_order), key)
        if place < len(self):
            number = int(self.id_order[place])
            if self._ids[number] == key:
                return number
        raise KeyError(doc_id)

    def at(self, number: int) -> Document:
        """Return the document with a number."""
        first, last = self._span_offsets[number : number + 2].tolist()
        flat = self._spans[2 * first : 2 * last].tolist()
        spans = tuple(zip(flat[::2], flat[1::2], strict=True))
        return Document(self.doc_id(number), self._titles.text(number), self._texts.text(number), spans)


class _Ordered(Sequence[bytes]):
    """The sorted ids, for bisection."""

    def __init__(self, ids: Strings, order: Array) -> None:
        self._ids, self._order = ids, order

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, place: int) -> bytes:  # type: ignore[override]
        return self._ids[int(self._order[place])]
