"""``longrank compare``: rerank the top of a run by comparing best passages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console
from longrank.cli.options import Field, QueriesSource, QueryFormat, RunOutput, Tag


def compare(
    index: Annotated[Path, typer.Argument(help="The index with the documents' texts.", metavar="INDEX")],
    queries: QueriesSource,
    run: Annotated[Path, typer.Argument(help="The run to rerank, a TREC file.", metavar="RUN")],
    evidence: Annotated[Path, typer.Argument(help="Evidence of the run's documents.", metavar="EVIDENCE")],
    output: RunOutput,
    model: Annotated[str, typer.Option(help="pairs: a duoT5; lists: a decoder that follows instructions.")],
    method: Annotated[str, typer.Option(help="pairs (duoT5) or lists (sliding windows, RankGPT).")] = "pairs",
    depth: Annotated[int, typer.Option(help="Documents compared per query.")] = 20,
    window: Annotated[int, typer.Option(help="lists: passages of a prompt.")] = 20,
    step: Annotated[int, typer.Option(help="lists: passages by which the window moves.")] = 10,
    device: Annotated[str, typer.Option(help="Torch device, or auto.")] = "auto",
    output_evidence: Annotated[
        Path | None,
        typer.Option("--evidence", help="Evidence file with the comparisons. [default: OUTPUT.evidence]"),
    ] = None,
    query_format: QueryFormat = None,
    field: Field = None,
    tag: Tag = "longrank",
) -> None:
    """Rerank the top of a run by comparing passages.

    The best passage of each document is compared; the rest of the run follows below. Malformed answers of a list model
    are counted and completed. An interrupted command resumes from the evidence file, to the same bytes.

    Example: longrank compare my.index topics.jsonl maxp.run maxp.run.evidence -o duo.run --model ./duot5
    """
    from longrank.cli.inputs import output_file, run_file
    from longrank.collections import places, read_queries
    from longrank.formats.trec import write_run
    from longrank.types import Notes
    from longrank.verbs.compare import compare as compare_run

    notes = Notes()
    output_evidence = output_evidence or output.with_name(output.name + ".evidence")
    run_file(output, *places(queries, "queries"), run, evidence, output_evidence, index, model)
    output_file(output_evidence, *places(queries, "queries"), run, evidence, index, model)
    query_list = read_queries(queries, notes, format=query_format, field=field)
    with console.progress("comparing", len(query_list), "queries") as advance:
        compared = compare_run(
            index,
            query_list,
            run,
            evidence,
            model=model,
            method=method,
            depth=depth,
            window=window,
            step=step,
            device=device,
            output_evidence=output_evidence,
            tag=tag,
            notes=notes,
            progress=advance,
        )
    write_run(compared, output)
    console.show_notes(notes)
    console.note(f"{output}: {len(compared)} queries; evidence in {output_evidence}")
