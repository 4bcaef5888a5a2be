"""Read and decode a file that is a document; a guess of its encoding is counted."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from longrank.errors import Changed, InputError, install_line
from longrank.formats.guesses import encoding_of
from longrank.formats.lines import DEFAULT_TEXT, TextOptions, decode
from longrank.formats.opening import Limits, read_chunks
from longrank.formats.parsed.encodings import REPLACED, Decoded, by_escapes, nearly_fitting
from longrank.formats.records import CorpusOptions
from longrank.storage import changed, written_state
from longrank.types import Notes

_TRIES = 5  # of reading a file to which a program writes
_SAMPLE = 1 << 16  # bytes that a guess looks at
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_GUESSED = "files in another encoding than UTF-8, guessed as "
_MOST_MESS = 0.2  # share of improbable letters that a guess may have


def whole_text(path: Path, notes: Notes, options: CorpusOptions) -> str:
    """Return the text of a file, line ends as ``\\n``.

    Bytes that are not UTF-8 are an error; in a folder of files, their encoding is guessed instead
    (`CorpusOptions.guess`), unless the user names an encoding.

    Raises:
        InputError: the file cannot be read, or is not text.
    """
    raw = read_whole(path, options.text.limits, any_encoding=options.guess)
    return without_nul(decoded(raw, path, notes, options), path).replace("\r\n", "\n").replace("\r", "\n")


def read_whole(path: Path, limits: Limits, *, any_encoding: bool = False) -> bytes:
    """Return the bytes of a file that is a document, unpacked if its name ends in ``.gz``.

    UTF-16 is refused unless `any_encoding` is True.

    Raises:
        InputError: the file cannot be read, or is longer than `Limits.max_line`.
        Changed: a program writes to the file again and again.
    """
    for _ in range(_TRIES - 1):
        with suppress(Changed):
            return _read_once(path, limits, any_encoding)
    return _read_once(path, limits, any_encoding)


def _read_once(path: Path, limits: Limits, any_encoding: bool) -> bytes:
    chunks, size = [], 0
    for chunk in _plain_chunks(path, limits) if any_encoding and _is_utf_16(path) else read_chunks(path, limits):
        chunks.append(chunk)
        size += len(chunk)
        if size > limits.max_line:
            raise InputError(f"is longer than {limits.max_line} bytes, too long for one document", path=path)
    return b"".join(chunks)


def _plain_chunks(path: Path, limits: Limits) -> Iterator[bytes]:
    with path.open("rb") as stream:
        began = written_state(stream)
        yield stream.read(limits.max_line + 1)
        if written_state(stream) != began:
            raise changed(path)


def without_nul(text: str, path: Path) -> str:
    """Return `text`.

    Raises:
        InputError: it holds a NUL; names the line.
    """
    at = text.find("\x00")
    if at >= 0:
        line = text.count("\n", 0, at) + 1
        raise InputError("holds a NUL byte; not a text file, or damaged", path=path, line=line)
    return text


def decoded(raw: bytes, path: Path, notes: Notes, options: CorpusOptions) -> str:
    """Return the bytes of a file as text; see `whole_text`.

    Raises:
        InputError: undecodable bytes, or bytes that fit no encoding.
    """
    if options.guess and options.text.encoding == DEFAULT_TEXT.encoding and options.text.errors == "strict":
        if escaped := by_escapes(raw):
            notes.add(_GUESSED + escaped.encoding, str(path))
            return counted(escaped, path, notes)
        if not is_utf_8(raw):
            mostly = None if raw.startswith(_UTF_16) or b"\x00" in raw else nearly_fitting(raw, "utf-8")
            return _guessed(raw, path, notes) if mostly is None else counted(mostly, path, notes).removeprefix("\ufeff")
    return decode(raw, path, notes, options.text)


def is_utf_8(raw: bytes) -> bool:
    """Tell whether bytes are valid UTF-8."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def counted(read: Decoded, path: Path, notes: Notes) -> str:
    """Return a decoded text; undecodable bytes are counted."""
    notes.add(REPLACED, str(path), read.n_replaced)
    return read.text


def _guessed(raw: bytes, path: Path, notes: Notes) -> str:
    encoding = _encoding(raw, path)
    notes.add(_GUESSED + encoding, str(path))
    errors = "strict" if nearly_fitting(raw, encoding) is None else "replace"
    return decode(raw, path, notes, TextOptions(encoding, errors)).removeprefix("\ufeff")


def _encoding(raw: bytes, path: Path) -> str:
    if raw.startswith(_UTF_16):
        return "utf-16"
    if b"\x00" in raw[:_SAMPLE]:
        raise InputError("is not a text file: it holds NUL bytes", path=path)
    if find_spec("charset_normalizer") is None:
        raise InputError(
            "is not UTF-8; a guess of its encoding needs the extra 'files'", path=path, fix=install_line("files")
        )
    encoding = encoding_of(raw[:_SAMPLE], _MOST_MESS)
    if not encoding:
        raise InputError("is not a text file: its bytes fit no encoding", path=path)
    return encoding


def _is_utf_16(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(2).startswith(_UTF_16)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from None
