"""reStructuredText: the text without its markup. No directive is executed, so nothing is included or fetched.

Headings are lines with an underline of one repeated punctuation character; their levels are the order in which the
adornments first occur. Comments, targets, options and the content of directives without text (``image``, ``toctree``,
``raw``, ...) are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from longrank.formats.parsed import Parsed
from longrank.formats.parsed.writer import TextWriter

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*$")
_SHORT = re.compile(r"(?!\.\.|::)([!-/:-@\[-`{-~])\1?$")  # below a title of one or two letters
_DIRECTIVE = re.compile(r"\s*\.\. +(?:\|[^|]+\| +)?([\w:.+-]+) ?::(?:\s+(.*))?$")
_EXPLICIT = re.compile(r"\s*\.\.(?:\s|$)")
_FOOTNOTE = re.compile(r"(\s*)\.\. +\[([^\]]+)\] ?")
_OPTION = re.compile(r"\s*:([\w-]+):(?:\s+(.*))?$")
_NO_OPTIONS = frozenset(
    {"caption", "header", "subtitle", "return", "returns", "rtype", "raises", "raise", "yields", "param", "type"}
)
"""Fields after a directive that are text: a caption, the header row of a table, the subtitle of a sidebar, and fields
of functions without a blank line before."""

_SILENT = frozenset(
    {"image", "toctree", "raw", "include", "literalinclude", "index", "highlight", "contents", "meta"}
    | {"currentmodule", "default-domain", "replace", "unicode"}
)
_CODE = frozenset({"code", "code-block", "sourcecode", "testcode", "testoutput", "doctest", "math"})
_SETTINGS = (_CODE - {"math"}) | {
    *("figure", "only", "ifconfig", "tabularcolumns", "productionlist", "role", "default-role", "graphviz", "plot"),
    *("rst-class", "cssclass", "ipython", "jupyter-execute", "prompt", "grid", "date"),
}
"""Directives whose argument is a path or a setting; that of any other is text, such as the name of a function."""
_REPLACEMENT = re.compile(r"^( *)\.\. +\|([^|\n]+)\| +replace ?::((?:.*\n?)(?:^\1 +\S.*\n?)*)", re.MULTILINE)
_LITERAL = re.compile("``")
_JOIN = "\ufdef"  # an escaped blank or line end, which joins what it stands between; a noncharacter, as _HIDDEN
_HIDDEN = {sign: chr(0xFDD0 + number) for number, sign in enumerate("*`|_<>\\")}
"""Signs of inline markup that mean themselves behind a backslash, as what they are hidden meanwhile."""
_HIDING = str.maketrans(_HIDDEN)
_SHOWN = {ord(hidden): sign for sign, hidden in _HIDDEN.items()} | {ord(_JOIN): ""}
_ESCAPED = re.compile(r"\\(?:(\s)|(.))")
_INLINE = (
    (
        re.compile(
            r"(?:(?<![^\W_]):[\w:+.-]+:(?:`([^`<]+?)\s*<[^`>]*>`|`[~!]?([^`]+)`)"  # a role, with its target or without
            r"|(?<![^\W_])(?<!`)_?(?:`([^`<]+?)\s*<[^`>]*>`__?|`([^`]+)`(?:__?)?))(?![\w`])"  # a link, or its target
        ),
        r"\1\2\3\4",
    ),
    (re.compile(r"(?<![\w*])\*\*(\S(?:[^*]*\S)?)\*\*(?![\w*])"), r"\1"),
    (re.compile(r"(?<![\w*])\*([^\s*](?:[^*]*[^\s*])?)\*(?![\w*])"), r"\1"),
    (re.compile(r"(?<![\w|])\|([^|\s](?:[^|]*[^|\s])?)\|_{0,2}(?![\w|])"), None),  # replaced by a directive's text
    (re.compile(rf"(?<!\w)((?!_)\w+?)__?(?=$|[\s.,;:!?){_JOIN}])"), r"\1"),  # a reference does not begin with _
)


def read_rst(text: str) -> Iterator[Parsed]:
    """Yield the document of a reStructuredText file."""
    writer = TextWriter()
    text = text.expandtabs(8)
    replacements = {
        " ".join(name.split()): _plain(" ".join(by.split()), {}).translate(_HIDING)
        for _, name, by in _REPLACEMENT.findall(text)
    }
    reader = _Reader(text.split("\n"), writer, replacements)
    reader.read()
    yield writer.parsed(reader.values.pop("title", ""), reader.values)


@dataclass
class _Reader:
    lines: list[str]
    writer: TextWriter
    replacements: dict[str, str] = field(default_factory=dict)  # of ``|name|``
    at: int = 0
    values: dict[str, str] = field(default_factory=dict)
    adornments: list[str] = field(default_factory=list)
    paragraph: list[str] = field(default_factory=list)
    begun: int = 0  # indentation of the paragraph's first line
    literal: int | None = None  # indentation of what announces a literal block

    def read(self) -> None:
        while self.at < len(self.lines):
            self._line(self.lines[self.at])
        self._end()

    def _line(self, line: str) -> None:
        if not line.strip():
            self._end()
            self.at += 1
        elif self.literal is not None and not self.paragraph and _indent(line) > self.literal:
            self._literal_block(self.literal)
        elif not self._heading():
            if note := _FOOTNOTE.match(line):
                self._end()
                line = self.lines[self.at] = note[1] + line[note.end() :]
            if _EXPLICIT.match(line) and (not self.paragraph or _indent(line) < self.begun):
                self._end()
                self._explicit(line)
            else:
                announces = line.rstrip().endswith("::")
                self.literal = _indent(line) if announces else None
                self.begun = self.begun if self.paragraph else _indent(line) + (note is not None)
                self.paragraph.append(line.strip().removesuffix("::") + ":" * (announces and line.strip() != "::"))
                self.at += 1

    def _heading(self) -> bool:
        """Read a heading here, with or without an overline; a lone adornment is a transition."""
        line, *after = (part.rstrip() for part in self.lines[self.at : self.at + 3])
        over = _ADORNMENT.match(line)
        if over and len(after) == 2 and after[0].strip() and after[1] == line:
            self._add_heading(after[0].strip(), line[0] * 2)
            self.at += 3
            return True
        if over and not self.paragraph:
            self.at += 1
            return True
        if after and not line[:1].isspace() and self._underlines(after[0], line):
            self._add_heading(line.strip(), after[0][0])
            self.at += 2
            return True
        return False

    def _underlines(self, adornment: str, title: str) -> bool:
        if (
            title.isalnum() and len(title) <= len(adornment) <= 2 and not self.paragraph
        ):  # "-" is an empty item of a list
            return _SHORT.match(adornment) is not None
        return _ADORNMENT.match(adornment) is not None and len(adornment) >= min(len(title), 4)

    def _add_heading(self, text: str, adornment: str) -> None:
        self._end()
        if adornment not in self.adornments:
            self.adornments.append(adornment)
        self.writer.add(_plain(text, self.replacements), self.adornments.index(adornment) + 1)

    def _explicit(self, line: str) -> None:
        """Read a directive, or leave out a comment or a target, with its indented block."""
        directive = _DIRECTIVE.match(line)
        self.at += 1
        name = directive[1].rpartition(":")[2] if directive else ""
        if line.strip() == ".." and not "".join(self.lines[self.at : self.at + 1]).strip():
            self.literal = None
            return  # an empty comment: what follows is no part of it
        if directive is None or name in _SILENT:
            self._skip_block(_indent(line))
            return
        self.begun = _indent(line) + 1
        if name not in _SETTINGS and directive[2]:
            argument = directive[2].strip()
            self.paragraph.append(argument.translate(_HIDING) if name.startswith("auto") else argument)
        while self.at < len(self.lines) and (option := _OPTION.match(self.lines[self.at])):
            if option[1] in _NO_OPTIONS and option[2]:
                self.paragraph.append(option[2].strip())
            self.at += 1
            while name.startswith("auto") and self._is_deeper(option[0]):
                self.at += 1  # the option goes on: names of members
        self.literal = _indent(line) if name in _CODE else None

    def _is_deeper(self, line: str) -> bool:
        """Tell whether the next line is indented more than another line."""
        following = self.lines[self.at] if self.at < len(self.lines) else ""
        return bool(following.strip()) and _indent(following) > _indent(line)

    def _literal_block(self, indent: int) -> None:
        """Read lines of code, whose characters are no markup."""
        begun = self.at
        self._skip_block(indent)
        self.writer.add("\n".join(line.strip() for line in self.lines[begun : self.at]))
        self.literal = None

    def _skip_block(self, indent: int) -> None:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip() and _indent(line) <= indent:
                return
            self.at += 1

    def _end(self) -> None:
        self.writer.add(_plain("\n".join(self.paragraph), self.replacements))
        self.paragraph = []


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _plain(text: str, replacements: Mapping[str, str]) -> str:
    """Return a text without inline markup; literals, which hold none, stay as they are."""

    def replaced(found: re.Match[str]) -> str:
        return replacements.get(" ".join(found[1].split()), found[1])

    parts = _divided(text)
    parts[::2] = [
        _ESCAPED.sub(lambda sign: _JOIN if sign[1] else _HIDDEN.get(sign[2], sign[2]), part) for part in parts[::2]
    ]
    for pattern, replacement in _INLINE:
        parts[::2] = [pattern.sub(replaced if replacement is None else replacement, part) for part in parts[::2]]
    return "".join(parts).translate(_SHOWN)


def _divided(text: str) -> list[str]:
    """Divide a text at its literals, every second part; signs of literals inside a word are text, between words."""
    signs = list(_LITERAL.finditer(text))
    ends: list[int | None] = [None]  # for each sign, reversed: the first sign behind it that ends a literal
    for sign in reversed(signs):
        is_end = not text[sign.start() - 1 : sign.start()].isspace() and not text[sign.end() : sign.end() + 1].isalnum()
        ends.append(sign.start() if is_end else ends[-1])
    parts, position = [], 0
    for sign, end in zip(signs, reversed(ends[:-1]), strict=True):
        begins = (
            not text[max(sign.start() - 1, 0) : sign.start()].isalnum()
            and not text[sign.end() : sign.end() + 1].isspace()
        )
        if begins and end is not None and sign.start() >= position:
            parts += [text[position : sign.start()], text[sign.end() : end]]
            position = end + 2
    return [*parts, text[position:]]
