"""A long sequence less a few of its items, by number, in the memory of the few."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from typing import overload


class Without(Sequence[str]):
    """A sequence less some of its places, not copied: the collection less a query's relevant documents."""

    def __init__(self, items: Sequence[str], places: Collection[int]) -> None:
        self._items = items
        self._n_kept_before = [place - i for i, place in enumerate(sorted(places))]  # of each place left out

    def __len__(self) -> int:
        return len(self._items) - len(self._n_kept_before)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        """Return the item; of slices, a tuple."""
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        kept = range(len(self))[index]
        return self._items[kept + bisect_right(self._n_kept_before, kept)]

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))
