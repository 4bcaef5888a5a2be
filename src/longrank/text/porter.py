"""The Porter stemmer (M. F. Porter, An algorithm for suffix stripping, Program 14(3), 1980).

It follows the author's later code, as Lucene does: words of one or two letters stay the same, ``bli`` (not only
``abli``) becomes ``ble``, and ``logi`` becomes ``log``. Snowball's "porter" lacks these three rules, and Snowball's
"English" stemmer (Porter2) is another algorithm.

Lucene counts letters in UTF-16, so a letter beyond U+FFFF counts as two different consonants.
"""

from __future__ import annotations

import re

_CONSONANT_Y = re.compile("^y|[aeiouy]y")  # from the left: a y after a vowel is a consonant, the next y is a vowel
_VOWEL = re.compile("[aeiouy]")
_VC = re.compile("[aeiouy][^aeiouy]")
_TWO_UNITS = r"\U00010000-\U0010ffff"  # in UTF-16
_ENDS_CVC = re.compile(f"[^aeiouy][aeiouy][^aeiouywxY{_TWO_UNITS}]$")
_ENDS_DOUBLE = re.compile(rf"(?i:([^{_TWO_UNITS}])\1)(?<![aeiouylsz])$")

_STEP_2 = {  # where m > 0
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble", "logi": "log",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}  # where m > 0
_STEP_4 = frozenset(  # removed where m > 1; "ion" only after s or t, which stays
    (
        *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate"),
        *("iti", "ous", "ive", "ize"),
    )
)


def stem(word: str) -> str:
    """Return the stem of a lower-case word; letters other than a, e, i, o, u, y are consonants."""
    if len(word) <= 2 and max(word, default="") <= "\uffff":
        return word
    if "y" in word:  # Y marks a y that is a consonant
        return _stemmed(_CONSONANT_Y.sub(lambda match: match[0][:-1] + "Y", word)).lower()
    return _stemmed(word)


def _stemmed(word: str) -> str:
    word = _step_1b(_step_1a(word))
    if word.endswith(("y", "Y")) and _VOWEL.search(word, 0, len(word) - 1):  # step 1c
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2)
    word = _replaced(word, _STEP_3)
    return _step_5(_step_4(word))


def _measure(word: str) -> int:
    """Return m: the number of vowels before a consonant."""
    return len(_VC.findall(word))


def _step_1a(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _step_1b(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    if not word.endswith(("ed", "ing")):
        return word
    kept = word[:-2] if word.endswith("ed") else word[:-3]
    if not _VOWEL.search(kept):
        return word
    if kept.endswith(("at", "bl", "iz")):
        return kept + "e"
    if _ENDS_DOUBLE.search(kept):
        return kept[:-1]
    return kept + "e" if _measure(kept) == 1 and _ENDS_CVC.search(kept) else kept


def _replaced(word: str, endings: dict[str, str]) -> str:
    """Replace the longest ending among `endings` if the stem before it has m > 0."""
    for size in (7, 6, 5, 4, 3):
        if (new := endings.get(word[-size:])) is not None and len(word) >= size:
            return word[:-size] + new if _measure(word[:-size]) > 0 else word
    return word


def _step_4(word: str) -> str:
    for size in (5, 4, 3, 2):
        if word[-size:] in _STEP_4 and len(word) >= size:
            kept = word[:-size]
            allowed = word[-3:] != "ion" or kept.endswith(("s", "t"))
            return kept if allowed and _measure(kept) > 1 else word
    return word


def _step_5(word: str) -> str:
    if word.endswith("e"):
        m = _measure(word)
        if m > 1 or (m == 1 and not _ENDS_CVC.search(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
