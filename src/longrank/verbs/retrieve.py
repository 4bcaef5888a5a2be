"""Find candidates for queries: the first stage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from longrank.collections import read_queries
from longrank.engines import Engine, EngineOptions, cores
from longrank.errors import InputError
from longrank.index import Index
from longrank.index.filter_parsing import parsed_filter
from longrank.index.languages import in_language
from longrank.registries import check_at_least
from longrank.retrieval import (
    Dense,
    FirstStage,
    Hybrid,
    Searcher,
    Sparse,
    WithFeedback,
    first_stage,
    opened,
    retrieve_all,
    sparing_old_objects,
    vectors_of,
)
from longrank.retrieval.blocks import Search, answers_by
from longrank.retrieval.stores import check_no_language
from longrank.types import Notes, Query, Ranking, Run
from longrank.verbs.naming import naming_files

if TYPE_CHECKING:
    from longrank.retrieval.lucene import LuceneRetriever
    from longrank.retrieval.stores import StoreRetriever

    FirstStageRetriever: TypeAlias = (
        Searcher | WithFeedback | Dense | Sparse | Hybrid | LuceneRetriever | StoreRetriever
    )

NO_RESULTS = "queries without results"


@naming_files
def retrieve(
    index: Index | Path | str,
    queries: Any,
    *,
    k: int = 1000,
    preset: str | FirstStage = "bm25-anserini",
    threads: int | None = None,
    engine: str | Engine | None = None,
    workers: int | None = None,
    resources: Mapping[str, float] | str | None = None,
    format: str | None = None,
    field: str | None = None,
    allow_empty: bool = False,
    filter: object = None,
    lang: str | None = None,
    tag: str = "longrank",
    notes: Notes | None = None,
    progress: Callable[[int], object] | None = None,
    **settings: Any,
) -> Run:
    """Find candidates by BM25, query likelihood or feedback, with the scores of Lucene and Anserini, or by vectors.

    Args:
        index: an index or its folder; or ``lucene:PATH``, an index of Lucene; or ``STORE:SETTINGS.toml``, a store.
        queries: a list of texts (ids ``1``, ``2``, ...), ``{id: text}``, a DataFrame (``qid``, ``query``), queries,
            a file, a collection folder or ``irds:ID``.
        k: documents per query.
        preset: a first stage by name, e.g. ``bm25-lucene+rm3``; docs/names.md lists them. ``dense`` and ``hybrid``
            need stored passage vectors; ``dense:VECTORS`` names them; ``sparse`` and
            ``sparse-hybrid`` need sparse vectors.
        threads: search threads; None: all cores.
        engine: where blocks of queries are answered: ``local`` processes, ``ray`` or ``ray=ADDRESS``; as of
            `longrank.engines.open_engine`, as are `workers` and `resources`. None: in this process, by `threads`.
        workers: processes, or workers of the cluster.
        resources: resources that each worker of a cluster holds, e.g. ``{"CPU": 4}``.
        format: query format, if it cannot be detected.
        field: topic field that is the query: ``title``, ``description``, ...
        allow_empty: accept queries without text, which find nothing.
        filter: filter of the documents by their metadata: ``{"year": {"$gte": 2020}}``, or such a JSON text.
        lang: language of the queries, for an index of several languages (`analyzer_field`): ``de``, ``pt-BR``, ...;
            None: the query's field of that name, or all languages of the documents.
        tag: tag of the run.
        notes: collects remarks; None: only ``run.notes`` has them.
        progress: called with the number of queries just done.
        settings: settings that replace the preset's: ``similarity`` (``bm25`` or ``ql``), ``k1`` (0 or more),
            ``b`` (0 to 1), ``mu`` (above 0), ``doc_lengths`` (``lucene`` or ``exact``), ``feedback`` (``none``,
            ``rm3``, ``bm25prf``, ``axiomatic``, ``rocchio``) and its options, such as ``fb_docs``; with vectors
            ``best`` (passages added per document) and, for ``hybrid``, ``method`` (``rrf`` or ``minmax``), ``weight``.

    Returns:
        The run, at most `k` documents per query; queries without results are not in it, and are counted.

    Raises:
        InputError: no such index, preset or setting, a value out of range, wrong queries, or a language where there is
            nothing to analyse.
        IntegrityError: files of the index are damaged.

    Example:
        >>> run = longrank.retrieve("my.index", ["how are hurricanes named"], k=100, feedback="rm3")
        >>> run.to_frame()
    """
    notes = Notes() if notes is None else notes
    queries = read_queries(queries, notes, format=format, field=field, allow_empty=allow_empty)
    search = Search(opened(index), first_stage(preset, settings), parsed_filter(filter), k)
    queries = of_language(queries, lang, search, notes)
    retriever = search.open(notes)
    found = rankings(
        search,
        retriever,
        queries,
        threads=threads,
        engine=EngineOptions(engine, workers, resources),
        notes=notes,
        progress=progress,
    )
    with sparing_old_objects():
        run = Run.from_rankings(tag, found)
    run.notes = notes
    return run


def of_language(queries: Sequence[Query], lang: str | None, search: Search, notes: Notes) -> Sequence[Query]:
    """Return queries of a language; None: of the languages that they name.

    Args:
        queries: the queries.
        lang: a language.
        search: a search whose source is opened.
        notes: takes languages without an analyzer.

    Raises:
        InputError: no language, the documents share an analyzer, a stage that searches for no words, or another
            engine's index or a store.
    """
    if not isinstance(search.source, Index):
        check_no_language(search.source, lang)
        return queries
    if search.stage.reads_words:
        return in_language(queries, lang, search.source.options, notes)
    if lang is not None:
        what = f"preset '{search.stage.kind}' searches for no words, so a language changes nothing"
        raise InputError(what, got=lang, fix="leave out the language")
    return queries


def rankings(
    search: Search,
    retriever: FirstStageRetriever,
    queries: Sequence[Query],
    *,
    threads: int | None,
    engine: EngineOptions,
    notes: Notes,
    progress: Callable[[int], object] | None,
) -> Iterator[Ranking]:
    """Yield the ranking of each query that has results, in order; others are counted.

    Args:
        search: the index, the first stage and the number of documents.
        retriever: the result of `search.open`.
        queries: the queries.
        threads: search threads of this process, where no engine is chosen; None: all cores.
        engine: options of an engine that answers blocks of queries.
        notes: takes remarks.
        progress: called with the number of queries just done.

    Raises:
        InputError: `k` or `threads` is below 1.
    """
    check_at_least("k", search.k, 1)
    if threads is not None:
        check_at_least("threads", threads, 1)
    with sparing_old_objects(), engine.open() if engine.given else nullcontext() as workers:
        if workers is None:
            answers = retrieve_all(retriever, queries, search.k, threads or cores())
        else:
            answers = answers_by(workers, search, queries, notes, vectors=vectors_of(retriever))
        yield from _counted(queries, answers, notes, progress)


def _counted(
    queries: Sequence[Query],
    answers: Iterable[Ranking],
    notes: Notes,
    progress: Callable[[int], object] | None,
) -> Iterator[Ranking]:
    without = Notes()  # merged at the end: answers come in blocks, whose size would decide the order of remarks
    for query, ranking in zip(queries, answers, strict=True):
        if ranking.doc_ids:
            yield ranking
        else:
            without.add(NO_RESULTS, query.query_id)
        if progress is not None:
            progress(1)
    notes.merge(without)


def expanded_queries(retriever: FirstStageRetriever, queries: Iterable[Query]) -> list[dict[str, Any]]:
    """Return the id of each query, whether feedback expanded it, and its weighted terms, heaviest first.

    Raises:
        InputError: the retriever is of another engine's index, or searches for no terms.
    """
    if isinstance(retriever, Dense | Sparse):
        raise InputError("a preset of vectors alone searches for no terms", fix="remove --explain-query")
    if not isinstance(retriever, Searcher | WithFeedback | Hybrid):
        raise InputError("--explain-query needs a LongRank index, not another engine or a store")
    quiet = retriever.noting(Notes())  # remarks were made during retrieval
    expanded = ((query.query_id, quiet.expand(query)) for query in queries)
    return [
        {
            "query_id": query_id,
            "expanded": query.expanded,
            "terms": dict(sorted(query.terms.items(), key=lambda term: (-term[1], term[0]))),
        }
        for query_id, query in expanded
    ]
