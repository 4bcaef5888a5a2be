"""Rank candidates of a store: its documents become a temporary index, so that all else is as in any index.

Statistics of BM25 are those of the candidates. Offsets of evidence are positions in the store's texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from longrank.errors import InputError
from longrank.index import Index
from longrank.ranking.pipeline import Pipeline, open_pipeline
from longrank.ranking.settings import Candidates, PipelineSettings
from longrank.retrieval import first_stage
from longrank.retrieval.replay import Replay
from longrank.retrieval.stores import Store
from longrank.retrieval.stores.found import run_of
from longrank.text.words import readable
from longrank.types import Document, Notes, Query, Run


def pipeline_of_candidates(
    store: Store,
    text: str,
    settings: PipelineSettings,
    *,
    k: int,
    model: str | None = None,
    score_cache: Path | str | None = None,
    notes: Notes,
    opening: Notes | None = None,
) -> Pipeline | None:
    """Bind a pipeline to the candidates of a query; None: the store finds nothing.

    Args:
        store: finds the candidates; the pipeline's own first stage is not used.
        text: the query.
        settings: settings of the pipeline.
        k: least number of candidates; the rerank depth, if that is larger.
        model: as of `open_pipeline`.
        score_cache: as of `open_pipeline`.
        notes: takes the remarks of the store.
        opening: as `notes` of `open_pipeline`; None: `notes`.

    Raises:
        InputError, MissingExtra, IntegrityError: as `Store.search` and `open_pipeline`.
    """
    query = Query("q", readable(text))
    found = store.search(query, max(k, settings.final.depth), notes)
    own = first_stage(settings.first_stage.preset, settings.first_stage.settings)
    if own.feedback != "none" or own.kind != "words":
        notes.say(f"the store finds the candidates, not the pipeline's first stage ({own.about})")
    if not found:
        return None
    index = Index.build([item.document for item in found], analyzer=store.analyzer)
    bare = settings.model_copy(update={"first_stage": Candidates()})
    opened = open_pipeline(
        index, bare, model=model, score_cache=score_cache, notes=notes if opening is None else opening
    )
    return replace(opened, retriever=Replay(run_of(query, found)))


def index_of_run(store: Store, queries: Iterable[Query], run: Run, notes: Notes) -> Index:
    """Return an index of the documents that a run has for some queries; equal texts give equal digests.

    `notes` takes the store's remarks.

    Raises:
        InputError: the store has none of them; or as `Store.documents`.
    """
    doc_ids = {row.doc_id for query in queries for row in run.get(query.query_id)}
    documents = store.documents(sorted(doc_ids), notes) if doc_ids else []
    if doc_ids and not documents:
        raise InputError("the store has none of the run's documents", about=("run",), got=min(doc_ids))
    documents = sorted(documents, key=lambda document: document.doc_id) or [Document("none", "", "")]
    return Index.build(documents, analyzer=store.analyzer)


def shown_fields(index: Index, show: Sequence[str] | None, notes: Notes) -> list[str] | None:
    """Return the fields to show that some candidate has; others are noted. None stays None: all fields."""
    if show is None:
        return None
    known = () if index.stored is None else index.stored.fields
    for name in show:
        if name not in known:
            notes.say(f"no candidate has the field '{name}'")
    return [name for name in show if name in known]
