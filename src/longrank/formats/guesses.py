"""Guess the encoding of a text that states none.

Texts in Latin letters are told by the letters beyond ASCII of their languages: a general detector takes Windows-1252
for one of its rare relatives. Texts in other letters are left to charset-normalizer.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from math import log2
from typing import NamedTuple

from longrank.formats.parsed.encodings import codec_of

_WEST = (
    *("éàèêôîçâùûœëïüÿ", "üäößé", "óáíúñé¿ü¡", "èàùéòìíóî", "ãçáéíóõúêâàôü", "éëïóüèöêáçàâîôû"),  # fr de es it pt nl
    *("äöåé", "äöåšž", "æøåéòêôó", "éíáðóæöúþý", "óèàéíòçúïü·", "ñçüáéíóú", "ëêïéôîüè"),  # sv fi da nb is ca eu af sq
)
_EAST = (
    *("íářčéýžěšůúňóťď", "áčíýéúťžľšňôóäďĺŕ", "łżąęśćóńź", "áéíóöőüúű"),  # cs sk pl hu
    *("čšćžđ", "ăîâţşșț", "üäößé"),  # sl hr bs sr ro de
)
_TURKISH, _BALTIC = ("ışçüğöâîû", "əışüçöğ"), ("šėųįąžčūę", "āēīšļūņķžģčōŗ", "äõüöšž")
_VIETNAMESE = ("\u0301\u0300\u0323đưâôơêă\u0309\u0303áàéèíìóòúùýãõ",)
_LATIN = {
    "cp1252": (0, _WEST),
    "iso8859-15": (4, _WEST),
    "cp1250": (2, _EAST),
    "iso8859-2": (3, _EAST),
    "cp1254": (2, _TURKISH),
    "cp1257": (2, _BALTIC),
    "cp1258": (4, _VIETNAMESE),
    "cp850": (6, _WEST),
    "cp852": (6, _EAST),
    "cp857": (6, _TURKISH),
    "mac-roman": (6, _WEST),
}
"""Letters beyond ASCII of languages, the most frequent first, and bits by which an encoding is less likely."""
_BEFORE_WINDOWS = ("cp850", "cp852", "cp857", "mac-roman")
_WINDOWS = ("cp1252", "cp1250", "cp1254", "cp1257", "cp1258")
_OTHERS = (
    *("utf_8", "gb18030", "big5", "big5hkscs", "cp949", "euc_jp", "cp932"),
    *("cp855", "cp1125", "cp737", "cp862"),
    *("cp1251", "koi8_r", "koi8_u", "iso8859_5", "cp866", "mac_cyrillic"),
    *("cp1253", "iso8859_7", "cp1255", "iso8859_8", "cp1256", "iso8859_6", "tis_620"),
    *_WINDOWS,
)
"""Encodings of the Encoding Standard of the WHATWG and of DOS, by the names that charset-normalizer has for them."""

_JAPANESE, _THAI = ("cp932", "euc_jp"), "tis_620"
_KANA = re.compile("[\u3041-\u30ff\uff10-\uff19]")  # and wide digits
_LEAST_KANA = 0.3  # share of them among letters beyond ASCII
_THAI_SIGN = re.compile("[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]")  # above or below a consonant
_THAI_SYLLABLE = re.compile("(?<=[\u0e01-\u0e2e\u0e31\u0e34-\u0e3a])[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]")
_LEAST_BEHIND = 0.9
_BYTES = 5000  # bytes beyond ASCII that are counted
_BYTE = re.compile(rb"[\x80-\xff]")
_QUOTES = frozenset("\xa0«»“”„‘’–—…")
_SIGNS = _QUOTES | frozenset("‹›‚•°§©®™ªº¿¡£€·²³½¼¾µ±×\xad")
_INNER = frozenset("’·\xad–—")  # signs inside words
_SELDOM_BEFORE = {"è": "aeio", "ã": " abcdfghijklmnpqrtuvwxyz"}
"""Letters, and the end of a word, before which Western languages seldom have a letter: there it is č or ă."""
_UNLIKELY, _SIGN_BESIDE_LETTER, _CAPITAL_WITHIN, _LONE, _SELDOM = 9.0, 4.0, 4.0, 2.0, 3.0  # bits
_MOST_UNLIKELY = 0.15  # share of unlikely letters that a text in Latin letters may have
_MOST_NEIGHBOURS = 0.5  # share of letters beyond ASCII behind another: of other scripts, nearly all


class _Place(NamedTuple):
    byte: int
    before: str  # "a": a small letter of ASCII, "A": a capital, "+": a byte beyond ASCII, "": no letter
    after: str  # a small letter of ASCII, "+": a byte beyond ASCII, "": no letter


def encoding_of(sample: bytes, most_mess: float) -> str:
    """Return Python's name of the likely encoding of a text that is not UTF-8; empty if none is likely.

    Args:
        sample: the first bytes of the text.
        most_mess: share of improbable letters that the guess of charset-normalizer may have.
    """
    latin, is_latin = _latin(sample)
    if is_latin and latin not in _BEFORE_WINDOWS:
        return latin
    if japanese := next((name for name in _JAPANESE if _is_japanese(sample, name)), ""):
        return japanese
    if is_latin:
        return latin
    best = _best(sample, most_mess, _OTHERS)
    if best == _THAI and not _is_thai(sample):
        best = _best(sample, most_mess, [name for name in _OTHERS if name != _THAI])
    best = best or _best(sample, most_mess)
    return latin if latin and best in _WINDOWS else codec_of(best)


def _best(sample: bytes, most_mess: float, among: Sequence[str] = ()) -> str:
    """Return the guess of charset-normalizer among some encodings; none given: among all."""
    from charset_normalizer import from_bytes

    best = from_bytes(sample, threshold=most_mess, cp_isolation=list(among) or None).best()
    return "" if best is None else str(best.encoding)


def _is_japanese(sample: bytes, encoding: str) -> bool:
    """Tell whether a text has many kana: lines of Shift_JIS look like Latin letters, since half its bytes are ASCII."""
    try:
        text = getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError:
        return False
    return len(_KANA.findall(text)) > _LEAST_KANA * sum(not letter.isascii() for letter in text)


def _is_thai(sample: bytes) -> bool:
    """Tell whether vowel signs stand behind consonants; in short Chinese texts that decode as Thai, they do not."""
    text = sample.decode(_THAI, errors="replace")
    n_signs, n_behind = len(_THAI_SIGN.findall(text)), len(_THAI_SYLLABLE.findall(text))
    return n_signs == 0 or n_behind > _LEAST_BEHIND * n_signs


def _latin(sample: bytes) -> tuple[str, bool]:
    """Return the likeliest encoding in Latin letters, and True if the text is likely to be in Latin letters."""
    places = Counter(_place(sample, found.start()) for found in islice(_BYTE.finditer(sample), _BYTES))
    costs = {encoding: _bits(places, encoding) for encoding in _LATIN}
    encoding = min(costs, key=lambda name: costs[name][0])
    n_bytes = places.total()
    n_neighbours = sum(count for place, count in places.items() if place.before == "+")
    return encoding, costs[encoding][1] <= _MOST_UNLIKELY * n_bytes and n_neighbours <= _MOST_NEIGHBOURS * n_bytes


def _place(sample: bytes, at: int) -> _Place:
    before, after = sample[at - 1 : at] if at else b"", sample[at + 1 : at + 2]
    kind = "+" if before >= b"\x80" else "a" if before.islower() else "A" if before.isupper() else ""
    return _Place(sample[at], kind, "+" if after >= b"\x80" else after.lower().decode() if after.isalpha() else "")


def _bits(places: Counter[_Place], encoding: str) -> tuple[float, int]:
    """Return the information of the letters in bits by the likeliest language, and the number of unlikely letters."""
    prior, languages = _LATIN[encoding]
    best = (float("inf"), places.total())
    for language in languages:
        costs = [(_cost(place, encoding, language), count) for place, count in places.items()]
        total = prior + sum(cost * count for cost, count in costs)
        best = min(best, (total, sum(count for cost, count in costs if cost >= _UNLIKELY)))
    return best


@lru_cache(1 << 16)
def _cost(place: _Place, encoding: str, language: str) -> float:
    letter = bytes([place.byte]).decode(encoding, "replace")
    lone = not place.before and not place.after
    rank = language.find(letter.lower())
    if rank >= 0:
        capital = letter.isupper() and place.before == "a"
        seldom = (place.after or " ") in _SELDOM_BEFORE.get(letter.lower(), "")
        return log2(rank + 2) + _CAPITAL_WITHIN * capital + _LONE * lone + _SELDOM * seldom
    if letter not in _SIGNS or (place.before and place.after and letter not in _INNER):
        return _UNLIKELY
    return 1.0 if lone or letter in _QUOTES else _SIGN_BESIDE_LETTER
