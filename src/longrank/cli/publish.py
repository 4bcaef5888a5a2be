"""``longrank publish``: upload a model to the Hugging Face hub."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console

_TOKEN = "HF_TOKEN"  # noqa: S105


def publish(
    folder: Annotated[
        Path, typer.Argument(help="A finished training, or a model's folder with safetensors.", metavar="FOLDER")
    ],
    repo: Annotated[
        str | None, typer.Option(help="Repository on the hub, OWNER/NAME; it is created if it does not exist.")
    ] = None,
    licence: Annotated[
        str | None, typer.Option("--license", help="Licence of the model, as the hub names it: apache-2.0, mit, ...")
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Hide a new repository from others.")] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Delete files of an earlier model in the repository that FOLDER lacks.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the model, list its files and print its card; upload nothing.")
    ] = False,
) -> None:
    """Upload a model to the Hugging Face hub, with a model card.

    Checks that the training is finished, that every checksum is right and that there are only safetensors, settings
    and tokenizers. The card (data, settings, development curve, licence, how to load) goes to standard output with
    --dry-run, the list of files to standard error. The token is HF_TOKEN, else the token of hf auth login.

    Example: longrank publish parade/s1 --license apache-2.0 --dry-run
    """
    from longrank.types import Notes
    from longrank.verbs.publish import publish as publish_model

    notes, token = Notes(), os.environ.get(_TOKEN) or None
    published = publish_model(
        folder, repo, licence=licence, private=private, token=token, replace=replace, dry_run=dry_run, notes=notes
    )
    for name, size in published.sizes.items():
        console.note(f"{size:12,} bytes  {name}")
    console.show_notes(notes)
    if dry_run:
        print(published.card, end="")
    console.note(f"{published.path}: {'nothing uploaded' if published.url is None else f'uploaded, {published.url}'}")
