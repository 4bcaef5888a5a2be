"""Check ids: an id is one word, because run and qrels files separate their columns by white space."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from longrank.errors import InputError

_UNFIT = re.compile("[\x00-\x20\x7f\ufeff\ud800-\udfff]")
"""White space, control characters, the byte-order mark (left over in joined files), halves of surrogate pairs."""


def check_id(text: str, what: str, path: Path, line: int | None = None) -> str:
    """Return `text` if it can stand in a column of a TREC file.

    Args:
        text: the id.
        what: kind of id, for the message: ``"query id"``.
        path: the file that holds it, or will hold it.
        line: its 1-based line.

    Raises:
        InputError: it is empty, or holds ASCII white space or an invisible character.
    """
    if not text:
        raise InputError(f"{what} is empty", path=path, line=line)
    if unfit := _UNFIT.search(text):
        kind = "white space" if unfit[0].isspace() else "an invisible character"
        raise InputError(f"{what} holds {kind}", path=path, line=line, got=text, fix="ids are one word")
    return text


def check_ids(texts: Sequence[str], what: str, path: Path) -> None:
    """Check many ids at once.

    Raises:
        InputError: as `check_id`, for the first that is unfit.
    """
    if _UNFIT.search("".join(texts)) or not all(texts):
        for text in texts:
            check_id(text, what, path)
