"""Stop lists of the Snowball project, in the files of PostgreSQL 15 (``tsearch_data/LANGUAGE.stop``); see ``COPYING``.

A file has a word in lower case on each line. English has Lucene's list instead (`longrank.text.analysis.STOP_WORDS`).
"""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent

STOP_LISTS = tuple(sorted(path.stem for path in _FOLDER.glob("*.txt")))
"""Languages with a stop list."""


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a language of Snowball, in lower case and composed (NFC); empty without a list."""
    if language not in STOP_LISTS:
        return frozenset()
    text = (_FOLDER / f"{language}.txt").read_text(encoding="utf-8")
    return frozenset(unicodedata.normalize("NFC", text).split())
