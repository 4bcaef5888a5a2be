"""Texts of an index, compressed by Zstandard in blocks of whole documents, with a dictionary trained on the collection.

    texts.offsets          uint64[D + 1], offsets of the texts in all texts, one after another
    text_blocks            a list of strings: the compressed blocks
    text_firsts            uint32[B + 1], first document of each block, and D
    text_dictionary        the dictionary; empty if there is too little text to train a dictionary

Blocks and dictionary depend on the texts alone, so equal documents give equal bytes (with equal versions of Zstandard).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from longrank.errors import IntegrityError, MissingExtra
from longrank.index.arrays import ArrayWriter, Strings, StringsWriter, mapped
from longrank.index.segments import Segment

BLOCKS = "text_blocks"

_FIRSTS, _DICTIONARY = "text_firsts", "text_dictionary"
_BLOCK = 4 << 10  # bytes of text in a block, or a single longer text
_LEVEL = 9
_MOST, _SHARE, _LEAST = 32 << 10, 64, 1 << 8  # bytes of the dictionary: at most, share of all texts, at least
_SAMPLES, _SAMPLE = 1024, 4 << 10  # pieces that the dictionary is trained on, and their bytes


def zstandard() -> Any:
    """Return the module for Zstandard: that of Python from 3.14 on, else that of the extra.

    Raises:
        MissingExtra: there is neither.
    """
    for name in ("compression.zstd", "backports.zstd"):
        with suppress(ModuleNotFoundError):
            return import_module(name)
    raise MissingExtra("an index with compressed texts", "zstd")


class CompressedTexts:
    """Texts by number; the latest block is kept. Safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        """Open the texts in a data folder.

        Raises:
            MissingExtra: Zstandard is not installed.
        """
        self._path, self._zstd = folder / f"{BLOCKS}.bytes", zstandard()
        self._blocks = Strings.mapped(folder, BLOCKS)
        self._firsts, self._bounds = mapped(folder / _FIRSTS, "<u4"), mapped(folder / "texts.offsets", "<u8")
        self._dictionary = _loaded(self._zstd, (folder / _DICTIONARY).read_bytes())
        self._latest = -1, b""

    def text(self, number: int) -> str:
        """Return the text of a document; raises as `encoded`."""
        return self.encoded(number).decode()

    def encoded(self, number: int) -> bytes:
        """Return the UTF-8 bytes of the text of a document.

        Raises:
            IntegrityError: the block of the document is damaged.
        """
        block = int(np.searchsorted(self._firsts, np.uint32(number), side="right")) - 1
        latest, texts = self._latest
        if latest != block:
            texts = self._decompressed(block)
            self._latest = block, texts
        start, stop = (self._bounds[number : number + 2] - self._bounds[self._firsts[block]]).tolist()
        return texts[start:stop]

    def _decompressed(self, block: int) -> bytes:
        first, last = self._firsts[block : block + 2].tolist()
        size = int(self._bounds[last] - self._bounds[first])
        decompressor = self._zstd.ZstdDecompressor(zstd_dict=self._dictionary)
        try:
            texts: bytes = decompressor.decompress(self._blocks[block], max_length=size + 1)
        except self._zstd.ZstdError as error:
            raise IntegrityError(f"{self._path}: damaged ({error}); rebuild the index") from None
        if len(texts) != size or not decompressor.eof:
            raise IntegrityError(f"{self._path}: damaged (a block of another size); rebuild the index")
        return texts


def write_compressed(segments: Sequence[Segment], folder: Path) -> None:
    """Compress the texts of some segments, one after another, into `folder`.

    Raises:
        MissingExtra: Zstandard is not installed.
    """
    zstd, end = zstandard(), 0
    dictionary = _trained(segments, zstd)
    (folder / _DICTIONARY).write_bytes(dictionary)
    with ArrayWriter(folder / "texts.offsets", "<u8") as offsets:
        offsets.append([0])
        for segment in segments:
            own = segment.array("texts.offsets")[:]
            offsets.append(own[1:] + np.uint64(end))
            end += int(own[-1])
    compressor = zstd.ZstdCompressor(level=_LEVEL, zstd_dict=_loaded(zstd, dictionary))
    texts = (text for segment in segments for text in segment.strings("texts"))
    done = 0
    with StringsWriter(folder, BLOCKS) as blocks, ArrayWriter(folder / _FIRSTS, "<u4") as firsts:
        for block in _cut(texts):
            blocks.extend([compressor.compress(b"".join(block), mode=compressor.FLUSH_FRAME)])
            firsts.append([done])
            done += len(block)
        firsts.append([done])


def _cut(texts: Iterable[bytes]) -> Iterator[list[bytes]]:
    block, size = list[bytes](), 0
    for text in texts:
        block.append(text)
        size += len(text)
        if size >= _BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


def _loaded(zstd: Any, dictionary: bytes) -> Any:
    return zstd.ZstdDict(dictionary) if dictionary else None


def _trained(segments: Sequence[Segment], zstd: Any) -> bytes:
    """Return a dictionary for the texts of some segments; empty if there is too little text."""
    bounds = np.cumsum([0, *(len(segment.array("texts.bytes")) for segment in segments)])
    total = int(bounds[-1])
    n, size = min(_SAMPLES, total // _SAMPLE), min(_MOST, total // _SHARE)
    if size < _LEAST:
        return b""
    places = (total * i // n for i in range(n))
    pieces = [_between(segments, bounds.tolist(), place, place + _SAMPLE) for place in places]
    with suppress(zstd.ZstdError):  # too little or too uniform text
        return bytes(zstd.train_dict(pieces, size).dict_content)
    return b""


def _between(segments: Sequence[Segment], bounds: Sequence[int], start: int, stop: int) -> bytes:
    """Return some bytes of the texts of all segments, one after another."""
    first, last = bisect_right(bounds, start) - 1, bisect_left(bounds, stop, hi=len(segments))
    arrays = (
        segments[i].array("texts.bytes")[max(start - bounds[i], 0) : stop - bounds[i]] for i in range(first, last)
    )
    return b"".join(array.tobytes() for array in arrays)
