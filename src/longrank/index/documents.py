"""Documents of an index: ids, titles, texts and passage spans, memory-mapped."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from longrank.errors import IntegrityError
from longrank.index.arrays import Array, Packed, Strings, mapped
from longrank.index.compressed_texts import BLOCKS, CompressedTexts
from longrank.types import Document


class Slots(NamedTuple):
    """Slots of an index, for search.

    Attributes:
        bases: first slot of each segment, and the number of slots.
        lengths: uint32[S], terms per document.
        ranks: uint32[S], order of the ids.
        dead: int64, the slots of deleted documents, ascending.
    """

    bases: NDArray[np.int64]
    lengths: Array
    ranks: Array
    dead: NDArray[np.int64]

    def numbers(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the living documents in some slots."""
        return slots - np.searchsorted(self.dead, slots) if len(self.dead) else slots

    def spread(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return bool[S], the values of a mask of living documents, bool[D], in their slots; False elsewhere."""
        if not len(self.dead):
            return mask
        spread = np.ones(len(self.lengths), np.bool_)
        spread[self.dead] = False
        spread[spread] = mask
        return spread


class Documents:
    """Documents by number, in the order of reading, and by id.

    Attributes:
        texts: the texts.
        lengths: uint32[D], terms per document.
        id_ranks: uint32[D], the place of each document in sorted ids.
        id_order: uint32[D], the documents in that order.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ids = Strings.mapped(folder, "ids")
        self._titles = Strings.mapped(folder, "titles")
        compressed = (folder / f"{BLOCKS}.bytes").exists()
        self.texts = CompressedTexts(folder) if compressed else Strings.mapped(folder, "texts")
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
        number = self.find(doc_id)
        if number is None:
            raise KeyError(doc_id)
        return number

    def find(self, doc_id: str) -> int | None:
        """Return the number of a document; None if there is no such document."""
        key = doc_id.encode(errors="surrogatepass")  # lone surrogates are in no id
        place = bisect_left(self.sorted_ids, key)
        if place < len(self):
            number = int(self.id_order[place])
            if self._ids[number] == key:
                return number
        return None

    @property
    def strings(self) -> dict[str, Strings]:
        """Ids, titles and texts, if they are not compressed, of all documents, by the names of their files."""
        texts = {} if isinstance(self.texts, CompressedTexts) else {"texts": self.texts}
        return {"ids": self._ids, "titles": self._titles, **texts}

    @property
    def spans(self) -> Array:
        """uint32[2 n], starts and ends of the passages of all documents."""
        return self._spans

    @property
    def span_counts(self) -> NDArray[np.int64]:
        """int64[D], passages of each document."""
        counts: NDArray[np.int64] = np.diff(self._span_offsets).astype(np.int64)
        return counts

    @property
    def slots(self) -> Slots:
        """The slots of the documents, which are their numbers."""
        return Slots(np.array([0, len(self)]), self.lengths, self.id_ranks, np.empty(0, np.int64))

    @property
    def sorted_ids(self) -> OrderedStrings:
        """All ids as bytes, sorted."""
        return OrderedStrings(self._ids, self.id_order)

    def at(self, number: int) -> Document:
        """Return the document with a number.

        Raises:
            IntegrityError: the files of the document are damaged: an index is opened without comparing checksums.
        """
        first, last = self._span_offsets[number : number + 2].tolist()
        flat = self._spans[2 * first : 2 * last].tolist()
        spans = tuple(zip(flat[::2], flat[1::2], strict=True))
        try:
            return Document(self.doc_id(number), self._titles.text(number), self.texts.text(number), spans)
        except UnicodeDecodeError:
            fix = "longrank check names the file; rebuild the index"
            raise IntegrityError(f"{self._folder}: a text is not UTF-8, so a file is damaged; {fix}") from None


class OrderedStrings(Sequence[bytes]):
    """Strings in another order than that of their list."""

    def __init__(self, strings: Strings, order: Array) -> None:
        self._strings, self._order = strings, order

    def __len__(self) -> int:
        return len(self._order)

    @property
    def packed(self) -> Packed:
        """The strings and their order, as arrays."""
        return self._strings.packed._replace(order=self._order)

    @overload
    def __getitem__(self, key: int) -> bytes: ...
    @overload
    def __getitem__(self, key: slice) -> list[bytes]: ...
    def __getitem__(self, key: int | slice) -> bytes | list[bytes]:
        if isinstance(key, int):
            return self._strings[int(self._order[key])]
        text, bounds = self._strings.gathered(self._order[key])
        gathered = text.tobytes()
        return [gathered[a:b] for a, b in pairwise(bounds.tolist())]
