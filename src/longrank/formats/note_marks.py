"""Marks of footnotes (``Harbours<sup>1</sup>``), which separate words.

A raised number behind four letters or more is a mark in every format; behind fewer letters it is a power (m2).
"""

from __future__ import annotations

import re
from html import unescape

import regex

_NAMES = (
    r"noteref|(?:foot|end)note[-_]?ref(?:erence)?"
    r"|(?:foot|end)note_(?:20_)?(?:anchor|symbol)|sd(?:foot|end)note(?:anc|sym)"  # of LibreOffice
)
_HINTS = tuple(map(re.compile, ("<sup", "<SUP", "ote(?:[Rr]ef|anc|sym|[-_])")))
"""Texts of which each mark holds at least one. Each begins with letters that `re` looks up fast."""
_BEFORE = 2000  # characters from the start of a tag to a name in it
_TAGS = r"(?:<(?!/?(?:a|sup)\b)[^<>]*+>|\s)*+"  # such as the <span> around a bracket
_TEXT = rf"""{_TAGS}(?:
      [*†‡§¶\#]{{1,4}}+ | &(?:dagger|sect|para);
    | [0-9]{{1,4}}+ | [a-z]
    | (?:[\[(]|&\#91;){_TAGS}[^<>\[\]()&]{{1,20}}+{_TAGS}(?:[\])]|&\#93;)
    ){_TAGS}"""
_LINK = r"<a\s(?=[^<>]{0,1000}?\bhref\s*=\s*[\"']?[^\"'\s<>]{0,1000}\#)[^<>]*+>"
_MARK = regex.compile(
    rf"""(?:
      <sup\b[^<>]*+>{_TAGS}{_LINK}{_TEXT}</a\s*+>{_TAGS}</sup\s*+>
    | {_LINK}\s*+<sup\b[^<>]*+>{_TEXT}</sup\s*+>{_TAGS}</a\s*+>
    | <(?P<name>a|span|sup)\s(?=[^<>]*?(?:doc-noteref|(?<=["'\s=])(?:{_NAMES})(?=["'\s>])))[^<>]*+>
      [^<]{{0,20}}+(?:<(?!/?(?P=name)\b)[^<>]*+>[^<]{{0,20}}+){{0,9}}+</(?P=name)\s*+>
    )(?P<word>(?=(?:<[^<>]*+>){{0,3}}+\w))?""",
    regex.IGNORECASE | regex.VERBOSE,
)


_LETTERS = 4
WORD_END = rf"""[^\W\d_]{{{_LETTERS}}}[.,;:!?)\]"'”’»]{{0,2}}"""
"""A pattern of the end of a word that a mark may follow, with punctuation."""
_WORD_END = re.compile(rf"{WORD_END}(?:</[a-zA-Z]{{1,10}}>){{0,3}}\Z")  # also of an element: <i>Harbours</i>
_LONGEST_END = _LETTERS + 2 + 3 * len("</strong>")
_NUMBERS = r"\d{1,3}(?:\s?[,–-]\s?\d{1,3})*,?"  # 1; 3,4; 5-7
_RAISED = re.compile(rf"<sup\b[^<>]*>\s*(?:<[a-z][^<>]*>){{0,2}}{_NUMBERS}\s*(?:</[a-z]+>){{0,2}}</sup", re.IGNORECASE)


def is_mark(text: str, raised: str) -> bool:
    """Tell whether a raised text is a mark of notes to the text before it."""
    return re.fullmatch(_NUMBERS, raised) is not None and _WORD_END.search(text[-_LONGEST_END:]) is not None


def separated_marks(markup: str) -> str:
    """Return a page with a blank before each mark of a footnote, and behind it if a letter follows.

    A mark is a raised number behind four letters, a link to a place of a page (``href="#fn1"``) whose raised text is a
    number, a letter, a sign or a text in brackets, or an element whose role, type or class names it so. Other raised
    texts (``m<sup>2</sup>``) stay.
    """
    parts: list[str] = []
    position = 0
    for start in sorted(hint.start() for hints in _HINTS for hint in hints.finditer(markup)):
        # the tag of a name, or the link around a <sup>
        before = markup.rfind("<", max(position, start - _BEFORE), start)
        marks = (_MARK.match(markup, begin) for begin in (start, before) if begin >= position)
        if mark := next(filter(None, marks), None):
            parts += [markup[position : mark.start()], " ", mark[0], " " * (mark["word"] is not None)]
            position = mark.end()
        elif (
            start >= position
            and _WORD_END.search(unescape(markup[max(position, start - _LONGEST_END) : start]))
            and _RAISED.match(markup, start)
        ):
            parts += [markup[position:start], " "]
            position = start
    return "".join([*parts, markup[position:]])
