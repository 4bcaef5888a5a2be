"""Grammar of words in Lucene's StandardTokenizer, as a regular expression.

It has rules WB4 to WB16 of UAX #29, the emoji sequences of UTS #51, and three kinds of words that Unicode does not
define: a run of South-East Asian letters, a Han character, and a Hiragana character. Blanks, punctuation and joining
characters alone are no words.

Lucene has the tables of Unicode 12.1. The module `regex` has a later version, in which some characters have other
classes: characters of 12.1 have their classes of 12.1 here, later characters their current classes.
"""

from __future__ import annotations

import re

import regex

_NO_LETTERS = r"\u00B8\u02E5-\u02EB\u055A\u058A\u070F\uA708-\uA716"  # in 12.1; letters now
_FORMATS = r"\u0600-\u0605\u06DD\u070F\u08E2\U000110BD\U000110CD"  # in 12.1; now a letter (070F) and digits

_HEBREW, _KATAKANA, _JOIN = r"\p{WB=Hebrew_Letter}", r"\p{WB=Katakana}", r"\p{WB=ExtendNumLet}"
_LETTER = rf"[[\p{{WB=ALetter}}{_HEBREW}]--[{_NO_LETTERS}]]"
_DIGIT = rf"[[\p{{WB=Numeric}}０-９]--[{_FORMATS}\u19DA]]"
_IN_WORD = r"[[\p{WB=MidLetter}\p{WB=MidNumLet}\p{WB=Single_Quote}]--\u055F]"
_IN_NUMBER = r"[\p{WB=MidNum}\p{WB=MidNumLet}\p{WB=Single_Quote}\uFE10\uFE14]"
_ASIAN = r"[\p{LB=SA}\u19DA]"
_ALONE = r"[[\p{Script=Han}\p{Script=Hiragana}]--\U00016FE2]"
_ATTACHED = rf"\p{{WB=Format}}\p{{WB=Extend}}\p{{WB=ZWJ}}{_FORMATS}"  # to the character before them: rule WB4
_EXTEND = rf"[{_ATTACHED}]*+"

_PICTURES = """
A9 AE 203C 2049 2122 2194-2199 21A9-21AA 231A-231B 2328 2388 23CF 23E9-23F3 23F8-23FA 25AA-25AB 25B6 25C0 25FB-25FE
2600-2605 2607-2612 2614-2685 2690-2705 2708-2712 2714 2716 271D 2721 2728 2733-2734 2744 2747 274C 274E 2753-2755 2757
2763-2767 2795-2797 27A1 27B0 27BF 2934-2935 2B05-2B07 2B1B-2B1C 2B50 2B55 3030 303D 3297 3299 1F000-1F0FF 1F10D-1F10F
1F12F 1F16C-1F16F 1F18E 1F191-1F19A 1F1AD-1F1E5 1F201-1F20F 1F21A 1F22F 1F232-1F23A 1F23C-1F23F 1F249-1F3FA 1F400-1F53D
1F546-1F64F 1F680-1F6FF 1F774-1F77F 1F7D5-1F7FF 1F80C-1F80F 1F848-1F84F 1F85A-1F85F 1F888-1F88F 1F8AE-1F8FF 1F90C-1F93A
1F93C-1F945 1F947-1FBEF 1FBFA-1FFFD
"""
"""Extended_Pictographic in 12.1; later versions removed a quarter of them, such as the black star."""
_LETTER_PICTURES = "2139 24C2 1F170-1F171 1F17E-1F17F 1FBF0-1FBF9"
"""Extended_Pictographic characters that are letters or digits, too: they begin words."""


def _pattern() -> str:
    flag = rf"(?:\p{{WB=Regional_Indicator}}{_EXTEND}){{2}}"
    return rf"{_emoji()}|{flag}|{_word()}|(?:{_ASIAN}{_EXTEND})++|{_ALONE}{_EXTEND}"


def _word() -> str:
    """Runs of letters and digits, or of Katakana, with joins before, between and after them."""
    unit = (
        rf"{_HEBREW}{_EXTEND}(?:\p{{WB=Double_Quote}}{_EXTEND}{_HEBREW}{_EXTEND}|\p{{WB=Single_Quote}}{_EXTEND})"
        rf"|{_LETTER}{_EXTEND}(?:{_IN_WORD}{_EXTEND}{_LETTER}{_EXTEND})*+"
        rf"|{_DIGIT}{_EXTEND}(?:{_IN_NUMBER}{_EXTEND}{_DIGIT}{_EXTEND})*+"
    )
    run = rf"(?:(?:{unit})++|(?:{_KATAKANA}{_EXTEND})++)"
    joins = rf"(?:{_JOIN}{_EXTEND})++"
    leading = rf"(?:(?<!{_JOIN}[{_ATTACHED}]*){joins})?+"  # from the first of several joins, for linear time
    begins = rf"(?=[{_LETTER}{_DIGIT}{_KATAKANA}{_JOIN}])"  # fails fast
    return rf"{begins}{leading}{run}(?:{joins}{run})*+(?:{joins})?+"


def _emoji() -> str:
    """Pictures with their attached characters, joined by zero-width joiners; a picture with tags; a keycap."""
    picture, any_picture = f"[{_characters(_PICTURES)}]", f"[{_characters(_PICTURES + _LETTER_PICTURES)}]"
    joiner, attached = r"\u200D", rf"[[{_ATTACHED}]--[\uFE0E\uFE0F]]*"
    element = rf"{any_picture}{attached}+\uFE0F?+"
    skin = rf"[\U0001F3FB-\U0001F3FF]{attached}+"  # a tone alone; after a picture it is attached
    joined = rf"(?:(?<={joiner})|{joiner}++){element}|{joiner}{skin}"  # the joiner may have been attached already
    longer_than_a_word = rf"(?=(?:{any_picture}{_EXTEND}(?<={joiner}))+{picture})"
    first = rf"(?:(?={picture})|(?<!{joiner}){joiner}++|{longer_than_a_word}){element}"
    tags = r"[\U000E0020-\U000E007E]++\U000E007F"
    keycap = rf"[#*]{attached}\uFE0F?\u20E3{attached}+"  # the keycap of a digit is a word anyway
    return rf"(?:{first}|{skin})(?:{tags}|(?:{joined})*+)|{keycap}"


def _characters(codes: str) -> str:
    return "".join(re.sub("[0-9A-F]+", lambda code: chr(int(code[0], 16)), codes).split())


WORD = regex.compile(_pattern(), regex.V1)
"""Matches a word of any length."""
