"""``longrank create``: make an untrained document network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console


def create(
    network: Annotated[
        str, typer.Argument(help="Network: parade-transformer, ...; docs/names.md lists them.", metavar="NETWORK")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Output folder.")],
    model: Annotated[str, typer.Option(help="Pretrained encoder: a Hugging Face name, a folder, or an alias.")],
    preset: Annotated[
        str | None, typer.Option(help="Options by name: standalone or capreolus (released code), or unordered.")
    ] = None,
    layers: Annotated[int | None, typer.Option(help="Number of encoder layers to keep, evenly spaced.")] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="option=value: any option of the network.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the new weights.")] = 0,
) -> None:
    """Put a document network on a pretrained encoder.

    The aggregator's weights are random, so the folder is marked as untrained, and rerank needs --allow-untrained. With
    --layers, the network is a student for distillation; the aggregator of a network of the same name is kept.

    Example: longrank create parade-transformer --model minilm -o parade
    """
    from longrank.config import override
    from longrank.models.new import create_folder
    from longrank.networks.model_files import find_model
    from longrank.storage.workplace import check_apart, check_outside
    from longrank.types import Notes

    options = override({}, assignments or ())
    files = find_model(model)
    check_apart(output, files.path)
    check_outside(output)
    notes = Notes()
    create_folder(network, files, output, notes, options=options, preset=preset, seed=seed, layers=layers)
    console.show_notes(notes)
    console.note(f"{output}: an untrained {network} on {model}{'' if layers is None else f', {layers} layers'}")
