"""What an id may be: one word, because run and qrels files separate their columns by white space."""

from __future__ import annotations

import re
from pathlib import Path

from longrank.errors import InputError

_UNFIT = re.compile(r"[\x00-\x20\x7f]")


def check_id(text: str, what: str, path: Path, line: int | None = None) -> str:
    """Return `text` if it can stand in a column of a TREC file.

    Args:
        text: the id.
        what: whose it is, for the message: ``"query id"``.
        path: the file it comes from.
        line: its 1-based line.

    Raises:
        InputError: it is empty, or holds ASCII white space or a control character.
    """
    if not text:
        raise InputError(f"empty {what}", path=path, line=line)
    if _UNFIT.search(text):
        raise InputError(f"{what} holds white space", path=path, line=line, got=text, fix="ids are one word")
    return text
