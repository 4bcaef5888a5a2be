"""``longrank create``: a new document network, to be trained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console


def create(
    network: Annotated[
        str, typer.Argument(help="The network: parade-transformer, ...; docs/names.md lists them.", metavar="NETWORK")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write.")],
    model: Annotated[
        str, typer.Option("--model", help="The pretrained encoder: a Hugging Face name, a folder, or an alias.")
    ],
    preset: Annotated[
        str | None, typer.Option("--preset", help="standalone or capreolus: what released code does otherwise.")
    ] = None,
    layers: Annotated[
        int | None,
        typer.Option("--layers", help="Keep so many layers of the encoder, evenly from the first to the last."),
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="option=value, any option of the network.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the weights that are not the encoder's.")] = 0,
) -> None:
    """Put a document network on a pretrained encoder.

    Its aggregator is random, so the folder is marked as untrained, and rerank wants --allow-untrained for it. With
    --layers it is a student, to be distilled into: of a network of the same name the aggregator is kept.

    Example: longrank create parade-transformer --model minilm -o parade
    """
    from longrank.config import override
    from longrank.models.new import create_folder
    from longrank.networks.model_files import find_model
    from longrank.storage.workplace import check_apart
    from longrank.types import Notes

    options = override({}, assignments or ())
    found = find_model(model)
    check_apart(output, found.path)
    notes = Notes()
    create_folder(network, found, output, notes, options=options, preset=preset, seed=seed, layers=layers)
    console.show_notes(notes)
    console.note(f"{output}: an untrained {network} on {model}{'' if layers is None else f', {layers} layers of it'}")
