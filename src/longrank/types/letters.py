"""Letters and spaces that texts have in several forms."""

from __future__ import annotations

from unicodedata import is_normalized

NARROW = "\u202f"
"""The narrow no-break space, before French punctuation and between digits and units. It joins words in UAX #29."""


def is_plain(text: str) -> bool:
    """Tell whether the letters of a text are composed (Unicode NFC), and it has no narrow no-break space."""
    return text.isascii() or (is_normalized("NFC", text) and NARROW not in text)
