"""Regular expressions of tokenizers: find those whose matching could take exponential time.

The tokenizers library matches with Oniguruma, which backtracks. Time is exponential where a repeated group can match
the same text in several ways: ``(a+)+``, ``(a|a)*``. The check reads the structure alone, so it refuses harmless ones,
too: every repeated group that holds a repetition or a choice. The patterns of GPT-2, GPT-4, Llama 3 and BLOOM have
none. What is left is bounded by Oniguruma itself, which gives up a match after some millions of steps.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\\[kg1-9]|\\.|\(\?[a-zA-Z]*x|\(\?~|\(\?#[^)]*\)|[\[()|*+]|\{\d*,?\d*\}|.", re.DOTALL)
_FORBIDDEN = re.compile(r"\\[kg1-9]|\(\?[a-zA-Z]*x|\(\?~")  # references, comments in the pattern, absent groups
_QUANTIFIER = re.compile(r"[*+]|\{(\d*),?(\d*)\}")


def may_explode(pattern: str) -> bool:
    """Say whether matching could take exponential time, by the structure of a regular expression."""
    open_groups, place, after = [False], 0, ""  # of each open group: can it match in several ways?
    while place < len(pattern):
        found = _TOKEN.match(pattern, place)
        sign = found[0] if found else ""
        place += len(sign)
        if _FORBIDDEN.match(sign) or (sign == ")" and len(open_groups) == 1):
            return True
        if sign == "[":
            place = _end_of_class(pattern, place)
        elif sign == "(":
            open_groups.append(False)
        elif sign == ")":
            inner = open_groups.pop()
            if inner and _repeats(pattern, place):
                return True
            open_groups[-1] |= inner
        elif sign == "|" or (sign == "?" and after != "(") or _varies(sign):
            open_groups[-1] = True
            if _unbounded(sign) and _unbounded(after) and "{" in sign + after:  # a{2,}+ repeats a{2,}
                return True
        after = sign
    return False


def _repeats(pattern: str, place: int) -> bool:
    """Say whether the group that ends at `place` can be matched more than once in a row."""
    found = _QUANTIFIER.match(pattern, place)
    return found is not None and (_unbounded(found[0]) or int(found[2] or found[1] or 0) > 1)


def _varies(sign: str) -> bool:
    """Say whether a sign repeats what stands before it a number of times that is not fixed."""
    found = _QUANTIFIER.fullmatch(sign)
    return _unbounded(sign) or (found is not None and "," in sign and found[1] != found[2])


def _unbounded(sign: str) -> bool:
    return sign in ("*", "+") or (len(sign) > 3 and sign[0] == "{" and sign.endswith(",}"))


def _end_of_class(pattern: str, place: int) -> int:
    """Return the place after a character class; classes may hold classes."""
    depth, first = 1, True
    while place < len(pattern) and depth:
        sign = pattern[place]
        if first and sign == "^":
            place += 1
            continue
        if sign == "\\":
            place += 1
        elif sign == "[":
            depth += 1
        elif sign == "]" and not first:
            depth -= 1
        first = sign == "[" and pattern[place - 1 : place] != "\\"
        place += 1
    return place
