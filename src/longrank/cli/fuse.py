"""``longrank fuse``: several runs become one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longrank.cli import console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longrank.types import Notes, Run


def fuse(
    runs: Annotated[list[Path], typer.Argument(help="Two TREC runs or more.", metavar="RUN RUN...")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the fused run goes.")],
    method: Annotated[str, typer.Option("--method", help="rrf, linear, or mapfuse.")],
    weights: Annotated[
        str | None, typer.Option("--weights", help="linear: a weight for each run.", metavar="W1,W2,...")
    ] = None,
    normalize: Annotated[
        str | None, typer.Option("--normalize", help="linear: none, or minmax per run and query. [default: none]")
    ] = None,
    rrf_k: Annotated[float | None, typer.Option("--rrf-k", help="rrf: k of 1 / (k + rank). [default: 60]")] = None,
    maps: Annotated[
        str | None,
        typer.Option("--map", help="mapfuse: the MAP of each system on other queries.", metavar="M1,M2,..."),
    ] = None,
    heldout: Annotated[
        str | None,
        typer.Option(
            "--heldout",
            help="mapfuse: take the MAPs from these judgments and runs of the same systems on other queries.",
            metavar="QRELS,RUN1,RUN2,...",
        ),
    ] = None,
    folds: Annotated[
        Path | None,
        typer.Option("--folds", help="mapfuse: fuse each fold's test queries with the MAPs of its other queries."),
    ] = None,
    qrels: Annotated[Path | None, typer.Option("--qrels", help="mapfuse: judgments, for --folds.")] = None,
    tag: Annotated[str, typer.Option("--tag", help="The run's tag.")] = "longrank",
) -> None:
    """Fuse runs by ranks, by scores, or by ranks and MAP.

    rrf: reciprocal ranks; linear: a weighted sum of scores; mapfuse: MAP-weighted reciprocal ranks. The MAPs are
    never taken from the queries being fused.

    Example: longrank fuse bm25.run maxp.run -o fused.run --method rrf
    """
    from longrank.cli.inputs import numbers, output_file
    from longrank.config import lookup
    from longrank.formats.trec import read_run, write_run
    from longrank.fusion import FUSIONS
    from longrank.types import Notes

    notes = Notes()
    output_file(output, *runs, folds, qrels, *(heldout or "").split(","))
    function = lookup(FUSIONS, method, "fusion method")
    options: dict[str, dict[str, Any]] = {
        "rrf": {"--rrf-k": rrf_k},
        "linear": {"--weights": weights, "--normalize": normalize},
        "mapfuse": {"--map": maps, "--heldout": heldout, "--folds": folds, "--qrels": qrels},
    }
    _refuse_foreign(method, options)
    loaded = [read_run(path, notes) for path in runs]
    if folds is not None and qrels is not None:
        _refuse_unclear(options["mapfuse"])
        fused = _by_folds(loaded, folds, qrels, tag, notes)
    else:
        settings = {
            "k": rrf_k,
            "weights": None if weights is None else numbers("--weights", weights),
            "normalize": normalize,
            "maps": _maps(loaded, options["mapfuse"], notes) if method == "mapfuse" else None,
        }
        fused = function(loaded, tag=tag, **{name: value for name, value in settings.items() if value is not None})
    write_run(fused, output)
    console.show_notes(notes)
    console.note(f"{output}: {len(fused)} queries from {len(runs)} runs")


def _refuse_foreign(method: str, options: dict[str, dict[str, Any]]) -> None:
    """Refuse an option of another method."""
    from longrank.errors import InputError

    for other, theirs in options.items():
        for option, value in theirs.items():
            if other != method and value is not None:
                raise InputError(f"{option} belongs to --method {other}", got=method)


def _refuse_unclear(options: dict[str, Any]) -> None:
    """Refuse mapfuse without a source of MAPs, or with two."""
    from longrank.errors import InputError

    sources = [option for option in ("--map", "--heldout", "--folds") if options[option] is not None]
    if len(sources) != 1:
        raise InputError(
            "mapfuse needs the MAP of each system on other queries, from one source",
            got=" ".join(sources) or "none",
            fix="give --map, --heldout, or --folds with --qrels",
        )
    if (options["--folds"] is None) != (options["--qrels"] is None):
        raise InputError("--folds and --qrels go together")


def _maps(runs: Sequence[Run], options: dict[str, Any], notes: Notes) -> list[float]:
    """Return the MAPs that were given, or measure them on held-out queries."""
    from longrank.cli.inputs import numbers

    _refuse_unclear(options)
    if options["--map"] is not None:
        return numbers("--map", options["--map"])
    from longrank.evaluation.heldout import heldout_maps
    from longrank.formats.trec import read_qrels, read_run

    judgments, *others = map(Path, options["--heldout"].split(","))
    values = heldout_maps([read_run(path, notes) for path in others], read_qrels(judgments, notes), runs)
    console.note("held-out MAP: " + ", ".join(f"{value:.4f}" for value in values))
    return values


def _by_folds(runs: Sequence[Run], folds: Path, qrels: Path, tag: str, notes: Notes) -> Run:
    from longrank.evaluation.heldout import mapfuse_folds
    from longrank.formats.folds import read_folds
    from longrank.formats.trec import read_qrels

    return mapfuse_folds(runs, read_folds(folds, notes), read_qrels(qrels, notes), tag=tag, notes=notes)
