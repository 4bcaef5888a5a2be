"""Tell why a file of an index's sources cannot be read now although it is not deleted: a disk that is away, a right."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from stat import S_ISREG

from longrank.collections.databases import is_address
from longrank.collections.patterns import folders_above

GONE = (FileNotFoundError, NotADirectoryError)
"""Errors of a file that is away."""


def opening_fault(path: str) -> OSError | None:
    """Return the error of opening a file; None: it can be opened, is no file any more, or is a database.

    A link whose target is away stands for a file that cannot be opened: its disk may not be mounted.
    """
    try:
        if not is_address(path) and S_ISREG(Path(path).stat().st_mode):
            Path(path).open("rb").close()
    except GONE as error:
        return error if Path(path).is_symlink() else None
    except OSError as error:
        return error
    return None


def listing_fault(file: str, patterns: Iterable[str], known: dict[str, OSError | None]) -> OSError | None:
    """Return the error of listing a folder above a file that patterns matched; None: all can be listed, or are gone.

    Patterns take such folders for empty folders. A link whose target is away cannot be listed. `known` keeps the errors
    of folders.
    """
    for folder in (folder for pattern in patterns for folder in folders_above(file, pattern)):
        if folder not in known:
            try:
                os.scandir(folder).close()
                known[folder] = None
            except OSError as error:
                known[folder] = None if isinstance(error, GONE) and not Path(folder).is_symlink() else error
        if known[folder] is not None:
            return known[folder]
    return None


def link_above(file: str, sources: set[str]) -> OSError | None:
    """Return an error if a folder between a source and a file below it is a link now, which is not entered."""
    is_linked = False
    for folder in Path(file).parents:
        if str(folder) in sources:
            return OSError("its folder is a link now, and linked folders are not read") if is_linked else None
        is_linked = is_linked or folder.is_symlink()
    return None
