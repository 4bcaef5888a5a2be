"""Signs of the fonts Symbol and Wingdings in Word files, which have codes of their own, as Unicode.

Source of Symbol's codes: Unicode's mapping of Adobe Symbol. Of Wingdings, these are the signs of forms and arrows.
"""

from __future__ import annotations

_PRIVATE = 0xF000
"""Word writes code 0x6D of such a font as U+F06D, a character for private use, or as 006D."""
UNKNOWN = "\N{REPLACEMENT CHARACTER}"

_GREEK = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ"
_SYMBOL = {
    **dict(zip(range(0x20, 0x40), " !∀#∃%&∋()∗+,−./0123456789:;<=>?", strict=True)),
    **dict(zip(range(0x40, 0x60), f"≅{_GREEK}[∴]⊥_", strict=True)),
    **dict(zip(range(0x60, 0x7F), "‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼", strict=True)),
    **dict(zip(range(0xA0, 0xC0), "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵", strict=True)),
    **dict(zip(range(0xC0, 0xE0), "ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓", strict=True)),
    **dict(zip(range(0xE0, 0xF0), "◊⟨®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪", strict=True)),
    **dict(zip(range(0xF1, 0xFF), "⟩∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭", strict=True)),
}
_WINGDINGS = {0x6F: "☐", 0x78: "☒", 0xA8: "☐", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑"} | dict(
    zip(range(0xDF, 0xE3), "←→↑↓", strict=True)
)
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS}


def symbol(font: str, code: str) -> str:
    """Return the sign of a hexadecimal code in a font (``w:sym``); U+FFFD if it is not known.

    Fonts that are not of symbols have the codes of Unicode.
    """
    try:
        number = int(code, 16)
        character = chr(number)
    except (ValueError, OverflowError):
        return UNKNOWN
    table = _FONTS.get(font.lower())
    if table is not None:
        return table.get(number % _PRIVATE, UNKNOWN)
    is_text = character.isprintable() and "dings" not in font.lower()
    return character if is_text else UNKNOWN


def symbols(font: str, text: str) -> str:
    """Return the text of a run in a font, with Unicode for the codes of Symbol and Wingdings in it."""
    table = _FONTS.get(font.lower())
    return text if table is None else text.translate({_PRIVATE + code: sign for code, sign in table.items()})
