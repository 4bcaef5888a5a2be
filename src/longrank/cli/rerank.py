"""``longrank rerank``: rerank a run by the passages of its documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console
from longrank.cli.completion import pipelines
from longrank.cli.options import (
    AllowUntrained,
    Convert,
    Engine,
    Field,
    Lang,
    Model,
    PipelineSettings,
    QueriesSource,
    QueryFormat,
    Resources,
    RunOutput,
    ScoreCache,
    Tag,
    Workers,
)


def rerank(
    index: Annotated[
        Path, typer.Argument(help="The index with the documents' texts, or STORE:SETTINGS.toml.", metavar="INDEX")
    ],
    queries: QueriesSource,
    run: Annotated[Path, typer.Argument(help="The run to rerank, a TREC file from any engine.", metavar="RUN")],
    output: RunOutput,
    pipeline: Annotated[
        str,
        typer.Option(help="Pipeline name or TOML file; its first stage is not used.", autocompletion=pipelines),
    ] = "mixed",
    model: Model = None,
    convert: Convert = False,
    depth: Annotated[int | None, typer.Option(help="Documents reranked per query.")] = None,
    tail: Annotated[str | None, typer.Option(help="Documents below the depth: keep or drop.")] = None,
    missing: Annotated[
        str, typer.Option(help="Documents that are not in the index: error, or keep them last.")
    ] = "error",
    evidence: Annotated[Path | None, typer.Option(help="Evidence file. [default: OUTPUT.evidence]")] = None,
    score_cache: ScoreCache = None,
    query_format: QueryFormat = None,
    field: Field = None,
    lang: Lang = None,
    allow_untrained: AllowUntrained = False,
    device: Annotated[
        str | None,
        typer.Option(help="Torch device; cpu:2 or cuda:0,cuda:1 scores blocks of queries in two processes."),
    ] = None,
    engine: Engine = None,
    workers: Workers = None,
    resources: Resources = None,
    assignments: PipelineSettings = None,
    tag: Tag = "longrank",
) -> None:
    """Rerank the top of a run by passages.

    The rest of the run follows below. After an interruption, run the same command again: it resumes.

    Example: longrank rerank my.index topics.jsonl bm25.run -o maxp.run --pipeline maxp --model ./monobert
    """
    from longrank.cli.inputs import model_to_read, output_file, run_file
    from longrank.collections import places, read_queries
    from longrank.formats.trec import write_run
    from longrank.ranking.settings import load_pipeline
    from longrank.types import Notes
    from longrank.verbs.rerank import rerank as rerank_run

    notes = Notes()
    evidence = evidence or output.with_name(output.name + ".evidence")
    settings = pipeline if pipeline.endswith(".toml") else None
    stop = load_pipeline(pipeline, assignments or (), model=model).stop
    inputs = (*places(queries, "queries"), run, index, settings, model, stop.calibration if stop else None)
    run_file(output, *inputs, evidence, score_cache)
    if score_cache is not None:
        output_file(score_cache, *inputs, evidence)
    query_list = read_queries(queries, notes, format=query_format, field=field)
    model = model_to_read(model, convert, notes)
    with console.progress("reranking", len(query_list), "queries") as advance:
        reranked = rerank_run(
            index,
            query_list,
            run,
            pipeline=pipeline,
            model=model,
            depth=depth,
            tail=tail,
            missing=missing,
            evidence=evidence,
            score_cache=score_cache,
            allow_untrained=allow_untrained,
            device=device,
            engine=engine,
            workers=workers,
            resources=resources,
            assignments=assignments or (),
            lang=lang,
            tag=tag,
            notes=notes,
            progress=advance,
        )
    write_run(reranked, output)
    console.show_notes(notes)
    console.note(f"{output}: {len(reranked)} queries; evidence in {evidence}")
