"""Front matter of Markdown: ``key: value`` lines between ``---`` lines, or TOML between ``+++`` lines."""

from __future__ import annotations

import re
import tomllib
from typing import Any

_BLOCK = re.compile(r"\A(---|\+\+\+)[ \t]*\n(.*?\n)??\1[ \t]*(?:\n|\Z)", re.DOTALL)
_PAIR = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:[ \t]+(.*)")

_NAME = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]*\n(?=[ \t]+\S|-[ \t])|[ \t]+[\[{|>&*])", re.MULTILINE)
_YAML = re.compile(r"""\s|$|\#|-(?:\s|$)|[\]}]|[\w"'][^:]*:(?:\s|$)""")  # indented, empty, a comment, an item, or a key


def split_front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the scalar values of the front matter, keys in lower case, and the text after it.

    Lists and nested values of YAML are left out. A block without a ``key: value`` line, that begins with an empty line,
    or that has a line of another kind is text: ``---`` is also a rule between paragraphs.

    >>> split_front_matter("---\\ntitle: 'Cats'\\n---\\nThey purr.")
    ({'title': 'Cats'}, 'They purr.')
    """
    match = _BLOCK.match(text)
    if match is None:
        return {}, text
    if match[1] == "+++":
        found = _toml(match[2] or "")
        values = {key.lower(): str(value) for key, value in found.items() if not isinstance(value, dict | list)}
    else:
        values = _yaml(match[2] or "")
    return (values, text[match.end() :]) if values else ({}, text)


def n_left_out(text: str) -> int:
    """Return the number of lists and folded or nested values of front matter that `split_front_matter` leaves out.

    >>> n_left_out("---\\ntitle: Cats\\ntags: [a, b]\\n---\\nThey purr.")
    1
    """
    match = _BLOCK.match(text)
    if match is None:
        return 0
    if match[1] == "+++":
        return sum(isinstance(value, dict | list) for value in _toml(match[2] or "").values())
    if not (values := _yaml(match[2] or "")):
        return 0
    return len({name[1].lower() for name in _NAME.finditer(match[2])} - set(values))


def _toml(block: str) -> dict[str, Any]:
    try:
        return tomllib.loads(block)
    except tomllib.TOMLDecodeError:
        return {}


def _yaml(block: str) -> dict[str, str]:
    lines, values = block.splitlines(), {}
    if not (lines and lines[0].strip()) or not all(map(_YAML.match, lines)):
        return {}
    for line in lines:
        pair = _PAIR.match(line)
        if pair and (value := _unquoted(pair[2].strip())):
            values[pair[1].lower()] = value
    return values


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return "" if value[:1] in ("[", "{", "|", ">", "&", "*") else value
