"""The Porter stemmer (M. F. Porter, An algorithm for suffix stripping, Program 14(3), 1980).

As in its author's own later code, which Lucene follows: words of one or two letters are left
alone, ``bli`` (not only ``abli``) becomes ``ble``, and ``logi`` becomes ``log``. This is not the
"English" stemmer of Snowball (Porter2), and Snowball's "porter" lacks these three.
"""

from __future__ import annotations

_VOWELS = frozenset("aeiou")

_STEP_2 = {  # where m > 0
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble", "logi": "log",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}  # where m > 0
_STEP_4 = (  # removed where m > 1
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "sion", "tion", "ou", "ism", "ate",
    "iti", "ous", "ive", "ize",
)  # fmt: skip


def stem(word: str) -> str:
    """Return the stem of a lower-case word; letters other than a, e, i, o, u, y are consonants."""
    if len(word) <= 2:
        return word
    word = _step_1b(_step_1a(word))
    if word.endswith("y") and "v" in _shape(word[:-1]):  # step 1c
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2)
    word = _replaced(word, _STEP_3)
    return _step_5(_step_4(word))


def _shape(word: str) -> str:
    """Return ``c`` for each consonant and ``v`` for each vowel; y is a vowel after a consonant."""
    kinds: list[str] = []
    for letter in word:
        vowel = letter in _VOWELS or (letter == "y" and bool(kinds) and kinds[-1] == "c")
        kinds.append("v" if vowel else "c")
    return "".join(kinds)


def _measure(word: str) -> int:
    """Return m: how often a vowel is followed by a consonant."""
    return _shape(word).count("vc")


def _ends_double(word: str) -> bool:
    """Say whether the word ends in a double consonant (\\*d)."""
    return len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c"


def _ends_cvc(word: str) -> bool:
    """Say whether it ends consonant, vowel, consonant other than w, x, y (\\*o)."""
    return _shape(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _step_1a(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _step_1b(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    ending = next((e for e in ("ed", "ing") if word.endswith(e)), None)
    if ending is None or "v" not in _shape(word.removesuffix(ending)):
        return word
    word = word.removesuffix(ending)
    if word.endswith(("at", "bl", "iz")) or (_measure(word) == 1 and _ends_cvc(word)):
        return word + "e"
    return word[:-1] if _ends_double(word) and word[-1] not in "lsz" else word


def _replaced(word: str, endings: dict[str, str]) -> str:
    """Replace the longest ending among `endings` if what is before it has m > 0."""
    for size in range(min(7, len(word)), 2, -1):
        if (new := endings.get(word[-size:])) is not None:
            return word[:-size] + new if _measure(word[:-size]) > 0 else word
    return word


def _step_4(word: str) -> str:
    ending = max((e for e in _STEP_4 if word.endswith(e)), key=len, default="")
    kept = len(word) - (3 if ending in ("sion", "tion") else len(ending))
    return word[:kept] if ending and _measure(word[:kept]) > 1 else word


def _step_5(word: str) -> str:
    m = _measure(word)
    if word.endswith("e") and (m > 1 or (m == 1 and not _ends_cvc(word[:-1]))):
        word = word[:-1]
    return word[:-1] if word.endswith("ll") and m > 1 else word
