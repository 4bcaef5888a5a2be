"""Rerank a run by the passages of its documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from longrank.collections import read_queries, read_run
from longrank.config import Assignments, assigned, listed, refuse_twice
from longrank.engines import Engine, EngineOptions, Local
from longrank.errors import InputError
from longrank.index import Index
from longrank.index.languages import in_language
from longrank.ranking.devices import Shared, devices_of
from longrank.ranking.evidence_blocks import ScoreBlocks
from longrank.ranking.from_store import index_of_run
from longrank.ranking.pipeline import Pipeline, noting, open_pipeline
from longrank.ranking.pipeline import rerank as rerank_run
from longrank.ranking.settings import ALLOW_UNTRAINED, PipelineSettings
from longrank.registries import suggestion
from longrank.retrieval.stores import check_no_language, is_store, open_store
from longrank.storage.workplace import check_outside
from longrank.types import Notes, Run
from longrank.verbs.naming import naming_files


@naming_files
def rerank(
    index: Index | Path | str,
    queries: Any,
    run: Any,
    *,
    pipeline: str | Path | PipelineSettings | Pipeline = "mixed",
    model: str | None = None,
    depth: int | None = None,
    tail: str | None = None,
    missing: str = "error",
    evidence: Path | str | None = None,
    score_cache: Path | str | None = None,
    allow_untrained: bool = False,
    device: str | None = None,
    engine: str | Engine | None = None,
    workers: int | None = None,
    resources: Mapping[str, float] | str | None = None,
    assignments: Assignments = (),
    format: str | None = None,
    field: str | None = None,
    lang: str | None = None,
    tag: str = "longrank",
    notes: Notes | None = None,
    progress: Callable[[int], object] | None = None,
) -> Run:
    """Rerank the top of a run by passages; the rest of the run follows below.

    Args:
        index: an index with the documents' texts, or its folder; or ``STORE:SETTINGS.toml``, a store with them.
        queries: a list of texts (ids ``1``, ``2``, ...), ``{id: text}``, a DataFrame (``qid``, ``query``), queries,
            a file, a collection folder or ``irds:ID``.
        run: a `Run`, ``{query_id: {doc_id: score}}``, a DataFrame (``qid``, ``docno``, ``score``) or a TREC file.
        pipeline: a pipeline's name (`longrank pipelines` lists them), a TOML file, settings, or an open pipeline,
            whose models stay loaded. Its first stage is not used.
        model: a Hugging Face name, a folder or an alias; replaces the pipeline's own.
        depth: documents reranked per query.
        tail: documents below the depth: ``keep`` or ``drop`` them.
        missing: documents that the index lacks: ``error``, or ``keep`` them last.
        evidence: file for the passage scores. An interrupted call resumes from it. None: nothing is kept.
        score_cache: file of passage scores shared between runs, created if absent.
        allow_untrained: score with a document network that was never trained.
        device: a torch device of the scorer; or several, each with a process that scores blocks of queries: ``cpu:2``,
            ``cuda:0,cuda:1``. The bytes are the same. Default: the pipeline's.
        engine: where blocks of queries are scored: ``local`` processes, ``ray`` or ``ray=ADDRESS``; as of
            `longrank.engines.open_engine`, as are `workers` and `resources`. The bytes are the same.
        workers: processes, or workers of the cluster, each with the models of the pipeline.
        resources: resources that each worker of a cluster holds, e.g. ``{"GPU": 1, "CPU": 4}``.
        assignments: ``{"final.depth": 50}`` or ``["final.depth=50"]``: settings of the pipeline.
        format: query format, if it cannot be detected.
        field: topic field that is the query: ``title``, ``description``, ...
        lang: language of the queries, for an index of several languages (`analyzer_field`): ``de``, ``pt-BR``, ...;
            None: the query's field of that name, or all languages of the documents.
        tag: tag of the new run.
        notes: collects remarks; None: only ``run.notes`` has them.
        progress: called with the number of queries just done.

    Returns:
        The new run. Scores are the pipeline's; documents below the depth have scores below all others.

    Raises:
        InputError: no query in common, documents that the index lacks, an unknown name or setting, a model that
            cannot be loaded, or an evidence file of other settings.
        MissingExtra: the scorer's libraries are not installed.
        IntegrityError: files of the index, the model or the evidence are damaged.

    Example:
        >>> run = longrank.retrieve("my.index", queries)
        >>> run = longrank.rerank("my.index", queries, run, pipeline="maxp", model="./monobert")
    """
    if missing not in ("error", "keep"):
        raise InputError("missing takes error or keep", got=missing, fix=suggestion(missing, ("error", "keep")))
    for output in (evidence, score_cache):
        if output is not None:
            check_outside(output)
    notes = Notes() if notes is None else notes
    queries = read_queries(queries, notes, format=format, field=field)
    first_stage = read_run(run, notes)
    devices = [] if device is None else devices_of(device)
    spread = EngineOptions(engine, workers, resources)
    if len(devices) > 1 and spread.given:
        raise InputError("several devices are processes already", got=f"device={device}", fix="name one device")
    if (len(devices) > 1 or spread.given) and (isinstance(pipeline, Pipeline) or score_cache is not None):
        what = "a score cache" if score_cache is not None else "an open pipeline"
        got = f"device={device}" if len(devices) > 1 else f"engine={engine or 'local'}"
        raise InputError(f"{what} belongs to one process", got=got, fix="name one device and no engine")
    place = "store" if is_store(index) else "index"
    if is_store(index):
        check_no_language(index, lang)
        index = index_of_run(open_store(str(index)), queries, first_stage, notes)
    final = {"final.depth": depth, "final.tail": tail, "scorer.options.device": devices[0] if devices else None}
    given = {key: value for key, value in final.items() if value is not None}
    refuse_twice(given, assignments)
    for name in sorted(name for name in assigned(assignments) if name.startswith("first_stage.")):
        notes.say(f"{name} has no effect: the run is the first stage")
    opened = open_pipeline(
        index,
        pipeline,
        model=model,
        assignments=[
            *listed(assignments),
            *listed(given),
            *(ALLOW_UNTRAINED if allow_untrained else ()),
        ],
        notes=notes,
        score_cache=score_cache,
    )
    asked = in_language(queries, lang, opened.index.options, notes)
    if isinstance(pipeline, Pipeline):
        opened = noting(opened, notes)
    with TemporaryDirectory() as folder, _spread(opened, model, devices, spread, notes) as score:
        reranked = rerank_run(
            opened,
            asked,
            first_stage,
            Path(folder) / "evidence" if evidence is None else Path(evidence),
            tag=tag,
            score=score,
            keep_missing=missing == "keep",
            place=place,
            progress=progress or (lambda n_done: None),
            notes=notes,
        )
    reranked.notes = notes
    return reranked


@contextmanager
def _spread(
    pipeline: Pipeline, model: str | None, devices: Sequence[str], options: EngineOptions, notes: Notes
) -> Iterator[ScoreBlocks | None]:
    """Yield the scoring of blocks by several workers; None: the pipeline itself does."""
    if len(devices) > 1:
        yield Shared(pipeline, model, Local(len(devices)), devices, notes)
    elif not options.given:
        yield None
    else:
        with options.open() as engine:
            yield Shared(pipeline, model, engine, devices or [None], notes)
