"""Write packed postings, term by term."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from longrank.index.arrays import Array, ArrayWriter
from longrank.index.stored_postings import CODE_BEGINS, CODES


class PackedWriter:
    """Appends the postings of terms to the two files of packed postings."""

    def __init__(self, folder: Path, classes: NDArray[np.uint8]) -> None:
        """Open the files in `folder`; `classes`: uint8[D], the length code of each document."""
        self._classes, self._end = classes, 0
        with ExitStack() as stack:
            self._codes = stack.enter_context(ArrayWriter(folder / CODES, "<u1"))
            self._begins = stack.enter_context(ArrayWriter(folder / CODE_BEGINS, "<u8"))
            self._begins.append([0])
            self._stack = stack.pop_all()

    def append(self, docs: NDArray[np.uint32], tfs: Array, dfs: NDArray[np.int64]) -> None:
        """Append terms.

        Args:
            docs: documents of all postings, ascending for each term.
            tfs: occurrences.
            dfs: int64[T], postings of each term, at least 1.
        """
        from longrank.index.blocks import encode, most_bytes

        out = np.zeros(most_bytes(len(docs), len(dfs)), np.uint8)
        ends = np.empty(len(dfs), np.int64)
        n_bytes = encode(docs, tfs.astype(np.uint32, copy=False), dfs, self._classes, out, ends)
        self._codes.append(out[:n_bytes])
        self._begins.append(ends + self._end)
        self._end += n_bytes

    def __enter__(self) -> PackedWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)
