"""Sentences of pretokenized text, in which a space precedes the end of a sentence, as in TIME.

    IT IS TIED TO THE U.S . POLICY OF MR . RUSK (TIME, DEC . 28) . " WHY NOT ? " HE ASKED .

A space precedes the period of an abbreviation, too, and upper-case text has no capitals to go by. So a lone ``.`` ends
a sentence unless the word before is

- a title, or a month or ``NO`` before a number: never an end;
- initials (``U.S``, ``F``), a unit or a firm's suffix: an end only before a word that seldom continues a sentence
  (``THE``, ``HE``, ``BUT``, ...), or before a closing quotation mark;
- a period of an ellipsis of three: an end only before a closing quotation mark.

A lone ``?`` or ``!`` ends a sentence unless a quotation closes and is attributed after it (``! " HE CRIED``). Closing
marks belong to the sentence before them. Quotation marks open and close alternately, except that a mark after a colon
opens and a mark before ``HE SAID`` closes. A lone ``/`` is a mistyped quotation mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(r"\S+")
_QUOTES = {'"', "/", "``", "''"}
_CLOSERS = {")", "'", "]"}
_MARK = re.compile(r"""[.?!]+["')\]]*""")
_GLUED = re.compile(r"""([^\W\d_]{3,}|\d{2,})([.?!])["')\]]*""")  # REASONS. or MAN." or 1947.
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_]+)*\.?")
_ELLIPSIS = 3
_NUMBER = re.compile(r"[$#]?\d")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TITLES = _words("MR MRS MS DR MME MLLE MSGR ST REV HON GEN COL MAJ LT SGT CAPT ADM CMDR PROF GOV SEN REP POP V VS")
_BEFORE_NUMBER = _words("JAN FEB MAR APR JUN JUL AUG SEPT SEP OCT NOV DEC NO NOS VOL P PP")
_SUFFIXES = _words("CO INC LTD CORP BROS JR SR ETC FT LB LBS SQ MI YD OZ BBL HQ")
_STARTERS = _words("A AN BUT HE HIS IT SHE THE THEIR THERE THESE THEY THIS THUS WE YET")
_SPEECH = _words(
    "ADDED ANSWERED ASKED ASKS BEGGED CRIED CRIES DEMANDED EXCLAIMED EXPLAINED GASPED INQUIRED MUSED "
    "PLEADED REPLIED REPLIES RETORTED ROARED SAID SAYS SCREAMED SHOUTED SIGHED SNAPPED SNORTED THUNDERED "
    "WHISPERED WONDERED WROTE YELLED"
)


class _Token(NamedTuple):
    text: str
    start: int
    end: int


def split(text: str) -> list[tuple[int, int]]:
    """Return the offsets of the sentences in code points, without the blanks between them."""
    tokens = [_Token(match.group(), *match.span()) for match in _TOKEN.finditer(text)]
    spans, first = [], 0
    for last in _ends(tokens):
        spans.append((tokens[first].start, tokens[last].end))
        first = last + 1
    return spans


def _ends(tokens: list[_Token]) -> Iterator[int]:
    """Yield the index of the last token of each sentence."""
    quoted, at = False, 0
    while at < len(tokens):
        token = tokens[at].text
        if token in _QUOTES:
            quoted = _opens(tokens, at, quoted)
        elif _MARK.fullmatch(token) or _GLUED.fullmatch(token):
            mark = at
            while at + 1 < len(tokens) and tokens[at + 1].text == ".":
                at += 1
            after = _after_closers(tokens, at + 1, quoted)
            closes = quoted and any(t.text in _QUOTES for t in tokens[at + 1 : after])
            if _is_end(tokens, mark, at, after, closes):
                at = after - 1
                quoted = quoted and not closes
                if at + 1 < len(tokens):
                    yield at
        at += 1
    if tokens:
        yield len(tokens) - 1


def _opens(tokens: list[_Token], at: int, quoted: bool) -> bool:
    """Return true if a quotation is open after the mark at `at`; corrects for a missing mark before it."""
    before = tokens[at - 1].text[-1] if at else ""
    if before == ":":
        return True
    return not quoted and not (before in ",?!" and _attributes(tokens, at + 1))


def _after_closers(tokens: list[_Token], at: int, quoted: bool) -> int:
    """Return the index after the closing quotation marks and brackets from `at` on."""
    while at < len(tokens):
        this, after = tokens[at].text, [token.text for token in tokens[at + 1 : at + 2]]
        if this in _QUOTES and (quoted or not after or after[0] in _CLOSERS):
            quoted = False
        elif not (this in _CLOSERS or (this == "." and tokens[at - 1].text != ".")):
            break
        at += 1
    return at


def _is_end(tokens: list[_Token], mark: int, last_mark: int, after: int, closes: bool) -> bool:
    """Return true if the marks from `mark` to `last_mark` end a sentence; `after` follows its closing marks."""
    if after >= len(tokens):
        return True
    following = tokens[after].text.upper()
    if following[0] in ";,:":
        return False
    glued = _GLUED.fullmatch(tokens[mark].text)
    if (glued[2] if glued else tokens[mark].text[0]) in "?!":
        return not (closes and _attributes(tokens, after))
    marks = last_mark - mark + 1
    if marks > 1:
        return closes or marks != _ELLIPSIS
    word = glued[1] if glued else tokens[max(mark - 1, 0)].text
    return _ends_after(word.upper().lstrip("(\"'").rpartition("-")[2], following, closes)


def _ends_after(word: str, following: str, closes: bool) -> bool:
    """Return true if a period after `word` ends a sentence, not only an abbreviation."""
    if word in _TITLES:
        return False
    if word in _BEFORE_NUMBER:
        return not _NUMBER.match(following)
    if word in _SUFFIXES or _INITIALS.fullmatch(word):
        return closes or following in _STARTERS
    return True


def _attributes(tokens: list[_Token], at: int) -> bool:
    """Return true if a quotation is attributed from `at` on: ``CRIED NASSER``, ``HE SAID``, ``A VISITOR ASKED``."""
    for token in tokens[at : at + 3]:
        word = token.text.upper()
        if word.rstrip(",:") in _SPEECH:
            return True
        if not word.isalpha():
            return False
    return False
