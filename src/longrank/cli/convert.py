"""``longrank convert``: convert a published checkpoint to safetensors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console


def convert(
    source: Annotated[
        str, typer.Argument(help="Checkpoint: a PyTorch file, a folder, or a Hugging Face name.", metavar="SOURCE")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Output folder, the new model.")],
    base: Annotated[
        str | None,
        typer.Option(
            help="Model whose configuration and tokenizer are taken where SOURCE has none: a name or a folder."
        ),
    ] = None,
    head: Annotated[
        str | None,
        typer.Option(
            help="Head: classification, next-sentence, seq2seq, decoder or encoder. [default: as the tensors show]"
        ),
    ] = None,
) -> None:
    """Convert a published checkpoint to safetensors.

    Give the folder to --model. Reads tensors alone and runs no code of the checkpoint. A checkpoint whose head would
    be random is refused.

    Example: longrank convert castorini/monobert-large-msmarco -o ./monobert
    """
    from longrank.verbs.convert import convert as convert_checkpoint

    converted = convert_checkpoint(source, output, base=base, head=head)
    console.show_notes(converted.notes)
    console.note(f"{output}: {converted.n_tensors} tensors, head: {converted.head}")
