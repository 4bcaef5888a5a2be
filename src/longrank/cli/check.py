"""``longrank check``: compare files with their checksums."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from longrank.index import Index


def check(
    path: Annotated[
        Path,
        typer.Argument(help="Index, evidence, or folder of create, train, tune, weigh or reproduce.", metavar="PATH"),
    ],
) -> None:
    """Compare every file of a folder with its checksum.

    Folders below are checked, too. Exit code 3 names a damaged file, or work that is unfinished.

    Example: longrank check my.index
    """
    from longrank.index import Index
    from longrank.storage.remote import address_of
    from longrank.verbs.check import check as check_folder
    from longrank.verbs.check import is_index

    print(f"{address_of(path) or path}: {check_folder(path)} files, all as written")
    if is_index(path):
        print_expansions(Index(path))


def print_expansions(index: Index) -> None:
    """Print the files of predicted queries that an index was built with."""
    for file in index.options.expansions:
        print(f"expansions\t{file.used} of {file.lines} lines used in the build, sha256 {file.sha256}")
