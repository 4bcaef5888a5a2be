"""Decode the texts that files declare an encoding for."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable

_CODECS = {
    "ascii": "cp1252",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso2022_jp": "iso2022_jp_ext",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "shift_jis": "cp932",
    "tis-620": "cp874",
}
_LABELS = {
    "dos-874": "cp874",
    "iso-8859-8-e": "iso8859-8",
    "iso-8859-8-i": "iso8859-8",
    "ks_c_5601-1989": "cp949",
    "windows-31j": "cp932",
    "windows-874": "cp874",
    "windows-949": "cp949",
    "x-euc-jp": "euc_jp",
    "x-gbk": "gb18030",
    "x-mac-cyrillic": "mac_cyrillic",
    "x-sjis": "cp932",
} | {f"x-cp{number}": f"cp{number}" for number in range(1250, 1259)}
_QUOTES = {
    table: {code: text for code in range(0x80, 0xA0) if (text := bytes([code]).decode(table, "ignore"))}
    for table in ("cp1250", "cp1252")
}
_JAPANESE = re.compile(rb"\x1b\$(?:[@BA]|\([DOPQ])")
_SHIFT = re.compile(rb"(\x1b(?:\$[@B]|\([BJI]))")
_ISO_2022_JP = ("iso2022_jp_ext", "iso2022_jp_2", "iso2022_jp_2004")


def codec_of(label: str) -> str:
    """Return Python's codec of a label, as browsers read it (Latin-1 is Windows-1252); empty if there is none."""
    label = label.strip().lower()
    try:
        name = codecs.lookup(_LABELS.get(label, label)).name
    except (LookupError, ValueError):
        return ""
    return _CODECS.get(name, name)


def decoded(raw: bytes, encodings: Iterable[str], otherwise: str = "cp1252") -> tuple[str, bool]:
    """Return the text of bytes, and True if they fit an encoding.

    Args:
        raw: the bytes; if they are ISO-2022-JP, they are read as that.
        encodings: encodings to try, in order; unknown ones and empty names fit nothing.
        otherwise: the encoding of bytes that fit none; undecodable bytes become U+FFFD.
    """
    if is_iso_2022_jp(raw):
        return decoded_iso_2022_jp(raw)
    for encoding in filter(None, encodings):
        try:
            return _with_quotes_of_windows(raw.decode(encoding), encoding), True
        except (LookupError, UnicodeError):  # LookupError: also a codec of bytes, such as hex
            continue
    return raw.decode(otherwise, "replace"), False


def _with_quotes_of_windows(text: str, encoding: str) -> str:
    """Read C1 controls as Windows' quotes and dashes: programs on Windows label its tables as ISO 8859."""
    if not codecs.lookup(encoding).name.startswith("iso8859"):
        return text
    return text.translate(_QUOTES["cp1250" if encoding == "iso8859-2" else "cp1252"])


def is_iso_2022_jp(raw: bytes) -> bool:
    """Tell whether bytes are ISO-2022-JP: ASCII with escape sequences, which UTF-8 would take for text."""
    return b"\x1b$" in raw and raw.isascii() and _JAPANESE.search(raw) is not None


def decoded_iso_2022_jp(raw: bytes) -> tuple[str, bool]:
    """Return the text of ISO-2022-JP bytes, and True if they fit.

    Windows writes letters that the standard lacks, such as circled numbers; they are read by Windows' table.
    """
    for encoding in _ISO_2022_JP:
        try:
            return raw.decode(encoding), True
        except UnicodeError:
            continue
    text = _by_windows_table(raw)
    return text, "\ufffd" not in text


def _by_windows_table(raw: bytes) -> str:
    first, *rest = _SHIFT.split(raw)
    parts = [first.decode("ascii", "replace")]
    for escape, run in zip(rest[::2], rest[1::2], strict=True):
        if escape.startswith(b"\x1b$"):
            line_ends = re.split(rb"([\r\n]+)", run)  # a line end returns to ASCII
            parts.append("".join(_two_bytes(part) if part[:1] > b" " else part.decode() for part in line_ends))
        else:
            parts.append(
                (bytes(byte | 0x80 for byte in run) if escape == b"\x1b(I" else run).decode("cp932", "replace")
            )
    return "".join(parts)


def _two_bytes(run: bytes) -> str:
    """Decode rows and cells of JIS X 0208 by the table of Windows-932, which orders them otherwise."""
    moved = bytearray()
    for row, cell in zip(run[::2], run[1::2], strict=False):
        lead = (row - 0x21) // 2 + 0x81
        moved.append(lead if lead < 0xA0 else lead + 0x40)
        moved.append(cell + 0x7E if row % 2 == 0 else cell + 0x1F + (cell >= 0x60))
    return moved.decode("cp932", "replace") + "\ufffd" * (len(run) % 2)
