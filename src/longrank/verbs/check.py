"""Check every file of an index: the work of ``longrank check``."""

from __future__ import annotations

from pathlib import Path

from longrank.index import Index, verify_index


def check(index: Index | str | Path) -> int:
    """Compare every file of an index, its passage vectors included, with its checksum.

    Args:
        index: an index or its folder.

    Returns:
        The number of files; all are as they were written.

    Raises:
        InputError: not an index.
        IntegrityError: names the first damaged file.

    Example:
        >>> check(Index.build([("d1", "Dogs bark.")])) > 0
        True
    """
    return verify_index(Index.open(index).path)
