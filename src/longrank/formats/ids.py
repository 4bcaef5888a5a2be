"""What an id may be: one word, because run and qrels files separate their columns by white space."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from longrank.errors import InputError

_UNFIT = re.compile("[\x00-\x20\x7f\ud800-\udfff]")  # white space, control characters, halves of surrogate pairs


def check_id(text: str, what: str, path: Path, line: int | None = None) -> str:
    """Return `text` if it can stand in a column of a TREC file.

    Args:
        text: the id.
        what: whose it is, for the message: ``"query id"``.
        path: the file it comes from, or goes to.
        line: its 1-based line.

    Raises:
        InputError: it is empty, or holds ASCII white space or a control character.
    """
    if not text:
        raise InputError(f"{what} is empty", path=path, line=line)
    if _UNFIT.search(text):
        raise InputError(f"{what} holds white space", path=path, line=line, got=text, fix="ids are one word")
    return text


def check_ids(texts: Sequence[str], what: str, path: Path) -> None:
    """Check many ids at once.

    Raises:
        InputError: as `check_id`, for the first that is unfit.
    """
    if _UNFIT.search("".join(texts)) or not all(texts):
        for text in texts:
            check_id(text, what, path)
