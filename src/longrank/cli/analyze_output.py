"""What the analyses share on the command line: options, and where results go."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longrank.cli import console
from longrank.errors import InputError, MissingExtra, printable

if TYPE_CHECKING:
    from longrank.analysis.distribution import Distribution

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


def write(output: Path | None, record: Mapping[str, Any], draw: Callable[[Path], object]) -> None:
    """Write the JSON and draw the plot, if there is an output; without the extra plots, say so."""
    from longrank.storage import atomic_write

    if output is None:
        return
    with atomic_write(output, "w") as stream:
        stream.write(json.dumps(record, default=_plain, ensure_ascii=False, indent=1) + "\n")
    try:
        draw(output.with_suffix(".svg"))
    except MissingExtra as missing:
        console.note(f"no plot: {missing}")


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} is no part of a result")


def show(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, its first column aligned to the left."""
    first = max(len(line[0]) for line in (head, *rows))
    padded = [[printable(line[0]).ljust(first), *map(printable, line[1:])] for line in (head, *rows)]
    for line in console.aligned(padded[0], padded[1:]):
        typer.echo(line.rstrip())


DISTRIBUTION = ("mean", "min", "10%", "25%", "median", "75%", "90%", "99%", "max")
"""The columns of `cells`."""


def cells(one: Distribution) -> Iterator[str]:
    """Yield the cells of a distribution's row."""
    yield f"{one.mean:,.1f}"
    yield from (f"{value:,.0f}" for value in (one.min, *one.percentiles.values(), one.max))


def share(value: float | None) -> str:
    """Return a share in per cent; ``-`` for none."""
    return "-" if value is None else f"{value:.1%}"
