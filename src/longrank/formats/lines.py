"""Strict, streaming reader of text files, plain or gzipped; all line formats use it.

Lines end at ``\\n`` only (a ``\\r`` before it is dropped), so U+2028, U+0085 and the like stay text.
Faults are refused with their place: an endless line, bytes outside the stated encoding, a NUL, and all that
`opening` refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from longrank.errors import InputError
from longrank.formats.opening import DEFAULT_LIMITS, LIMITS_IN_MEMORY, LIMITS_OF_FOLDS, Limits, read_chunks
from longrank.types import Notes

_BOM = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """A line of a file: its number from 1, its text without the line end, and True if it had a line end."""

    number: int
    text: str
    ended: bool


class Block(NamedTuple):
    """Lines of a file joined by newlines: the first line's number, the text, and True if the last line had an end."""

    first: int
    text: str
    ended: bool


@dataclass(frozen=True, slots=True)
class TextOptions:
    """Options of reading text.

    Attributes:
        encoding: name of the encoding.
        errors: treatment of undecodable bytes: ``strict`` (refused) or ``replace`` (counted).
        limits: for hostile or broken files.
        on_bytes: called with the number of unpacked bytes just read; None: not called.
    """

    encoding: str = "utf-8"
    errors: str = "strict"
    limits: Limits = DEFAULT_LIMITS
    on_bytes: Callable[[int], object] | None = None


DEFAULT_TEXT = TextOptions()
TEXT_IN_MEMORY = TextOptions(limits=LIMITS_IN_MEMORY)
JSON_IN_MEMORY = TextOptions(limits=LIMITS_OF_FOLDS)


def read_lines(path: Path, notes: Notes, options: TextOptions = DEFAULT_TEXT) -> Iterator[Line]:
    """Yield the lines of a text file, unpacked if it ends in ``.gz``.

    Args:
        path: the file.
        notes: counts a stripped byte-order mark and replaced bytes.
        options: encoding, its errors, and limits.

    Raises:
        InputError: no such file, a folder, an archive, UTF-16, a broken gzip file, a bomb, a line
            over the limit, lines that all end in ``\\r``, a NUL byte, or undecodable bytes (names
            the byte offset in the file).
    """
    for first, text, ended in read_blocks(path, notes, options):
        *whole, last = text.split("\n")
        for number, line in enumerate(whole, first):
            yield Line(number, line, True)
        yield Line(first + len(whole), last, ended)


def read_blocks(path: Path, notes: Notes, options: TextOptions = DEFAULT_TEXT) -> Iterator[Block]:
    """Yield a text file in blocks of whole lines, about 1 MiB each, for fast readers.

    Raises:
        InputError: as `read_lines`.
    """
    offset = 0
    for number, block in _raw_blocks(path, options.limits):
        if options.on_bytes is not None:
            options.on_bytes(len(block))
        raw = block
        if number == 1 and b"\n" not in raw and b"\r" in raw:
            fix = "convert it, e.g. tr '\\r' '\\n'"
            raise InputError("lines end in carriage returns alone", path=path, line=1, fix=fix)
        if number == 1 and raw.startswith(_BOM):
            raw, offset = raw[len(_BOM) :], len(_BOM)
            notes.add("byte-order mark skipped", str(path))
        text = _block_text(raw, (path, number, offset), notes, options)
        if "\r" in text:  # to look for one character is ten times as fast as for two
            text = text.replace("\r\n", "\n")
        ended = raw.endswith(b"\n")
        yield Block(number, text[:-1] if ended else text, ended)
        offset += len(raw)


def decode(raw: bytes, path: Path, notes: Notes, options: TextOptions = DEFAULT_TEXT) -> str:
    """Decode the bytes of a whole file, as `read_lines` does line by line.

    Raises:
        InputError: undecodable bytes; names the byte offset.
    """
    start = 0
    if raw.startswith(_BOM):
        start = len(_BOM)
        notes.add("byte-order mark skipped", str(path))
    return _decoded(raw[start:], (path, None, start), notes, options)


def _raw_blocks(path: Path, limits: Limits) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes of a file, cut after a line end (the last block may have none), with the first line's number."""
    number, size = 1, 0
    pending: list[bytes] = []  # the first part of an unfinished line
    for chunk in read_chunks(path, limits):
        cut = chunk.rfind(b"\n") + 1
        if cut:
            block = b"".join((*pending, chunk[:cut]))
            _check_lengths(block, number, path, limits)
            yield number, block
            number += block.count(b"\n")
            pending, size = [], 0
        pending.append(chunk[cut:])
        size += len(chunk) - cut
        if size > limits.max_line:
            raise _too_long(path, number, limits)
    if size:
        yield number, b"".join(pending)


def _check_lengths(block: bytes, first: int, path: Path, limits: Limits) -> None:
    if len(block) <= limits.max_line:  # so no line is longer either
        return
    for number, line in enumerate(block.split(b"\n"), first):
        if len(line) > limits.max_line:
            raise _too_long(path, number, limits)


def _too_long(path: Path, number: int, limits: Limits) -> InputError:
    return InputError(f"line is longer than {limits.max_line} bytes", path=path, line=number)


def _block_text(raw: bytes, place: tuple[Path, int, int], notes: Notes, options: TextOptions) -> str:
    """Decode all lines at once if that is safe, else line by line, to find the place of a fault."""
    if options.encoding.lower() in ("utf-8", "utf8") and b"\x00" not in raw:
        with suppress(UnicodeDecodeError):
            return raw.decode("utf-8")
    path, number, offset = place
    texts = []
    for line in raw.split(b"\n"):
        if b"\x00" in line:
            raise InputError("holds a NUL byte; not a text file, or damaged", path=path, line=number)
        texts.append(_decoded(line, (path, number, offset), notes, options))
        number, offset = number + 1, offset + len(line) + 1
    return "\n".join(texts)


def _decoded(raw: bytes, place: tuple[Path, int | None, int], notes: Notes, options: TextOptions) -> str:
    path, line, offset = place
    try:
        return raw.decode(options.encoding)
    except UnicodeDecodeError as error:
        if options.errors == "replace":
            return _replaced(raw, place, notes, options)
        raise InputError(
            f"byte {offset + error.start} is not {options.encoding}",
            path=path,
            line=line,
            got=f"0x{raw[error.start]:02x}",
            fix="convert it with iconv, or name its encoding where --encoding is offered",
        ) from None
    except UnicodeError as error:  # some codecs raise the bare class
        raise InputError(f"is not {options.encoding}: {error}", path=path, line=line) from None
    except LookupError:
        raise InputError("unknown encoding", got=options.encoding) from None


def _replaced(raw: bytes, place: tuple[Path, int | None, int], notes: Notes, options: TextOptions) -> str:
    path, line, _ = place
    text = raw.decode(options.encoding, "replace")
    genuine = raw.decode(options.encoding, "ignore").count("\ufffd")
    where = f"{path}:{line}" if line else str(path)
    notes.add("undecodable bytes replaced by U+FFFD", where, text.count("\ufffd") - genuine)
    return text
