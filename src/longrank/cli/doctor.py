"""``longrank doctor`` and ``longrank cache``: describe the installation, and keep the cache folder small."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from longrank.cli import console

cache = typer.Typer(help="List or remove what LongRank keeps to save time.", rich_markup_mode=None)


def doctor() -> None:
    """Show versions, extras, processor, caches and hub access.

    The exit code is 0, whatever is found.

    Example: longrank doctor
    """
    from longrank.verbs.doctor import doctor as findings

    group = ""
    for finding in findings(os.environ):
        if finding.group != group:
            group = finding.group
            print(group)
        print(f"  {finding.name:22} {finding.state}")


@cache.command("list")
def list_entries() -> None:
    """List the entries with their sizes.

    Models downloaded from the Hugging Face hub are in its own cache: see hf cache ls.

    Example: longrank cache list
    """
    from longrank.storage.cache import cache_folder, entries

    found = entries()
    for name, size in found.items():
        print(f"{size / 1e6:10.1f} MB  {name}")
    print(f"{sum(found.values()) / 1e6:10.1f} MB  in {cache_folder()}")


@cache.command("remove")
def remove_entries(
    names: Annotated[
        list[str] | None, typer.Argument(help="Entries, as cache list names them.", metavar="NAME")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Remove every entry.")] = False,
) -> None:
    """Remove entries; the commands that need them make them again.

    Example: longrank cache remove --all
    """
    from longrank.errors import InputError
    from longrank.storage.cache import entries, remove

    if bool(names) == every:
        raise InputError("name the entries to remove, or give --all", fix="longrank cache list")
    chosen = list(entries()) if every else list(dict.fromkeys(names or ()))
    for name in chosen:
        size = remove(name)
        console.note(f"removed {name}, {size / 1e6:.1f} MB")
