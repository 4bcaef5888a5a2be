"""Decode the texts that files declare an encoding for."""

from __future__ import annotations

from collections.abc import Iterable


def decoded(raw: bytes, encodings: Iterable[str], otherwise: str = "cp1252") -> tuple[str, bool]:
    """Return the text of bytes, and True if they fit an encoding.

    Args:
        raw: the bytes.
        encodings: encodings to try, in order; unknown ones and empty names fit nothing.
        otherwise: the encoding of bytes that fit none; undecodable bytes become U+FFFD.
    """
    for encoding in filter(None, encodings):
        try:
            return raw.decode(encoding), True
        except (LookupError, UnicodeError):  # LookupError: also a codec of bytes, such as hex
            continue
    return raw.decode(otherwise, "replace"), False
