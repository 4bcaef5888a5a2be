"""Guess the encoding of a text that states none.

Texts in Latin letters are told by the letters beyond ASCII of their languages: a general detector takes Windows-1252
for one of its rare relatives. Texts in other letters are left to charset-normalizer.
"""

from __future__ import annotations

import re
from collections import Counter
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
    "mac-roman": (6, _WEST),
}
"""Letters beyond ASCII of languages, the most frequent first, and bits by which an encoding is less likely."""
_OTHERS = (
    *("utf_8", "gb18030", "big5", "big5hkscs", "cp949", "euc_jp", "cp932"),
    *("cp1251", "koi8_r", "koi8_u", "iso8859_5", "cp866", "mac_cyrillic"),
    *("cp1253", "iso8859_7", "cp1255", "iso8859_8", "cp1256", "iso8859_6", "tis_620"),
    *("cp1252", "cp1250", "cp1254", "cp1257", "cp1258"),
)
"""Encodings of the Encoding Standard of the WHATWG, by the names that charset-normalizer has for them."""
_LATIN_OTHERS = _OTHERS[-5:]

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
    from charset_normalizer import from_bytes

    latin, is_latin = _latin(sample)
    if is_latin:
        return latin
    best = from_bytes(sample, threshold=most_mess, cp_isolation=list(_OTHERS)).best()
    if best is None:
        return ""
    return latin if latin and best.encoding in _LATIN_OTHERS else codec_of(best.encoding)


def _latin(sample: bytes) -> tuple[str, bool]:
    """Return the likeliest encoding in Latin letters, and True if the text is likely to be in Latin letters."""
    places = Counter(_place(sample, found.start()) for found in islice(_BYTE.finditer(sample), _BYTES))
    costs = {encoding: _bits(places, encoding, sample) for encoding in _LATIN}
    encoding = min(costs, key=lambda name: costs[name][0])
    n_bytes = places.total()
    n_neighbours = sum(count for place, count in places.items() if place.before == "+")
    return encoding, costs[encoding][1] <= _MOST_UNLIKELY * n_bytes and n_neighbours <= _MOST_NEIGHBOURS * n_bytes


def _place(sample: bytes, at: int) -> _Place:
    before, after = sample[at - 1 : at] if at else b"", sample[at + 1 : at + 2]
    kind = "+" if before >= b"\x80" else "a" if before.islower() else "A" if before.isupper() else ""
    return _Place(sample[at], kind, "+" if after >= b"\x80" else after.lower().decode() if after.isalpha() else "")


def _bits(places: Counter[_Place], encoding: str, sample: bytes) -> tuple[float, int]:
    """Return the information of the letters in bits by the likeliest language, and the number of unlikely letters."""
    prior, languages = _LATIN[encoding]
    try:
        sample.decode(encoding)
    except UnicodeDecodeError:
        return float("inf"), places.total()
    best = (float("inf"), places.total())
    for language in languages:
        costs = [(_cost(place, encoding, language), count) for place, count in places.items()]
        total = prior + sum(cost * count for cost, count in costs)
        best = min(best, (total, sum(count for cost, count in costs if cost >= _UNLIKELY)))
    return best


def _cost(place: _Place, encoding: str, language: str) -> float:
    letter = bytes([place.byte]).decode(encoding)
    lone = not place.before and not place.after
    rank = language.find(letter.lower())
    if rank >= 0:
        capital = letter.isupper() and place.before == "a"
        seldom = (place.after or " ") in _SELDOM_BEFORE.get(letter.lower(), "")
        return log2(rank + 2) + _CAPITAL_WITHIN * capital + _LONE * lone + _SELDOM * seldom
    if letter not in _SIGNS or (place.before and place.after and letter not in _INNER):
        return _UNLIKELY
    return 1.0 if lone or letter in _QUOTES else _SIGN_BESIDE_LETTER
