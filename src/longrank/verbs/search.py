"""Search an index for one query."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from longrank.config import Assignments, listed
from longrank.errors import InputError, install_line
from longrank.formats.queries import query_text
from longrank.index import Index
from longrank.index.filter_parsing import parsed_filter
from longrank.index.languages import in_language
from longrank.ranking.fields import check_fields, with_metadata
from longrank.ranking.found import Result, note_unread_in
from longrank.ranking.from_store import pipeline_of_candidates, shown_fields
from longrank.ranking.pipeline import Pipeline, filtered, note_cut_queries, noting, open_pipeline
from longrank.ranking.results import Results
from longrank.ranking.settings import ALLOW_UNTRAINED, PipelineSettings, default_pipeline, load_pipeline
from longrank.ranking.timed import Deadline, check_deadline
from longrank.ranking.timed_search import search_within
from longrank.registries import check_at_least, names_in
from longrank.retrieval.stores import check_no_filter, check_no_language, is_store, open_store
from longrank.types import Notes, Query


def search(
    index: Index | Path | str,
    query: str,
    *,
    pipeline: str | Path | PipelineSettings | Pipeline | None = None,
    model: str | None = None,
    k: int = 10,
    passages: int = 2,
    score_cache: Path | str | None = None,
    allow_untrained: bool = False,
    assignments: Assignments = (),
    filter: object = None,
    show: str | Sequence[str] | None = None,
    deadline: float | Deadline | None = None,
    lang: str | None = None,
    notes: Notes | None = None,
) -> Results[Result]:
    """Search long documents, and show the passages that matter.

    Args:
        index: an index or its folder; or ``STORE:SETTINGS.toml``, a store that finds the candidates.
        query: the query.
        pipeline: a pipeline's name (`longrank pipelines` lists them), a TOML file, settings, or an open pipeline;
            None: ``mixed`` where the extras of MiniLM are installed, else ``lexical``.
        model: a Hugging Face name, a folder or an alias; replaces the pipeline's own.
        k: number of documents.
        passages: passages shown per document.
        score_cache: file of passage scores shared between runs, created if absent.
        allow_untrained: score with a document network that was never trained.
        assignments: ``{"final.depth": 50}`` or ``["final.depth=50"]``: settings of the pipeline.
        filter: filter of the documents by their metadata: ``{"year": {"$gte": 2020}}``, or such a JSON text.
        show: metadata fields in the results, a list or a text such as ``"year,lang"``; None: all.
        deadline: seconds after which what is read by then is ranked, the most promising passages first; the result
            counts the rest (`Results.partial`). Documents of which nothing was read follow in first-stage order,
            without passages. Loading the index and the model is not counted. None: all is read.
        lang: language of the query, for an index of several languages (`analyzer_field`): ``de``, ``pt-BR``, ...; None:
            the query's field of that name, or all languages of the documents.
        notes: collects remarks; None: only ``results.notes`` has them.

    Returns:
        At most `k` documents, best first; empty if no document shares a term with the query. Notebooks show them as
        HTML, with the query's words marked.

    Raises:
        InputError: an empty query, `k` below 1, `passages` below 0, an unknown name or setting, a model that cannot be
            loaded, a `deadline` that is not above 0, or one for a pipeline with early stopping.
        MissingExtra: the scorer's libraries are not installed.
        IntegrityError: files of the index or the model are damaged.

    Example:
        >>> for hit in longrank.search("my.index", "how are hurricanes named", k=3):
        ...     print(hit.score, hit.title, hit.passages[0].text)
    """
    if not isinstance(query, str):
        raise InputError("search takes one query, a text", got=type(query).__name__, fix="rerank takes many")
    check_at_least("k", k, 1)
    check_at_least("passages", passages, 0)
    condition = parsed_filter(filter)
    show = None if show is None else names_in(show)
    if deadline is not None and not isinstance(deadline, Deadline):
        check_deadline(deadline)
    notes = Notes() if notes is None else notes
    query = query_text(query, notes)
    if pipeline is None:
        pipeline = default_pipeline()
        lacking = f"; for MiniLM: {install_line('neural', 'minilm')}" if pipeline == "lexical" else ""
        notes.say(f"pipeline {pipeline}, since none was given{lacking}")
    assignments = [*listed(assignments), *(ALLOW_UNTRAINED if allow_untrained else ())]
    options: dict[str, Any] = {"model": model, "score_cache": score_cache, "notes": notes}
    if is_store(index):
        check_no_filter(index, condition)
        check_no_language(index, lang)
        candidates = _of_store(str(index), query, pipeline, assignments, k=k, **options)
        if candidates is None:
            return Results(query, [], notes)
        opened, show = candidates, shown_fields(candidates.index, show, notes)
    else:
        opened = open_pipeline(index, pipeline, assignments=assignments, **options)
        check_fields(opened.index, show or ())
    bound = filtered(opened, condition, notes)
    (topic,) = in_language([Query("q", query)], lang, opened.index.options, notes)
    if isinstance(pipeline, Pipeline):
        bound = noting(bound, notes)
    note_cut_queries(bound, [topic], notes)
    results, partial = search_within(bound, topic, deadline, k=k, passages=passages, notes=notes)
    note_unread_in(results, partial, notes)
    return Results(query, with_metadata(results, opened.index, show), notes, partial)


def _of_store(
    source: str,
    query: str,
    pipeline: str | Path | PipelineSettings | Pipeline,
    assignments: Assignments,
    *,
    k: int,
    **options: Any,
) -> Pipeline | None:
    """Return the pipeline on the candidates of a store; None: it finds nothing."""
    if isinstance(pipeline, Pipeline):
        raise InputError("an open pipeline belongs to an index, not to a store", got=source)
    for assignment in listed(assignments):
        if assignment.strip().startswith("first_stage."):
            raise InputError("a store finds the candidates itself", got=assignment, fix="leave this setting out")
    settings = load_pipeline(pipeline, assignments, model=options.get("model"))
    return pipeline_of_candidates(open_store(source), query, settings, k=k, **options)
