"""Readings of East Asian words (ruby, ``東<rt>とう</rt>京<rt>きょう</rt>``) behind the word, in brackets.

Between its letters, they would hide the word from a search.
"""

from __future__ import annotations

import re

import regex

_ELEMENT = r"<ruby\b[^<>]*+>(?:[^<]++|<(?!/?ruby\b)){0,2000}+</ruby\s*+>"
_RUN = regex.compile(rf"(?:{_ELEMENT})++", regex.IGNORECASE)
_TAG = re.compile(r"<(/?)(rt|rp|rb|rtc|rbc|ruby)\b[^<>]*>", re.IGNORECASE)
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
_ANY_TAG = re.compile("<[^<>]*>")


def with_readings_behind(markup: str) -> str:
    """Return the markup of a page with each run of ``<ruby>`` elements as their words, then the readings."""
    return _RUN.sub(lambda run: _reordered(run[0]), markup) if "<ruby" in markup.lower() else markup


def in_brackets(readings: list[str]) -> str:
    """Return readings in one pair of brackets, Latin letters (pinyin) with blanks between them; empty without any."""
    given = [reading.strip() for reading in readings if reading.strip()]
    between = " " if _LATIN.search(_ANY_TAG.sub("", "".join(given))) else ""
    return f"({between.join(given)})" if given else ""


def _reordered(run: str) -> str:
    words: list[str] = []
    readings: list[str] = []
    state, position = "ruby", 0
    for tag in _TAG.finditer(run):
        _keep(run[position : tag.start()], state, words, readings)
        state = "ruby" if tag[1] else tag[2].lower()
        position = tag.end()
    return "".join(words) + in_brackets(readings)


def _keep(text: str, state: str, words: list[str], readings: list[str]) -> None:
    if state in ("rt", "rtc"):
        readings.append(text)
    elif state != "rp":
        words.append(text)
