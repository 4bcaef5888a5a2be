"""Analyzers of languages by their tags: ``de``, ``pt-BR``, ``zho``."""

from __future__ import annotations

import re

from longrank.errors import InputError
from longrank.text.analysis import ANALYZERS

PLAIN = "none"
"""Analyzer of languages that have none of their own: plain words."""

_TAG = re.compile(r"([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]{1,8})*")
_CODES = {
    "porter": "en eng english",
    "cjk": "zh zho chi cmn yue chinese ja jpn japanese ko kor korean",
    "icu": "th tha thai lo lao km khm khmer my mya bur burmese",
    "arabic": "ar ara",
    "armenian": "hy hye arm",
    "basque": "eu eus baq",
    "catalan": "ca cat",
    "danish": "da dan",
    "dutch": "nl nld dut",
    "esperanto": "eo epo",
    "estonian": "et est",
    "finnish": "fi fin",
    "french": "fr fra fre",
    "german": "de deu ger",
    "greek": "el ell gre",
    "hindi": "hi hin",
    "hungarian": "hu hun",
    "indonesian": "id ind",
    "irish": "ga gle",
    "italian": "it ita",
    "lithuanian": "lt lit",
    "nepali": "ne nep",
    "norwegian": "no nor nb nob nn nno",
    "portuguese": "pt por",
    "romanian": "ro ron rum",
    "russian": "ru rus",
    "serbian": "sr srp",
    "spanish": "es spa",
    "swedish": "sv swe",
    "tamil": "ta tam",
    "turkish": "tr tur",
    "yiddish": "yi yid",
}
_NAMES = {code: name for name, codes in _CODES.items() for code in (name, *codes.split())}
_NO_LANGUAGE = frozenset(("und", "mul", "mis", "zxx"))  # undetermined, several, other or none, of ISO 639


def analyzer_of(tag: str) -> str | None:
    """Return the analyzer of a language, a name in `longrank.text.analysis.ANALYZERS`.

    Args:
        tag: an ISO 639 code, perhaps with more parts (``pt-BR``, ``zh_Hant``), the English name of a language or the
            name of an analyzer; case does not count.

    Returns:
        `PLAIN` for a code of a language without an analyzer of its own; None for a blank tag, and for the codes that
        name no language (``und``, ``mul``, ``mis``, ``zxx``).

    Raises:
        InputError: the tag has another form.
    """
    tag = tag.strip().lower()
    if tag in _NAMES or tag in ANALYZERS:
        return _NAMES.get(tag, tag)
    match = _TAG.fullmatch(tag)
    if tag and not match:
        raise InputError(
            "unknown language", got=tag, fix="give a code such as en, de or pt-BR, or a name such as german"
        )
    code = match[1] if match else "und"
    return None if code in _NO_LANGUAGE else _NAMES.get(code, PLAIN)
