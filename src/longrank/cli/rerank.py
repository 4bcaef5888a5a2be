"""``longrank rerank``: reorder a run by the passages of its documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console


def rerank(
    index: Annotated[Path, typer.Argument(help="The index with the documents' texts.", metavar="INDEX")],
    queries: Annotated[
        str,
        typer.Argument(help="Queries: JSONL, TSV, TREC topics, a collection folder, or irds:ID.", metavar="QUERIES"),
    ],
    run: Annotated[Path, typer.Argument(help="The TREC run to rerank, from any engine.", metavar="RUN")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the new run goes.")],
    pipeline: Annotated[
        str, typer.Option("--pipeline", help="A pipeline's name or TOML file; its first stage is not used.")
    ] = "minilm",
    model: Annotated[str | None, typer.Option("--model", help="A Hugging Face name, a folder, or an alias.")] = None,
    depth: Annotated[int | None, typer.Option("--depth", help="Rerank this many documents per query.")] = None,
    tail: Annotated[
        str | None, typer.Option("--tail", help="keep: the documents below follow in their order; drop.")
    ] = None,
    missing: Annotated[
        str, typer.Option("--missing", help="Documents not in the index: error, or keep them last.")
    ] = "error",
    evidence: Annotated[
        Path | None, typer.Option("--evidence", help="Where the evidence goes; RUN.evidence beside the output.")
    ] = None,
    score_cache: Annotated[
        Path | None, typer.Option("--score-cache", help="A file of passage scores that runs share; made if needed.")
    ] = None,
    query_format: Annotated[str | None, typer.Option("--query-format", help="If it cannot be guessed.")] = None,
    field: Annotated[str | None, typer.Option("--field", help="Topic field to use: title, description, ...")] = None,
    allow_untrained: Annotated[
        bool, typer.Option("--allow-untrained", help="Score with a document network that has never been trained.")
    ] = False,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="section.key=value, any setting of the pipeline.")
    ] = None,
    tag: Annotated[str, typer.Option("--tag", help="The run's tag.")] = "longrank",
) -> None:
    """Rerank the top of a run by passages; the rest follows.

    Interrupted work resumes: run the same command again.

    Example: longrank rerank my.index topics.jsonl bm25.run -o maxp.run --pipeline maxp --model ./monobert
    """
    from longrank.cli.inputs import choice, output_file
    from longrank.collections import places, read_queries
    from longrank.formats.trec import read_run, write_run
    from longrank.index import Index
    from longrank.ranking.pipeline import open_pipeline
    from longrank.ranking.pipeline import rerank as rerank_run
    from longrank.types import Notes

    notes = Notes()
    evidence = evidence or output.with_name(output.name + ".evidence")
    output_file(output, *places(queries, "queries"), run, evidence, index, score_cache)
    choice("--missing", missing, ("error", "keep"))
    assignments = list(assignments or ())
    assignments += [f"final.depth={depth}"] if depth is not None else []
    assignments += [f"final.tail={tail}"] if tail is not None else []
    assignments += ["scorer.options.allow_untrained=true"] if allow_untrained else []
    query_list = read_queries(queries, notes, format=query_format, field=field)
    first_stage = read_run(run, notes)
    bound = open_pipeline(
        Index.open(index), pipeline, model=model, assignments=assignments, notes=notes, score_cache=score_cache
    )
    with console.progress("reranking", len(query_list), "queries") as advance:
        reranked = rerank_run(
            bound,
            query_list,
            first_stage,
            evidence,
            tag=tag,
            keep_missing=missing == "keep",
            progress=advance,
            notes=notes,
        )
    write_run(reranked, output)
    console.show_notes(notes)
    console.note(f"{output}: {len(reranked)} queries; evidence in {evidence}")
