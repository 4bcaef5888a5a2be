"""Search the index, and return its documents."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from longrank.index import Index
from longrank.index.filter_parsing import parse_filter
from longrank.index.languages import in_language
from longrank.protocols import Candidate, ScoringTask
from longrank.ranking.explain import explained, search_for
from longrank.ranking.fields import check_fields, facets, with_metadata
from longrank.ranking.found import Partial, Result, note_unread_in, result_json
from longrank.ranking.from_store import shown_fields
from longrank.ranking.highlights import Sentences, sentences_of
from longrank.ranking.one_query import RankedQuery, retrieved
from longrank.ranking.passages import PassageDocumentScorer, Prepared
from longrank.ranking.pipeline import Pipeline, filtered, note_cut_queries, noting
from longrank.ranking.promising import counts_of
from longrank.service.errors import Refusal, not_ready
from longrank.service.rerank import Service, check_query, cost_of_sentences, strip
from longrank.service.scored import scored, with_highlights
from longrank.service.selecting import with_selection
from longrank.service.served import Served, unknown_pipeline
from longrank.service.source_files import with_files
from longrank.service.units import tokens_of, weight_of
from longrank.service.within import highlights_within, in_time, read_until, until
from longrank.text.words import readable
from longrank.types import Document, Evidence, Notes, Query


@dataclass(frozen=True, slots=True)
class Selection:
    """Metadata in a search.

    Attributes:
        filter: filter of the documents, as JSON has it; None: all documents.
        show: metadata fields in the results.
        facets: fields whose values are counted.
        lang: language of the query, for an index of several languages; None: all of them.
    """

    filter: Mapping[str, Any] | None = None
    show: Sequence[str] = ()
    facets: Sequence[str] = ()
    lang: str | None = None


OLD_STATE = "the newest state of the index cannot be opened: this search used the state that was opened before"

Facets: TypeAlias = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Results with their evidence, warnings, facets, the seconds of the search, and counts if it is partial.

    `index` has the documents of the results; None: there are no results.
    """

    served: Served
    results: list[Result]
    evidence: dict[str, Evidence]
    warnings: list[str]
    seconds: float = 0.0
    facets: Facets = field(default_factory=dict)
    partial: Partial | None = None
    index: Index | None = None


NO_SELECTION = Selection()


def options_of(selection: Selection) -> list[str]:
    """Return the options of ``longrank search`` for a filter and shown fields."""
    options = [] if selection.filter is None else ["--filter", json.dumps(selection.filter, ensure_ascii=False)]
    options += ["--show", ",".join(selection.show)] if selection.show else []
    return [*options, *(["--lang", selection.lang] if selection.lang is not None else [])]


async def search_index(
    service: Service,
    query: str,
    *,
    pipeline: str | None,
    k: int,
    passages: int,
    deadline: float,
    by: float | None = None,
    selection: Selection = NO_SELECTION,
) -> SearchAnswer:
    """Answer a query from the index.

    Args:
        service: a server with an index.
        query: the query.
        pipeline: name of a served pipeline; None: the default.
        k: documents to return.
        passages: passages to show of each document.
        deadline: time of `time.monotonic` until which the answer is useful.
        by: time of `time.monotonic` of an answer with what is read by then; None: all is read.
        selection: filter, shown fields and facets.

    Raises:
        InputError: a wrong filter or language, or a field that no document has.
        Refusal: 404 no index or no such pipeline, 422 query too long, 429 overloaded, 503 models still loading, 504 too
            late.
    """
    served = choose_searching(service, pipeline)
    began = time.monotonic()
    check_query(service.settings, query)
    service.admission.refuse_if_full()
    bound, notes = served.pipeline, Notes()
    if bound is None:
        if selection.filter is not None or selection.facets or selection.lang is not None:
            raise Refusal(422, "invalid", "a store takes no filter, facets or language; see its settings")
        bound = await asyncio.to_thread(service.engine.bind, served, query, k, notes)
    if bound is None:
        return SearchAnswer(served, [], {}, notes.lines(), time.monotonic() - began)
    (topic,) = in_language([Query("q", readable(query))], selection.lang, bound.index.options, notes)
    own = Notes()  # models of an index are loaded once, with other notes
    if served.pipeline is not None:
        bound = noting(bound, own)
    await asyncio.to_thread(note_cut_queries, bound, [topic], own)
    restricted, counts = bound, Facets()
    if served.pipeline is not None and selection != NO_SELECTION:
        restricted, counts = await service.scheduler.run(
            lambda: _selected(bound, topic, selection, own), deadline=deadline
        )
    answer = await _found(service, served, restricted, topic, k=k, passages=passages, deadline=deadline, by=by)
    show = selection.show if served.pipeline is not None else shown_fields(bound.index, selection.show, Notes())
    results = await asyncio.to_thread(with_metadata, answer.results, bound.index, show)
    warnings = [*notes.lines(), *own.copy(places=False).lines(), *answer.warnings]
    warnings += [OLD_STATE] * service.engine.is_behind
    seconds = time.monotonic() - began
    service.metrics.truncated(sum(result.truncated for result in results))
    return replace(answer, results=results, warnings=warnings, facets=counts, seconds=seconds, index=bound.index)


def _selected(bound: Pipeline, query: Query, selection: Selection, notes: Notes) -> tuple[Pipeline, Facets]:
    """Return the pipeline restricted by the filter, and the facets."""
    filter = None if selection.filter is None else parse_filter(selection.filter, "/filter")
    check_fields(bound.index, selection.show)
    return filtered(bound, filter, notes), facets(bound.index, query, selection.facets, filter)


async def _found(
    service: Service,
    served: Served,
    bound: Pipeline,
    topic: Query,
    *,
    k: int,
    passages: int,
    deadline: float,
    by: float | None,
) -> SearchAnswer:
    """Rank documents by the first stage alone, or by their passages, too."""
    if not isinstance(bound.scorer, PassageDocumentScorer):
        with service.admission.admit(0, deadline):
            results = await service.scheduler.run(
                lambda: search_for(bound, topic, k=k, passages=passages), deadline=deadline
            )
        return SearchAnswer(served, results, {}, [])
    return await _answered(service, served, bound, topic, k=k, passages=passages, deadline=deadline, by=by)


async def _answered(
    service: Service,
    served: Served,
    bound: Pipeline,
    topic: Query,
    *,
    k: int,
    passages: int,
    deadline: float,
    by: float | None,
) -> SearchAnswer:
    """Retrieve candidates, and score their passages and the shown sentences in batches shared with other requests."""
    first_stage, found, candidates = await service.scheduler.run(lambda: retrieved(bound, topic, k), deadline=deadline)
    if found == []:
        return SearchAnswer(served, [], {}, [])
    scorer = bound.scorer
    assert isinstance(scorer, PassageDocumentScorer)
    weight = weight_of(scorer, indexed=True)
    cost = int(weight * served.overlap * sum(tokens_of(candidate.document.text) for candidate in candidates))
    of_sentences = cost_of_sentences(served, min(k, len(found or candidates)) * passages)
    with service.admission.admit(cost + of_sentences, deadline if by is None else math.inf):
        evidence, partial = found or [], None
        if found is None:
            options: dict[str, Any] = {"weight": weight, "cost": cost}
            evidence, partial = await _evidence(service, bound, candidates, deadline=deadline, by=by, **options)
        run = bound.run(evidence, first_stage, "search") if evidence else first_stage
        ranked = RankedQuery(run, first_stage, evidence)
        results = await asyncio.to_thread(explained, bound, topic, ranked, k=k, passages=passages)
        late: list[str] = []

        def split() -> Sentences:
            return sentences_of(scorer, topic, results, bound.index)

        if by is None:
            results = await with_highlights(service, results, split, deadline)
        else:
            results, late = await highlights_within(service, results, split, by)
    unread = Notes()
    note_unread_in(results, partial, unread)
    warnings = [*([] if partial is None else [str(partial)]), *unread.lines(), *late]
    return SearchAnswer(served, results, {item.doc_id: item for item in evidence}, warnings, partial=partial)


async def _evidence(
    service: Service,
    bound: Pipeline,
    candidates: Sequence[Candidate],
    *,
    deadline: float,
    by: float | None,
    weight: float,
    cost: int,
) -> tuple[list[Evidence], Partial | None]:
    """Return the evidence of the candidates: of all, or of those that are read in time, with counts."""
    scorer = bound.scorer
    assert isinstance(scorer, PassageDocumentScorer)

    until_then, since = deadline if by is None else until(by), time.monotonic()
    selecting = with_selection(
        service,
        scorer,
        lambda scorer: scorer.noting(Notes()).prepare(candidates, weights=False).tasks,
        indexed=True,
        cost=int(cost / weight),
        deadline=until_then,
    )
    selected = await (selecting if by is None else in_time(selecting))
    if selected is None:
        return [], Partial(len(candidates), 0, 0, len(candidates))
    reading, share = selected
    cost = int(share * cost)

    def block() -> Prepared:
        return reading.prepare(candidates, weights=bound.reads_weights)

    def prepare() -> tuple[Prepared, Sequence[ScoringTask]]:
        prepared = block()
        return prepared, prepared.tasks

    if by is None:
        options: dict[str, Any] = {"weight": weight, "cost": cost, "deadline": deadline, "since": since}
        prepared, scores = await scored(service, scorer, prepare, **options)
        return scorer.finish(prepared, scores), None
    read = await read_until(
        service.scheduler,
        scorer,
        lambda: (None, block()),
        statistics=bound.index,
        weight=weight,
        cost=cost,
        deadline=until_then,
        since=since,
    )
    if read is None:
        return [], Partial(len(candidates), 0, 0, len(candidates))
    _, whole, part = read
    return scorer.finish(part.block, part.scores), counts_of(whole, part)


def reply_json(
    service: Service,
    answer: SearchAnswer,
    query: str,
    *,
    k: int,
    passages: int,
    selection: Selection = NO_SELECTION,
) -> dict[str, Any]:
    """Return an answer as JSON values, without an id; offsets count code points of the documents' texts."""
    index = answer.index  # the snapshot that the request began with
    reranker = answer.served.reranker
    return {
        "index": service.engine.index_name,
        "digest": None if index is None or service.engine.store is not None else index.digest,
        "pipeline": answer.served.name,
        "query": query,
        "unit": None if reranker is None else reranker.unit,
        "took_ms": round(1000 * answer.seconds, 1),
        "warnings": answer.warnings,
        "partial": None if answer.partial is None else answer.partial.json(),
        "command": service.engine.command(answer.served, query, k, passages, options_of(selection)),
        "facets": answer.facets,
        "results": [
            {
                **_linked(service, index, result),
                "n_characters": len(index.document(result.doc_id, metadata=False).text),
                "strip": strip(answer.evidence[result.doc_id]) if result.doc_id in answer.evidence else [],
            }
            for result in answer.results
            if index is not None
        ],
    }


def _linked(service: Service, index: Index, result: Result) -> dict[str, Any]:
    """Return a result as JSON values, with links to its file if files are served."""
    values = result_json(result)
    if service.files is None:
        return values
    address = service.files.address(result.doc_id, index.metadata(result.doc_id))
    return values | with_files(values["passages"], address)


class WholeDocument(NamedTuple):
    """A document, and the digest of the index that has it; None: a store has it."""

    document: Document
    digest: str | None


def document(service: Service, doc_id: str) -> WholeDocument:
    """Return a document of the index.

    Raises:
        Refusal: 404, no such document, or no index; 502, a store does not answer.
    """
    if service.engine.store is not None:
        return WholeDocument(service.engine.store.document(doc_id), None)
    index = service.engine.index
    if index is None or doc_id not in index:
        raise Refusal(404, "not_found", "no such document" if index is not None else "no index is served")
    return WholeDocument(index.document(doc_id), index.digest)


def choose_searching(service: Service, pipeline: str | None) -> Served:
    """Return the pipeline that answers a search.

    Raises:
        Refusal: 404 no index or no such pipeline, 503 models still loading.
    """
    if not service.engine.searches:
        raise Refusal(404, "not_found", "no index is served; this server only reranks texts")
    if not service.engine.ready:
        raise not_ready()
    try:
        return service.engine.served(pipeline)
    except KeyError:
        raise Refusal(
            404, "not_found", f"/pipeline: {unknown_pipeline(str(pipeline), service.engine.names())}"
        ) from None
