"""The main job: candidates -> passages -> evidence -> one score per document.

    open_pipeline   settings + index -> retriever, document scorer and aggregator
    rerank          many queries: evidence is written to a file, resumably, and aggregated into the run

`longrank.ranking.one_query` ranks for one query.

`rerank` calls `collect_evidence`, then `aggregate_run`. The aggregate command calls `aggregate_run`, too, so both
give the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from longrank.aggregation import find_aggregation, with_options
from longrank.aggregation.mixing import mix_header
from longrank.aggregation.run import aggregate_run
from longrank.aggregation.unread import counting_unread
from longrank.config import Assignments, listed
from longrank.errors import InputError
from longrank.formats.evidence import KEPT, MISSING, STOPPED, evidence_header, missing_in, read_evidence
from longrank.index import Index
from longrank.index.filters import Filter
from longrank.index.languages import digest_of_queries
from longrank.protocols import Aggregator, DocumentScorer, Retriever
from longrank.ranking.evidence_blocks import ScoreBlocks, collect_evidence, evidence_of
from longrank.ranking.opening import lineage_header, open_aggregator, open_document_scorer
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.settings import PipelineSettings, kept_beside_preset, load_pipeline, unread
from longrank.retrieval import first_stage, pipeline_retriever
from longrank.retrieval.deferred import masked
from longrank.scoring.lexical import note_words, reads_words
from longrank.storage import digest_of
from longrank.storage.workplace import check_outside
from longrank.types import NONE_MISSING, Evidence, Missing, Notes, Query, Run, ScoredDoc

Progress = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline bound to an index; ``scorer`` is None if the first stage stands alone."""

    settings: PipelineSettings
    index: Index
    retriever: Retriever
    scorer: DocumentScorer | None
    aggregator: Aggregator

    def __reduce__(self) -> NoReturn:
        """Refuse copies, also those for another process: the models are loaded."""
        raise InputError("an open pipeline cannot be copied or pickled", fix="open it again, in each process")

    @property
    def reads_weights(self) -> bool:
        """True if the aggregator reads the weights of passages."""
        return find_aggregation(self.settings.aggregate.name).reads_weights

    def __repr__(self) -> str:
        settings = self.settings
        scorer = None if settings.scorer is None else settings.scorer.name
        return f"Pipeline({scorer=}, aggregator={settings.aggregate.name!r}, index={str(self.index.place)!r})"

    def run(self, evidence: Iterable[Evidence], first_stage: Run, tag: str, missing: Missing = NONE_MISSING) -> Run:
        """Aggregate evidence into a run, as `aggregate_run`."""
        final = self.settings.final
        return aggregate_run(
            evidence,
            self.aggregator,
            first_stage=first_stage,
            alpha=final.interpolate,
            normalize=final.normalize,
            tail=final.tail,
            tag=tag,
            missing=missing,
        )


def open_pipeline(
    index: Index | Path | str,
    pipeline: str | Path | PipelineSettings | Pipeline,
    *,
    model: str | None = None,
    assignments: Assignments = (),
    notes: Notes | None = None,
    score_cache: Path | str | None = None,
) -> Pipeline:
    """Bind a pipeline to an index and load its models.

    Args:
        index: source of candidates and texts: an index or its folder.
        pipeline: the name of a shipped pipeline, a TOML file, or settings; or an open pipeline of this index,
            whose models stay loaded.
        model: a Hugging Face name, a folder or an alias; replaces the pipeline's own.
        assignments: ``{"final.depth": 50}`` or ``["final.depth=50"]``: settings of the pipeline; of an open pipeline,
            keys of ``final`` only.
        notes: records decisions made for you (a model, stored vectors not used).
        score_cache: a file of scores shared with other runs, created if absent (`longrank.scoring.score_cache`).

    Raises:
        InputError: unknown names, settings out of range, a model that cannot be loaded, a scorer that has no cache.
        IntegrityError: stored vectors or the score cache are damaged.
    """
    index = Index.open(index)
    if isinstance(pipeline, Pipeline):
        if model is not None or score_cache is not None:
            raise InputError("an open pipeline takes no other model or score cache", fix="give them to open_pipeline")
        return _reopened(pipeline, index, assignments)
    notes = Notes() if notes is None else notes
    settings = load_pipeline(pipeline, assignments, model=model)
    first = settings.first_stage
    is_read = not isinstance(pipeline, PipelineSettings)
    name = f"pipeline '{pipeline}'" if is_read else "this pipeline"
    for setting in unread(settings) if is_read else ():
        notes.say(f"{setting} has no effect: {name} has no passage scorer")
    _note_settings(pipeline, settings, assignments, notes)
    if settings.scorer is None and model is not None:
        raise InputError(f"{name} has no passage scorer, so it takes no model", got=model)
    if settings.scorer is None and score_cache is not None:
        raise InputError(f"{name} has no passage scorer, so it takes no score cache")
    retriever = pipeline_retriever(index, first_stage(first.preset, first.settings), notes)
    aggregator = open_aggregator(settings)
    if settings.stop is not None and find_aggregation(settings.aggregate.name).needs_document_score:
        raise InputError(
            "early stopping needs an aggregator of passage scores",
            got=f"aggregate.name={settings.aggregate.name}",
            fix="remove [stop]",
        )
    # last: it takes long
    scorer = None
    if settings.scorer is not None:
        cache = None if score_cache is None else Path(score_cache)
        if cache is not None:
            check_outside(cache)
        scorer = open_document_scorer(index, settings, model, aggregator, notes, score_cache=cache)
    return Pipeline(settings, index, retriever, scorer, aggregator)


def _note_settings(
    pipeline: str | Path | PipelineSettings, settings: PipelineSettings, assignments: Assignments, notes: Notes
) -> None:
    """Note settings without effect, and settings that stay where another preset was given."""
    for setting in kept_beside_preset(pipeline, settings, assignments):
        notes.say(f"{setting} of the pipeline stays as it is beside the other preset")
    if settings.scorer is not None and settings.final.interpolate is None and settings.final.normalize != "none":
        notes.say("final.normalize has no effect without final.interpolate")


def filtered(pipeline: Pipeline, filter: Filter | None, notes: Notes | None = None) -> Pipeline:
    """Return a pipeline whose first stage searches the documents that match a filter; None: all.

    `notes` takes the remarks of `Index.mask`.

    Raises:
        InputError: as `Index.mask`, or a first stage that takes no filter.
    """
    if filter is None:
        return pipeline
    return replace(pipeline, retriever=masked(pipeline.retriever, pipeline.index.mask(filter, notes)))


def noting(pipeline: Pipeline, notes: Notes) -> Pipeline:
    """Return an open pipeline whose remarks on queries and on the texts of candidates are kept in `notes`.

    An open pipeline serves many calls: remarks belong to the call, not to the notes that it was opened with.
    """
    parts: dict[str, Any] = {"retriever": pipeline.retriever, "scorer": pipeline.scorer}
    noted = {name: part.noting(notes) for name, part in parts.items() if hasattr(part, "noting")}
    return replace(pipeline, **noted)


def note_cut_queries(pipeline: Pipeline, queries: Iterable[Query], notes: Notes) -> None:
    """Count the queries that a pipeline's scorer cuts."""
    for query in queries:
        cut = pipeline.scorer is not None and pipeline.scorer.cuts_query(query.text)
        notes.add("queries cut at the scorer's limit", f"query {query.query_id}", int(cut))


def _reopened(pipeline: Pipeline, index: Index, assignments: Assignments) -> Pipeline:
    """Return an open pipeline with other settings of its section ``final``.

    Raises:
        InputError: it was opened on another index, or another section would change.
    """
    if index.digest != pipeline.index.digest:
        raise InputError("the pipeline was opened on another index", got=str(pipeline.index.place))
    settings = load_pipeline(pipeline.settings, assignments)
    if settings.model_copy(update={"final": pipeline.settings.final}) != pipeline.settings:
        fix = "open another pipeline"
        raise InputError("only settings of [final] can change in an open pipeline", got=listed(assignments), fix=fix)
    return replace(pipeline, settings=settings)


def rerank(
    pipeline: Pipeline,
    queries: Sequence[Query],
    first_stage: Run,
    evidence_path: Path,
    *,
    tag: str,
    keep_missing: bool = False,
    place: str = "index",
    score: ScoreBlocks | None = None,
    progress: Progress = lambda n: None,
    notes: Notes,
) -> Run:
    """Rerank a run by passages, and keep the evidence in a file; an interrupted call resumes from it.

    Args:
        pipeline: must have a scorer.
        queries: the queries; other queries of the run keep their ranking.
        first_stage: the run to rerank.
        evidence_path: evidence file; resumed if it exists and has the same settings.
        tag: tag of the new run.
        score: scores the blocks, in order (`longrank.ranking.devices`); default: the pipeline itself.
        keep_missing: rank documents that the index lacks last, and count them, instead of raising an error.
        place: ``index`` or ``store``, for messages.
        progress: called with the number of queries just done.
        notes: counts missing documents, queries without candidates, truncated and unread passages.

    Raises:
        InputError: no query in common, documents not in the index, or an evidence file with other settings.
    """
    if pipeline.scorer is None:
        raise InputError("this pipeline has no passage scorer: there is nothing to rerank with")
    tail = pipeline.settings.final.tail
    queries = common_queries(queries, first_stage, tail, notes)
    absent = _missing_documents(pipeline, queries, first_stage)
    if absent and not keep_missing:
        examples = ", ".join(sorted(absent)[:5])
        raise InputError(
            f"documents of the run that are not in the {place}: {len(absent)} ({examples})",
            about=("run",),
            fix="`missing`=keep ranks them last",
        )
    fate = "ranked last" if tail == "keep" else "dropped"
    notes.add(f"documents not in the {place}, {fate}", min(absent, default=""), len(absent))
    if tail == "drop":
        depth = pipeline.settings.final.depth
        gone = [q.query_id for q in queries if all(row.doc_id in absent for row in first_stage[q.query_id][:depth])]
        notes.add(f"queries without a document in the {place}, dropped", next(iter(gone), ""), len(gone))
    note_cut_queries(pipeline, queries, notes)
    if reads_words(pipeline.scorer):
        for query in queries:
            note_words(pipeline.scorer, query, pipeline.index, notes)
    header = _header(pipeline, pipeline.scorer, queries, first_stage, absent)
    scorer, final = pipeline.scorer, pipeline.settings.final
    collect_evidence(
        queries,
        first_stage,
        evidence_path,
        score or (lambda blocks: (evidence_of(pipeline.index, scorer, block) for block in blocks)),
        depth=final.depth,
        block_queries=final.block_queries,
        header=header,
        absent=absent,
        progress=progress,
    )
    n_candidates = sum(row.doc_id not in absent for row in _reranked(pipeline, queries, first_stage))
    evidence = counting_unread(read_evidence(evidence_path)[1], notes)
    counted = _counting_stopped(evidence, n_candidates, notes)
    return pipeline.run(counted, first_stage, tag, missing_in(header))


def common_queries(queries: Sequence[Query], first_stage: Run, tail: str, notes: Notes) -> list[Query]:
    """Return the queries of a run in their order; count queries without candidates, and queries without a text.

    Raises:
        InputError: no query is in the run.
    """
    common = [query for query in queries if query.query_id in first_stage]
    if not common:
        raise InputError(
            "none of the queries occurs in the run", about=("queries", "run"), got=next(iter(first_stage), None)
        )
    known = {query.query_id for query in common}
    notes.add("queries without candidates in the run", "", len(queries) - len(common))
    unknown = [query_id for query_id in first_stage if query_id not in known]
    ranking = "ranking kept" if tail == "keep" else "dropped"
    notes.add(f"queries of the run without a query text, {ranking}", next(iter(unknown), ""), len(unknown))
    return common


def _missing_documents(pipeline: Pipeline, queries: Sequence[Query], first_stage: Run) -> set[str]:
    """Return the documents that the index lacks, also below the rerank depth."""
    doc_ids = {row.doc_id for query in queries for row in first_stage[query.query_id]}
    return {doc_id for doc_id in doc_ids if doc_id not in pipeline.index}


def _kept_queries(queries: Sequence[Query], first_stage: Run, absent: set[str]) -> list[str]:
    """Return the queries that are not reranked and rank a document that the index lacks."""
    others = set(first_stage) - {query.query_id for query in queries} if absent else ()
    return sorted(query_id for query_id in others if any(row.doc_id in absent for row in first_stage[query_id]))


def _header(
    pipeline: Pipeline, scorer: DocumentScorer, queries: Sequence[Query], first_stage: Run, absent: set[str]
) -> dict[str, object]:
    final, stop, by = pipeline.settings.final, pipeline.settings.stop, pipeline.settings.aggregate.name
    kept = _kept_queries(queries, first_stage, absent)
    mix = scorer.mix if isinstance(scorer, PassageDocumentScorer) else None
    return evidence_header(
        unit=scorer.unit,
        scorer=scorer.fingerprint,
        collection=pipeline.index.digest,
        queries=digest_of_queries(queries, pipeline.index.options),
        n_queries=len(queries),
        candidates=digest_of(_reranked(pipeline, queries, first_stage)),
        options={
            "depth": final.depth,
            "block_queries": final.block_queries,
            MISSING: sorted(absent),
            **({} if not kept else {KEPT: kept}),
            **({} if stop is None else {STOPPED: with_options(by, pipeline.aggregator)}),
            **({} if mix is None else mix_header(mix)),
            **lineage_header(scorer),
        },
    )


def _reranked(pipeline: Pipeline, queries: Sequence[Query], first_stage: Run) -> list[ScoredDoc]:
    depth = pipeline.settings.final.depth
    return [row for query in queries for row in first_stage[query.query_id][:depth]]


def _counting_stopped(evidence: Iterable[Evidence], n_candidates: int, notes: Notes) -> Iterator[Evidence]:
    """Yield the evidence, then count the candidates without evidence."""
    n_documents = 0
    for document in evidence:
        n_documents += 1
        yield document
    notes.add(f"candidates skipped by early stopping, of {n_candidates}", count=n_candidates - n_documents)
