"""LongRank's errors, and their exit codes on the command line.

    LongRankError           1   failed while running: no space left, a score that is not a number
    ├── InputError          2   wrong input: the message names file, line, fault and cure
    │   └── MissingExtra    2   an optional dependency is not installed
    └── IntegrityError      3   a file written by LongRank is damaged or incomplete

Messages are one line: ``FILE:LINE: fault (got 'X'); cure``. Text from files is shown escaped, so control characters
in hostile input never reach a terminal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires
from os import PathLike, fspath

_USER_INFO = re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]*:/{1,2}[^\s/:@]*):[^\s@]*@")
_PARAMETER = re.compile(r"([?&]\w*(?:password|api_key)=)[^&\s]*")
_MAX_SHOWN = 80  # characters of a wrong value in a message


class LongRankError(Exception):
    """Base of LongRank's errors; raised itself for failures at run time."""

    exit_code = 1

    def __str__(self) -> str:
        return printable(super().__str__())


class IntegrityError(LongRankError):
    """A file that LongRank wrote is damaged, incomplete or of another version; the message names it."""

    exit_code = 3


class InputError(LongRankError):
    """Wrong input.

    Args:
        what: the fault, in a few words, without the place.
        path: the faulty file, if any.
        line: its 1-based line, if known.
        got: the wrong value; shown escaped and shortened.
        fix: the cure.
        about: names of the arguments whose content is at fault, where their files are not known; a command adds the
            files (`longrank.verbs.naming`).
    """

    exit_code = 2

    def __init__(
        self,
        what: str,
        *,
        path: str | PathLike[str] | None = None,
        line: int | None = None,
        got: object = None,
        fix: str | None = None,
        about: Sequence[str] = (),
    ) -> None:
        self.what, self.path, self.line, self.got, self.fix, self.about = what, path, line, got, fix, tuple(about)
        super().__init__(self._message())

    def located(self, path: str | PathLike[str]) -> InputError:
        """Return this fault with the file at fault in its message."""
        self.path = path
        self.args = (self._message(),)
        return self

    def _message(self) -> str:
        return without_passwords(self._whole())

    def _whole(self) -> str:
        place = ""
        if self.path is not None:
            place = printable(fspath(self.path)) + (f":{self.line}: " if self.line else ": ")
        got = "" if self.got is None else f" (got {shown(self.got)})"
        fix = "" if self.fix is None else f"; {self.fix}"
        return f"{place}{self.what}{got}{fix}"


class Changed(InputError):
    """A file, an index or a model is in another state than when it was opened."""


class BeingWritten(InputError):
    """Another process is writing to the same file or folder."""


class MissingExtra(InputError):
    """An optional dependency is not installed.

    Args:
        what: the feature, e.g. ``"reading HTML"``.
        extra: the extra that installs it, e.g. ``"html"``.
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra '{extra}'", fix=install_line(extra))


def install_line(*extras: str) -> str:
    """Return the commands that install extras; none of them needs LongRank on a package index.

    >>> install_line("html")
    "pip install '.[html]' in a clone of LongRank, or pip install 'resiliparse>=0.15'"
    """
    clone, marker = f"pip install '.[{','.join(extras)}]' in a clone of LongRank", f"extra == .({'|'.join(extras)}).$"
    try:
        required = [requirement.partition(";") for requirement in requires("longrank") or ()]
    except PackageNotFoundError:  # run from the sources
        return clone
    packages = [f"'{package}'" for package, _, condition in required if re.search(marker, condition.strip())]
    return f"{clone}, or pip install {' '.join(packages)}"


def without_passwords(text: str) -> str:
    """Return a text with the passwords of the addresses in it as ``***``: a mistyped source may be an address.

    >>> without_passwords("postgresql://me:secret@host/db")
    'postgresql://me:***@host/db'
    """
    return _PARAMETER.sub(r"\1***", _USER_INFO.sub(r"\1:***@", text))


def printable(text: str) -> str:
    """Return `text` on one line, with unprintable characters escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def first_line(error: BaseException) -> str:
    """Return the first line of another library's error message, without colours, at most 200 characters."""
    message = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = message.strip().splitlines() or [type(error).__name__]
    return lines[0][:200]


def shown(value: object) -> str:
    """Return a value for a message: strings quoted and shortened, lists as JSON, others as they are."""
    if isinstance(value, bool | list | dict):
        value = json.dumps(value, ensure_ascii=False, default=str)
        return printable(value[:_MAX_SHOWN]) + "..." * (len(value) > _MAX_SHOWN)
    if not isinstance(value, str):
        return printable(str(value))[:_MAX_SHOWN]
    text = printable(value)
    return f"'{text[:_MAX_SHOWN]}...'" if len(text) > _MAX_SHOWN else f"'{text}'"
