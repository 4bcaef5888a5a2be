"""Options of the analyses on the command line, and their output."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longrank.cli import console
from longrank.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from longrank.analysis.result import Analysis

Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE.json", help="Output file, JSON; a plot (.svg) goes beside it."),
]
Level = Annotated[int, typer.Option("-l", "--level", min=1, help="Lowest relevant grade.")]


def check_output(output: Path | None, plot: Path | None, *inputs: Path | str | None) -> None:
    """Refuse an output that cannot be written, before any work.

    Raises:
        InputError: the name does not end in .json, or as `inputs.output_file` and `inputs.plot_file`.
        MissingExtra: matplotlib is not installed, and a plot is wanted.
    """
    from longrank.cli.inputs import output_file, plot_file

    plot_file(plot, output, *inputs)
    if output is None:
        return
    if output.suffix != ".json":
        raise InputError("the output file must end in .json", got=str(output))
    output_file(output, *inputs)
    output_file(output.with_suffix(".svg"), *inputs)


def deliver(analysis: Analysis[Any], output: Path | None, plot: Path | None) -> None:
    """Print an analysis and its notes; write the JSON with a plot beside it, and the plot, where they are wanted."""
    typer.echo(analysis.text)
    if plot is not None:
        analysis.draw(plot)
    if output is not None:
        analysis.write(output)
        try:
            analysis.draw(output.with_suffix(".svg"))
        except MissingExtra as missing:
            console.note(f"no plot: {missing}")
    console.show_notes(analysis.notes)
