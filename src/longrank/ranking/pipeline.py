"""The main job: candidates -> passages -> evidence -> one score per document.

    open_pipeline   settings and an index become retriever, document scorer and aggregator
    search          one query, answered with explained results
    rerank          many queries; evidence is written resumably, the run follows from it

`rerank` is `collect_evidence` and then `aggregate_run`, the same function that the aggregate
command uses, so both give the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from longrank.aggregation import find_aggregation
from longrank.aggregation.run import aggregate_run
from longrank.aggregation.unread import counting_unread
from longrank.errors import InputError
from longrank.formats.evidence import STOPPED, EvidenceWriter, evidence_header, read_evidence
from longrank.index import Index
from longrank.protocols import Aggregator, Candidate, DocumentScorer, Retriever
from longrank.ranking.passages import open_aggregator, open_document_scorer
from longrank.ranking.settings import PipelineSettings, load_pipeline
from longrank.retrieval import first_stage, make_retriever
from longrank.storage import digest_of
from longrank.types import Evidence, Notes, Query, Run, ScoredDoc

Progress = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline bound to an index; ``scorer`` is None where the first stage stands alone."""

    settings: PipelineSettings
    index: Index
    retriever: Retriever
    scorer: DocumentScorer | None
    aggregator: Aggregator

    def run(self, evidence: Iterable[Evidence], first_stage: Run, tag: str, last: frozenset[str] = frozenset()) -> Run:
        """Aggregate evidence into a run as the settings say."""
        final = self.settings.final
        return aggregate_run(
            evidence,
            self.aggregator,
            first_stage=first_stage,
            alpha=final.interpolate,
            normalize=final.normalize,
            tail=final.tail,
            tag=tag,
            last=last,
        )


def open_pipeline(
    index: Index,
    pipeline: str | PipelineSettings,
    *,
    model: str | None = None,
    assignments: Sequence[str] = (),
    notes: Notes | None = None,
    score_cache: Path | None = None,
) -> Pipeline:
    """Bind a pipeline to an index and load its models.

    Args:
        index: where candidates and texts come from.
        pipeline: the name of a shipped pipeline, a TOML file, or settings.
        model: a Hugging Face name, a folder or an alias; replaces the pipeline's own.
        assignments: ``section.key=value`` on top of a name or a file.
        notes: what was decided on the user's behalf (a model, stored vectors not used).
        score_cache: a file of scores shared with other runs, made if it is not there (`longrank.scoring.score_cache`).

    Raises:
        InputError: unknown names, settings out of range, a model that cannot be had, a scorer that has no cache.
        IntegrityError: stored vectors or the score cache are damaged.
    """
    notes = Notes() if notes is None else notes
    settings = load_pipeline(pipeline, assignments) if isinstance(pipeline, str) else pipeline
    first = settings.first_stage
    if settings.scorer is None and model is not None:
        raise InputError(f"pipeline '{pipeline}' has no passage scorer, so --model means nothing", got=model)
    if settings.scorer is None and score_cache is not None:
        raise InputError(f"pipeline '{pipeline}' has no passage scorer, so --score-cache means nothing")
    retriever = make_retriever(index, first_stage(first.preset, first.settings), notes=notes)
    aggregator = open_aggregator(settings)
    if settings.stop is not None and find_aggregation(settings.aggregate.name).needs_document_score:
        raise InputError(
            "stop bounds a document by its passages' scores, which a network that aggregates has no rule for",
            got=f"aggregate.name={settings.aggregate.name}",
            fix="leave stop out",
        )
    # last: it takes long
    scorer = None
    if settings.scorer is not None:
        scorer = open_document_scorer(index, settings, model, aggregator, notes, score_cache=score_cache)
    return Pipeline(settings, index, retriever, scorer, aggregator)


class RankedQuery(NamedTuple):
    """The answer to one query: its run, that of the first stage, and the evidence of the reranked documents."""

    run: Run
    first_stage: Run
    evidence: Sequence[Evidence]


def rank_one(pipeline: Pipeline, query: Query, k: int) -> RankedQuery:
    """Answer one query: at least `k` candidates are retrieved and, with a scorer, reranked."""
    first_stage, candidates = candidates_for(pipeline, query, k)
    if pipeline.scorer is None or not candidates:
        return RankedQuery(first_stage, first_stage, [])
    evidence = [one for one in pipeline.scorer.evidence(candidates) if one is not None]
    return RankedQuery(pipeline.run(evidence, first_stage, "search"), first_stage, evidence)


def candidates_for(pipeline: Pipeline, query: Query, k: int) -> tuple[Run, list[Candidate]]:
    """Return the first stage's ranking of a query, `k` documents or more, and those that are to be reranked."""
    depth = pipeline.settings.final.depth
    first_stage = Run(pipeline.settings.first_stage.preset, pipeline.retriever.retrieve(query, max(k, depth)))
    if pipeline.scorer is None or query.query_id not in first_stage:
        return first_stage, []
    return first_stage, _candidates(pipeline.index, query, first_stage, depth)


def rerank(
    pipeline: Pipeline,
    queries: Sequence[Query],
    first_stage: Run,
    evidence_path: Path,
    *,
    tag: str,
    keep_missing: bool = False,
    progress: Progress = lambda n: None,
    notes: Notes,
) -> Run:
    """Rerank a run by passages; what was scored before an interruption is not scored again.

    Args:
        pipeline: must have a scorer.
        queries: those of the run; queries of the run that are not among them keep their ranking.
        first_stage: the run to rerank.
        evidence_path: where the evidence goes; it is resumed if it is there with the same settings.
        tag: the tag of the new run.
        keep_missing: put documents that the index lacks last, and count them, instead of refusing.
        progress: called with the number of queries just done.
        notes: counts missing documents, queries without candidates, truncated and unread passages.

    Raises:
        InputError: no query in common, documents not in the index, or the evidence file was begun
            with other settings.
    """
    if pipeline.scorer is None:
        raise InputError("this pipeline has no passage scorer: there is nothing to rerank with")
    wanted = _queries_of(queries, first_stage, pipeline.settings.final.tail, notes)
    absent = _missing_documents(pipeline, wanted, first_stage)
    if absent and not keep_missing:
        some = ", ".join(sorted(absent)[:5])
        raise InputError(
            f"documents of the run that are not in the index: {len(absent)} ({some})",
            fix="--missing keep ranks them last",
        )
    notes.add("documents not in the index, ranked last", min(absent, default=""), len(absent))
    header = _header(pipeline, pipeline.scorer, wanted, first_stage, absent)
    done = collect_evidence(
        pipeline, wanted, first_stage, evidence_path, header=header, absent=absent, progress=progress
    )
    for query in wanted[:done]:  # those of other blocks are counted as they are read
        cut = pipeline.scorer.cuts_query(query.text)
        notes.add("queries cut at the scorer's limit, scored before", f"query {query.query_id}", int(cut))
    n_candidates = sum(row.doc_id not in absent for row in _reranked(pipeline, wanted, first_stage))
    evidence = counting_unread(read_evidence(evidence_path)[1], notes)
    counted = _counting_stopped(evidence, n_candidates, notes)
    return pipeline.run(counted, first_stage, tag, frozenset(absent))


def collect_evidence(
    pipeline: Pipeline,
    queries: Sequence[Query],
    first_stage: Run,
    path: Path,
    *,
    header: dict[str, object],
    absent: set[str],
    progress: Progress,
) -> int:
    """Write the evidence of all queries, block by block; finished blocks are skipped. Return how many queries they had.

    Blocks are a pure function of the queries and the settings, and a block is redone whole, so an
    interrupted and resumed file has the bytes of an undisturbed one.
    """
    scorer, final = pipeline.scorer, pipeline.settings.final
    assert scorer is not None
    with EvidenceWriter(path, header) as writer:
        done = writer.n_queries_done
        progress(done)
        rest = iter(queries[done:])
        while block := list(islice(rest, final.block_queries)):
            per_query = [_candidates(pipeline.index, q, first_stage, final.depth, absent) for q in block]
            evidence = iter(scorer.evidence([c for candidates in per_query for c in candidates]))
            for query, candidates in zip(block, per_query, strict=True):
                found = islice(evidence, len(candidates))
                writer.write_query(query.query_id, [one for one in found if one is not None])
            writer.commit()
            progress(len(block))
    return done


def _candidates(
    index: Index, query: Query, first_stage: Run, depth: int, absent: Iterable[str] = ()
) -> list[Candidate]:
    top = [row for row in first_stage[query.query_id][:depth] if row.doc_id not in absent]
    return [Candidate(query, index.document(row.doc_id), row.score) for row in top]


def _queries_of(queries: Sequence[Query], first_stage: Run, tail: str, notes: Notes) -> list[Query]:
    wanted = [query for query in queries if query.query_id in first_stage]
    if not wanted:
        raise InputError("no query of the query file occurs in the run", got=next(iter(first_stage), None))
    known = {query.query_id for query in wanted}
    notes.add("queries without candidates in the run", "", len(queries) - len(wanted))
    unknown = [query_id for query_id in first_stage if query_id not in known]
    done = "left as they are" if tail == "keep" else "left out"
    notes.add(f"queries of the run not in the query file, {done}", next(iter(unknown), ""), len(unknown))
    return wanted


def _missing_documents(pipeline: Pipeline, queries: Sequence[Query], first_stage: Run) -> set[str]:
    """Return the documents that the index lacks, below the reranking depth as well: the run is of another index."""
    found = {row.doc_id for query in queries for row in first_stage[query.query_id]}
    return {doc_id for doc_id in found if doc_id not in pipeline.index}


def _header(
    pipeline: Pipeline, scorer: DocumentScorer, queries: Sequence[Query], first_stage: Run, absent: set[str]
) -> dict[str, object]:
    final, stop = pipeline.settings.final, pipeline.settings.stop
    return evidence_header(
        unit=scorer.unit,
        scorer=scorer.fingerprint,
        collection=pipeline.index.digest,
        queries=digest_of([[query.query_id, query.text] for query in queries]),
        n_queries=len(queries),
        candidates=digest_of(_reranked(pipeline, queries, first_stage)),
        options={
            "depth": final.depth,
            "block_queries": final.block_queries,
            "missing": sorted(absent),
            **({} if stop is None else {STOPPED: pipeline.settings.aggregate.name}),
        },
    )


def _reranked(pipeline: Pipeline, queries: Sequence[Query], first_stage: Run) -> list[ScoredDoc]:
    depth = pipeline.settings.final.depth
    return [row for query in queries for row in first_stage[query.query_id][:depth]]


def _counting_stopped(evidence: Iterable[Evidence], n_candidates: int, notes: Notes) -> Iterator[Evidence]:
    """Pass evidence on and count the candidates that have none."""
    n_documents = 0
    for one in evidence:
        n_documents += 1
        yield one
    notes.add(f"candidates left alone by early stopping, of {n_candidates}", count=n_candidates - n_documents)
