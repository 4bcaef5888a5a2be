"""Decode the texts that files declare an encoding for."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

_CODECS = {
    "ascii": "cp1252",
    "big5": "big5hkscs",
    "cp950": "big5hkscs",
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
_UNKNOWN_TO_PYTHON = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
    "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff",
    "utf-16-be": "unicodefffe",
    "cp1252": "iso88591 x-user-defined",
    "cp1254": "iso88599",
    "cp874": "dos-874 iso885911 windows-874",
    "iso8859-6": "csiso88596e csiso88596i iso-8859-6-e iso-8859-6-i",
    "iso8859-7": "sun_eu_greek",
    "iso8859-8": "csiso88598e csiso88598i iso-8859-8-e iso-8859-8-i logical visual",
    "iso8859-15": "csisolatin9",
    "koi8-r": "koi koi8",
    "koi8-u": "koi8-ru",
    "mac-roman": "csmacintosh mac x-mac-roman",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "big5hkscs": "cn-big5 x-x-big5",
    "cp932": "windows-31j x-sjis",
    "cp949": "cseuckr csksc56011987 iso-ir-149 ks_c_5601-1989 ksc_5601 windows-949",
    "euc_jp": "cseucpkdfmtjapanese x-euc-jp",
    "gb18030": "csgb2312 gb_2312 gb_2312-80 x-gbk",
}
"""Codec -> labels of the Encoding Standard that are no names of codecs in Python."""
_LABELS = {label: codec for codec, labels in _UNKNOWN_TO_PYTHON.items() for label in labels.split()}
_LABELS |= {f"x-cp{number}": f"cp{number}" for number in range(1250, 1259)}
_LABELS |= {f"iso8859{number}": f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15)}
_QUOTES = {
    table: {code: text for code in range(0x80, 0xA0) if (text := bytes([code]).decode(table, "ignore"))}
    for table in ("cp1250", "cp1252")
}
_COMMENT = re.compile(rb"<!--(?:-?>|.*?-->)", re.DOTALL)
_DECLARATION = re.compile(rb"<\?xml\s[^<>]*?\bencoding\s*=\s*[\"']([\w.:-]+)|<meta[\s/]([^<>]*)", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"""([^\s"'/=]+)\s*=\s*(?:"([^"]*)|'([^']*)|([^\s"']+))["']?""")
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_TYPE = re.compile(rb"[\w-]+/[\w.+-]+\s*;\s*charset\s*=\s*([\w.:-]+)", re.IGNORECASE)
_LABEL = re.compile(rb"\s*([\w.:-]+)")
_DECLARED_WITHIN = 4096  # bytes; the standard of HTML requires it within the first 1024
_JAPANESE = re.compile(rb"\x1b\$(?:[@BA]|\([DOPQ])")
_KOREAN = b"\x1b$)C"
_SHIFT = re.compile(rb"(\x1b(?:\$[@B]|\([BJI]))")
_ISO_2022_JP = ("iso2022_jp_ext", "iso2022_jp_2", "iso2022_jp_2004")
REPLACED = "undecodable bytes replaced by U+FFFD"
_STRICT, _REPLACE = "longrank-strict", "longrank-replace"  # treatments of bytes that a codec lacks
_FEW = 10  # bytes that do not fit are few if a tenth of the letters beyond ASCII, or less


class Decoded(NamedTuple):
    """A text that was bytes.

    Attributes:
        text: the text.
        encoding: Python's name of the encoding by which the bytes were read.
        fits: True if they fit it, and it is one of those that were expected.
        n_replaced: undecodable bytes that became U+FFFD.
    """

    text: str
    encoding: str
    fits: bool
    n_replaced: int = 0


def codec_of(label: str) -> str:
    """Return Python's codec of a label, as browsers read it (Latin-1 is Windows-1252); empty if there is none."""
    label = label.strip().lower()
    try:
        name = codecs.lookup(_LABELS.get(label, label)).name
    except (LookupError, ValueError):
        return ""
    return _CODECS.get(name, name)


def declared_labels(raw: bytes) -> list[str]:
    """Return the labels of encodings in the XML declaration and the ``<meta>`` elements of a page, without repeats.

    Where no element declares a charset by the rules, that of a ``text/html; charset=...`` in another one counts.
    """
    found = [*_DECLARATION.finditer(_beginning(raw))]
    labels = [label for match in found if (label := match[1] or _label(match[2]))]
    anywhere = (_TYPE.search(match[2] or b"") for match in found)
    labels = labels or [match[1] for match in anywhere if match]
    return list(dict.fromkeys(label.decode("ascii") for label in labels))


def _beginning(raw: bytes) -> bytes:
    """Return the first bytes of a page without comments."""
    begin = _COMMENT.sub(b"", raw[:_DECLARED_WITHIN])
    unclosed = begin.find(b"<!--")  # or a text in a script, if no end of a comment follows in the page
    return begin[:unclosed] if unclosed >= 0 and raw.find(b"-->", _DECLARED_WITHIN - 2) >= 0 else begin


def _label(attributes: bytes) -> bytes:
    """Return the charset of a ``<meta>`` element: its attribute, or that of the ``Content-Type`` it stands for."""
    values: dict[bytes, bytes] = {}
    for match in _ATTRIBUTE.finditer(attributes):
        values.setdefault(match[1].lower(), match[2] or match[3] or match[4] or b"")
    if label := _LABEL.match(values.get(b"charset", b"")):
        return label[1]
    is_type = values.get(b"http-equiv", b"").strip().lower() == b"content-type"
    label = _CHARSET.search(values.get(b"content", b"")) if is_type else None
    return label[1] if label else b""


def declared(raw: bytes) -> tuple[str, ...]:
    """Return Python's names of the encodings that a page declares, without those that cannot be true."""
    names = map(codec_of, declared_labels(raw))
    return tuple(name for name in names if not name.startswith(("utf-16", "utf-32")))  # the declaration is ASCII


def decoded(raw: bytes, encodings: Iterable[str], otherwise: str = "cp1252") -> Decoded:
    """Return the text of bytes.

    Bytes that fit none of the encodings are read as UTF-8, if it is one of them and most sequences beyond ASCII are
    valid, else by the first that few bytes contradict: one damaged byte does not change the other letters.

    Args:
        raw: the bytes; if they are ISO-2022-JP or ISO-2022-KR, they are read as that.
        encodings: encodings to try, in order; unknown ones and empty names fit nothing.
        otherwise: the encoding of bytes that fit none.
    """
    if read := by_escapes(raw):
        return read
    known = [encoding for encoding in encodings if encoding]
    for encoding in known:
        try:
            text = raw.decode(encoding, _STRICT)
        except (LookupError, UnicodeError):  # LookupError: also a codec of bytes, such as hex
            continue
        return Decoded(_with_quotes_of_windows(text, encoding), encoding, True)
    for encoding in sorted(known, key=lambda encoding: encoding != "utf-8"):
        if read := nearly_fitting(raw, encoding):
            return read
    text = raw.decode(otherwise, "replace")
    return Decoded(text, otherwise, False, text.count("\ufffd"))


def nearly_fitting(raw: bytes, encoding: str) -> Decoded | None:
    """Return the text of bytes of which few do not fit an encoding; None if they are many.

    Other encodings than UTF-8 have few invalid bytes, so a text of another encoding has few, too.
    """
    try:
        text = raw.decode(encoding, _REPLACE)
    except (LookupError, UnicodeError):
        return None
    n_bad = text.count("\ufffd") - (raw.count("\ufffd".encode()) if encoding == "utf-8" else 0)
    n_good = len(text) - len(text.encode("ascii", "ignore")) - n_bad
    few = n_bad < n_good if encoding == "utf-8" else n_bad * _FEW <= n_good
    return Decoded(_with_quotes_of_windows(text, encoding), encoding, False, n_bad) if few else None


def _strict(error: UnicodeError) -> tuple[str, int]:
    if found := _by_windows(error):
        return found
    raise error


def _replace(error: UnicodeError) -> tuple[str | bytes, int]:
    return _by_windows(error) or codecs.replace_errors(error)


def _by_windows(error: UnicodeError) -> tuple[str, int] | None:
    """Return the letter of a pair of bytes that Python's codec lacks and browsers read, and the position after it."""
    if not isinstance(error, UnicodeDecodeError):
        return None
    pair = error.object[error.start : error.start + 2]
    letter = ""
    if error.encoding == "euc_jp" and len(pair) == 2 and all(0xA0 < byte < 0xFF for byte in pair):
        letter = _two_bytes(bytes(byte & 0x7F for byte in pair))
    elif error.encoding == "big5hkscs" and pair == b"\xa3\xe1":
        letter = "€"
    return (letter, error.start + 2) if letter and "\ufffd" not in letter else None


codecs.register_error(_STRICT, _strict)
codecs.register_error(_REPLACE, _replace)


def _with_quotes_of_windows(text: str, encoding: str) -> str:
    """Read C1 controls as Windows' quotes and dashes: programs on Windows label its tables as ISO 8859."""
    if not codecs.lookup(encoding).name.startswith("iso8859"):
        return text
    return text.translate(_QUOTES["cp1250" if encoding == "iso8859-2" else "cp1252"])


def by_escapes(raw: bytes) -> Decoded | None:
    """Return the text of ISO-2022-JP or ISO-2022-KR bytes, which UTF-8 would take for text; None if they are neither.

    Such bytes are ASCII with escape sequences.
    """
    if b"\x1b$" not in raw or not raw.isascii():
        return None
    if _KOREAN in raw:
        with suppress(UnicodeError):
            return Decoded(raw.decode("iso2022_kr"), "iso2022_kr", True)
    return _iso_2022_jp(raw) if _JAPANESE.search(raw) else None


def _iso_2022_jp(raw: bytes) -> Decoded:
    """Return the text of ISO-2022-JP bytes.

    Windows writes letters that the standard lacks, such as circled numbers; they are read by Windows' table.
    """
    for encoding in _ISO_2022_JP:
        try:
            return Decoded(raw.decode(encoding), _ISO_2022_JP[0], True)
        except UnicodeError:
            continue
    text = _by_windows_table(raw)
    n_replaced = text.count("\ufffd")
    return Decoded(text, _ISO_2022_JP[0], not n_replaced, n_replaced)


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
