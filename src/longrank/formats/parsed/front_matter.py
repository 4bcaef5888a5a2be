"""Front matter of Markdown: YAML between ``---`` lines, or TOML between ``+++`` lines.

Of YAML, the scalar values of the outermost keys are read, in all their forms: plain, quoted, and in blocks.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from itertools import pairwise
from textwrap import dedent
from typing import Any, NamedTuple

_BLOCK = re.compile(r"\A(?:(---)|\+\+\+)[ \t]*\n(.*?\n)??(?(1)(?:---|\.\.\.)|\+\+\+)[ \t]*(?:\n|\Z)", re.DOTALL)
_KEYS = r""""[^"]*"|'[^']*'|[^\s"'#][^:]*|[A-Za-z_][\w.-]*(?::[\w.-]+)+"""  # og:image, but no https://a.org
_YAML = re.compile(rf"\s|$|\#|-(?:\s|$)|[\]}}]|(?=[\w\"'])(?:{_KEYS})[ \t]*:(?:\s|$)")
"""A line that is indented, empty, a comment, an item, or a key."""
_KEY = re.compile(r"""(?P<quote>["']?)(?P<key>(?<=["']).*?|[^:]*?|\S*?)(?P=quote)[ \t]*:(?:\s+(?P<value>.*)|$)""")
_NESTED = re.compile(rf"-(?:\s|$)|(?:{_KEYS}):(?:\s|$)|[\[{{&*]")
_BLOCK_SCALAR = re.compile(r"([|>])[-+\d]*\s*(?:#.*)?$")
_NULLS = ("~", "null", "Null", "NULL")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_QUOTED = re.compile(r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)')\s*(?:#[^\n]*)?""", re.DOTALL)
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U(?:000[0-9A-Fa-f]|0010)[0-9A-Fa-f]{4}|.)|(\n+)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029", "\n": ""}


class FrontMatter(NamedTuple):
    """Front matter: scalar values by their keys in lower case, the text after it, and the number of other values."""

    values: dict[str, str]
    text: str
    n_left_out: int


def split_front_matter(text: str) -> FrontMatter:
    """Return the front matter of a text; lists and nested values are left out.

    A block without a key, that begins with an empty line, or that has a line of another kind is text: ``---`` is also
    a rule between paragraphs.

    >>> split_front_matter("---\\ntitle: 'Cats'\\ntags: [a, b]\\n---\\nThey purr.")
    FrontMatter(values={'title': 'Cats'}, text='They purr.', n_left_out=1)
    """
    match = _BLOCK.match(text)
    found = (_yaml if match[1] else _toml)(match[2] or "") if match else {}
    if not (match and found) or (match[0].rstrip().endswith("...") and any(" " in key for key in found)):
        return FrontMatter({}, text, 0)  # an ellipsis below "He said: go" is text
    values = {key: value for key, value in found.items() if value}
    return FrontMatter(values, text[match.end() :], sum(value is None for value in found.values()))


def _toml(block: str) -> dict[str, str | None]:
    try:
        found = tomllib.loads(block)
    except tomllib.TOMLDecodeError:
        return {}
    return {key.lower(): _text(value) for key, value in found.items()}


def _text(value: Any) -> str | None:
    """Return a value of TOML as YAML writes it; None for a list or a table."""
    if isinstance(value, bool):
        return str(value).lower()
    return None if isinstance(value, dict | list) else str(value)


def _yaml(block: str) -> dict[str, str | None]:
    """Return the value of each key; None for a list or a nested value, and an empty text for none."""
    lines, values = block.split("\n"), dict[str, str | None]()
    if not lines[0].strip() or not all(map(_YAML.match, lines)):
        return {}
    begins = [number for number, line in enumerate(lines) if line[:1] and line[0] not in " \t#-]}"]
    keys = [key for begin in begins if (key := _KEY.match(lines[begin]))]
    before = lines[: begins[0]] if begins else lines
    if len({key["key"] for key in keys}) < len(begins) or any(_COMMENT.sub("", line.strip()) for line in before):
        return {}  # YAML has no key twice, and nothing before the first
    for key, (begin, end) in zip(keys, pairwise([*begins, len(lines)]), strict=True):
        values[key["key"].lower()] = _value([key["value"] or "", *lines[begin + 1 : end]])
    return values if any(value != "" or " " not in key for key, value in values.items()) else {}  # a line with a colon


def _value(lines: Sequence[str]) -> str | None:
    """Return the value in the lines from a key to the next key; None if it is no scalar."""
    first, inner = lines[0].strip(), [line for line in lines[1:] if not line.startswith(("#", "-", "]", "}"))]
    if block := _BLOCK_SCALAR.match(first):
        return _folded(inner) if block[1] == ">" else dedent("\n".join(inner)).strip()
    if first.startswith(("[", "{", "|", ">", "&", "*")):
        return None
    if not _COMMENT.sub("", first):
        below = [line.strip() for line in lines[1:] if _COMMENT.sub("", line.strip())]
        return "" if not below else None if _NESTED.match(below[0]) else _value(below)
    inner = [line.strip() for line in inner]
    if first in _NULLS and not any(inner):
        return ""
    if quoted := _QUOTED.fullmatch("\n".join([first, *inner]).strip()):
        return _unescaped(quoted[1]) if quoted[2] is None else _folded(quoted[2].replace("''", "'").split("\n"))
    return _folded([_COMMENT.sub("", line) for line in (first, *inner)])


def _folded(lines: Sequence[str]) -> str:
    """Join lines by blanks; an empty line is a line end."""
    return re.sub(" ?\n ?", "\n", " ".join(line.strip() or "\n" for line in lines)).strip()


def _unescaped(text: str) -> str:
    """Return the text of a double-quoted scalar; its line ends are folded."""
    text = _ESCAPE.sub(_character, text).strip()
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # JSON escapes a letter as a pair


def _character(escape: re.Match[str]) -> str:
    if escape[2]:
        return "\n" * (len(escape[2]) - 1) or " "
    code = escape[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPED.get(code, code)
