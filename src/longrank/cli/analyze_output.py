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
    typer.Option("-o", "--output", metavar="FILE.json", help="Write the result as JSON, and beside it a plot, .svg."),
]
Evidence = Annotated[Path, typer.Argument(help="An evidence file written by longrank rerank.", metavar="EVIDENCE")]
Qrels = Annotated[
    str, typer.Argument(help="Judgments: a TREC qrels file, a collection folder, or irds:ID.", metavar="QRELS")
]
Level = Annotated[int, typer.Option("-l", "--level", min=1, help="Lowest relevant grade.")]
Measures = Annotated[
    list[str] | None,
    typer.Option("-m", "--measure", help="Repeatable; a name of ir_measures or trec_eval. [default: nDCG@10]"),
]


def check_output(output: Path | None, *inputs: Path | str | None) -> None:
    """Fail before any work if the result cannot be written.

    Raises:
        InputError: the name does not end in .json, or as `inputs.output_file`.
    """
    from longrank.cli.inputs import output_file

    if output is None:
        return
    if output.suffix != ".json":
        raise InputError("-o names a file that ends in .json; the plot goes beside it", got=str(output))
    output_file(output, *inputs)
    output_file(output.with_suffix(".svg"), *inputs)


def deliver(analysis: Analysis[Any], output: Path | None) -> None:
    """Print an analysis and its notes; write the JSON and draw the plot, if there is an output."""
    typer.echo(analysis.text)
    if output is not None:
        analysis.write(output)
        try:
            analysis.draw(output.with_suffix(".svg"))
        except MissingExtra as missing:
            console.note(f"no plot: {missing}")
    console.show_notes(analysis.notes)
