"""``longrank train-passages``: train a model of passages on a file of examples."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console


def train_passages(
    training: Annotated[
        str, typer.Argument(help="What is trained and how: a name or a TOML file.", metavar="TRAINING")
    ],
    examples: Annotated[
        Path,
        typer.Argument(help="JSONL: a query with a text and its label, or with a group of texts.", metavar="EXAMPLES"),
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="Folder for the result; the same command again goes on in it."),
    ],
    dev: Annotated[
        Path | None, typer.Option("--dev", help="Examples to validate on, every loop.validate_every steps.")
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="section.key=value, any setting of the training.")
    ] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write a log for TensorBoard.")] = False,
) -> None:
    """Train a cross-encoder, a bi-encoder or doc2query.

    A line of EXAMPLES is {"query": ..., "text": ..., "label": 0 or 1}, or a group, the relevant text first:
    {"query": ..., "texts": [...]}, with "taught", a teacher's score of each text, for losses that distil. With --dev
    the best weights are kept. The model is FOLDER/model. Interrupted work resumes to the same bytes.

    Example: longrank train-passages monobert rows.jsonl -o passages --dev dev.jsonl
    """
    from longrank.cli.inputs import output_folder
    from longrank.training.passage_settings import load_passage_training
    from longrank.training.passage_training import train_passages as train
    from longrank.types import Notes

    notes = Notes()
    output_folder(output, examples, dev)
    settings = load_passage_training(training, assignments or ())
    first = console.is_first()
    with ExitStack() as shown:
        bar = console.progress("training", settings.loop.steps, "steps") if first else None
        progress = shown.enter_context(bar) if bar else lambda n: None
        record = train(settings, examples, dev, output, progress=progress, notes=notes, tensorboard=tensorboard)
    if record.get("best_step") is not None:
        measure = settings.validation.measure
        notes.say(f"best {measure} on dev {record['best_measure']:.4f}, after step {record['best_step']}")
    if first:
        console.show_notes(notes)
        console.note(f"{output}: {settings.network.name} trained")
