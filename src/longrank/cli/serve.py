"""``longrank serve``: run the HTTP server."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longrank.cli import console
from longrank.cli.judging import JudgingOptions, JudgmentsFile, PoolDepth, PoolSeed, TopicsFile, check_judging, opened
from longrank.cli.options import Convert
from longrank.cli.serve_settings import KEY, check_writable, key_of, server_settings
from longrank.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from longrank.index.stamps import Stamp
    from longrank.service.engine import Engine
    from longrank.service.judging import Judging
    from longrank.service.served import PipelineChoice
    from longrank.service.settings import ServiceSettings
    from longrank.types import Notes

_MORE = ("lexical", "bm25")  # pipelines that are always served with an index


def serve(
    index: Annotated[
        Path | None, typer.Argument(help="Index to search, s3://BUCKET/NAME, or STORE:SETTINGS.toml.", metavar="INDEX")
    ] = None,
    rerank_only: Annotated[
        bool, typer.Option("--rerank-only", help="Serve no index; only rerank texts of requests.")
    ] = False,
    pipelines: Annotated[
        list[str] | None,
        typer.Option(
            "--pipeline",
            help="Pipeline name or TOML file, with a model that replaces its own. Repeatable; the first is the default "
            "for clients. [default: mixed, minilm, lexical and bm25; with --rerank-only minilm; "
            "lexical where MiniLM is not installed]",
            metavar="NAME[=MODEL]",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(help="Model (name or folder) for pipelines without =MODEL.")] = None,
    convert: Convert = False,
    host: Annotated[str | None, typer.Option(help="Address to listen on. [default: 127.0.0.1]")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free port. [default: 8330]")
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option(help=f"File with the key that clients must send. [default: ${KEY}, if set]")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Host name that clients may use besides localhost; *: any name. Repeatable."),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Allow other machines to use the server without a key.")
    ] = False,
    max_requests: Annotated[
        int | None, typer.Option(min=1, help="Rankings in flight; more get 429. [default: 64]")
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Estimated tokens of all rankings in flight; more get 429. [default: 262144]"),
    ] = None,
    max_body: Annotated[
        int | None, typer.Option(min=1, help="Bytes of a request; more get 413. [default: 2097152]")
    ] = None,
    max_documents: Annotated[
        int | None, typer.Option(min=1, help="Documents of a request; more get 413. [default: 1000]")
    ] = None,
    deadline: Annotated[
        float | None,
        typer.Option(min=0.1, max=86_400, help="Seconds for an answer; later answers are 504. [default: 30]"),
    ] = None,
    files: Annotated[
        Path | None,
        typer.Option(
            help="Folder that was indexed: serve its files, with links to their pages. [default: no file is served]",
            metavar="ROOT",
        ),
    ] = None,
    writable: Annotated[
        bool, typer.Option("--writable", help="Let clients add, replace and delete documents; needs a key.")
    ] = False,
    judgments: JudgmentsFile = None,
    topics: TopicsFile = None,
    pool: PoolDepth = None,
    seed: PoolSeed = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="section.key=value: any setting of the pipelines. Repeatable.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="Engine that computes rankings: local, ray (a cluster of this machine), or ray=ADDRESS.",
            metavar="local|ray[=ADDRESS]",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Replicas of each pipeline on a cluster. [default: 1]", min=1)
    ] = None,
    resources: Annotated[
        str | None,
        typer.Option(
            help="Resources of each replica of a pipeline with a network, e.g. GPU=1,CPU=4.", metavar="NAME=AMOUNT"
        ),
    ] = None,
) -> int:
    """Serve search and reranking over HTTP, with a web page.

    Rerank clients of Cohere, Jina, vLLM and others need only the server's address; documents are read whole.
    A change of the index is seen within a second, or at once by SIGHUP.
    Ctrl-C or SIGTERM stops the server after the last answer; a second signal stops it at once.

    Example: longrank serve my.index, then open http://127.0.0.1:8330
    """
    for module in ("fastapi", "uvicorn", "h11", "prometheus_client"):
        if find_spec(module) is None:
            raise MissingExtra("serving", "serve")
    from longrank.engines import EngineOptions
    from longrank.service.cluster import cluster_of, computing
    from longrank.service.engine import Engine
    from longrank.service.front import FrontEngine
    from longrank.service.listening import check_exposure
    from longrank.types import Notes

    notes = Notes()
    options: dict[str, Any] = {
        "host": host,
        "port": port,
        "key": key_of(key_file),
        "max_requests": max_requests,
        "max_tokens": max_tokens,
        "max_body_bytes": max_body,
        "max_documents": max_documents,
        "deadline": deadline,
        "files": files,
        "writable": writable,
    }
    if writable:
        check_writable(options["key"], index)
    judging = JudgingOptions(judgments, topics, pool, seed)
    check_judging(judging, options["key"], index, KEY)
    if files is not None and not files.is_dir():
        raise InputError("--files takes a folder", got=str(files))
    settings = server_settings({name: value for name, value in options.items() if value is not None}, allow_host or ())
    check_exposure(settings, insecure=insecure)
    from longrank.cli.inputs import model_to_read
    from longrank.config import refuse_twice

    refuse_twice({"scorer.model": model}, assignments or ())
    model = model_to_read(model, convert, notes)
    from longrank.index.stamps import stamp_of
    from longrank.retrieval.stores import is_store

    if index is not None and is_store(index) and (writable or judgments or files):
        raise InputError(
            "a store is only searched", got=str(index), fix="leave out --writable, --judgments and --files"
        )
    if files is not None and index is not None:
        from longrank.service.source_files import note_other_folder

        note_other_folder(files, index, notes)
    seen = None if index is None or is_store(index) else stamp_of(index)  # before the index is opened
    cluster = cluster_of(EngineOptions(engine, workers, resources))
    kind = Engine if cluster is None else FrontEngine
    served = _engine(kind, index, rerank_only, pipelines, model, assignments or (), notes)
    with opened(judging, notes) as opened_judgments, computing(served, cluster, index, settings):
        code = _serve(served, settings, notes, seen, opened_judgments)
    if any(thread.name.startswith("longrank-") for thread in threading.enumerate()):
        # A thread that still computes cannot be stopped, and would crash in an interpreter that shuts down.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _engine(
    kind: type[Engine],
    index: Path | None,
    rerank_only: bool,
    pipelines: Sequence[str] | None,
    model: str | None,
    assignments: Sequence[str],
    notes: Notes,
) -> Engine:
    from longrank.ranking.settings import default_pipeline
    from longrank.service.opening import open_engine

    if (index is None) != rerank_only:
        fault = "--rerank-only takes no index" if rerank_only else "no index to serve"
        raise InputError(fault, fix="use either INDEX or --rerank-only")
    searching = () if index is None else (default_pipeline(),)
    usual = (*searching, default_pipeline(texts=True), *(() if index is None else _MORE))
    names = pipelines or list(dict.fromkeys(usual))
    choices = _choices(names, model, assignments)
    return open_engine(kind, index, choices, assignments, notes)


def _choices(names: Sequence[str], model: str | None, assignments: Sequence[str]) -> list[PipelineChoice]:
    """Return the pipelines; `model` is for those that take a model and have no ``=MODEL``."""
    from longrank.ranking.settings import load_pipeline
    from longrank.scoring import scorer_class
    from longrank.service.served import PipelineChoice

    choices = []
    for entry in names:
        name, _, own = entry.partition("=")
        scorer = load_pipeline(name, assignments).scorer
        takes = scorer is not None and scorer_class(scorer.name).needs_model
        choices.append(PipelineChoice(name, own or (model if takes else None)))
    if model is not None and all(choice.model != model for choice in choices):
        raise InputError("no pipeline takes this model", got=model, fix="see --pipeline NAME=MODEL")
    return choices


def _serve(engine: Engine, settings: ServiceSettings, notes: Notes, seen: Stamp | None, judging: Judging | None) -> int:
    from longrank.service.admission import Admission
    from longrank.service.app import create_app
    from longrank.service.log import log_to
    from longrank.service.metrics import Metrics
    from longrank.service.reloading import Reloader
    from longrank.service.rerank import Service
    from longrank.service.scheduler import Scheduler
    from longrank.service.server import serve as serve_app

    def load() -> None:
        scheduler.start()
        engine.load()
        console.show_notes(notes)
        reloader.start()

    async def close() -> None:
        reloader.stop()
        await scheduler.close()

    metrics = Metrics()
    scheduler = Scheduler(batch_tokens=settings.batch_tokens, metrics=metrics)
    service = Service(engine, settings, Admission(settings, scheduler, metrics), scheduler, metrics, judging)
    log_to(sys.stderr)
    reloader = Reloader(engine, seen)
    return serve_app(
        create_app(service),
        settings,
        load=load,
        say=lambda line: print(line, flush=True),
        close=close,
        hang_up=reloader.ask,
    )
