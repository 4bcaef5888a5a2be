"""Explained results: the parts of a document's score, and its best passages with the query's words."""

from __future__ import annotations

from dataclasses import replace

from longrank.ranking.found import Result, ShownPassage, highlighted
from longrank.ranking.highlights import sentences_of
from longrank.ranking.one_query import RankedQuery, rank_one
from longrank.ranking.pipeline import Pipeline
from longrank.ranking.places import best_places
from longrank.text.analysis import Analyzer
from longrank.text.words import readable
from longrank.types import Document, Evidence, Pages, Query, ScoredDoc


def search(pipeline: Pipeline, text: str, *, k: int = 10, passages: int = 2) -> list[Result]:
    """Search for one query, with explained results.

    Args:
        pipeline: see `open_pipeline`.
        text: the query.
        k: number of documents.
        passages: passages shown per document.

    Returns:
        At most `k` results, best first; empty if no document shares a term with the query.
    """
    return search_for(pipeline, Query("q", readable(text)), k=k, passages=passages)


def search_for(pipeline: Pipeline, query: Query, *, k: int, passages: int) -> list[Result]:
    """Search for a query, whose text has no unpaired surrogate; as `search`."""
    ranked = rank_one(pipeline, query, k)
    results = explained(pipeline, query, ranked, k=k, passages=passages)
    return highlighted(results, sentences_of(pipeline.scorer, query, results, pipeline.index).find())


def explained(pipeline: Pipeline, query: Query, ranked: RankedQuery, *, k: int, passages: int) -> list[Result]:
    """Return the first `k` documents of a query's ranking as results, without highlights."""
    by_document = {evidence.doc_id: evidence for evidence in ranked.evidence}
    first = {row.doc_id: row.score for row in ranked.first_stage.get(query.query_id)}
    terms = frozenset(pipeline.index.query_terms(query))
    return [
        _result(pipeline, rank, row, first[row.doc_id], by_document.get(row.doc_id), terms, passages)
        for rank, row in enumerate(ranked.run.get(query.query_id)[:k], 1)
    ]


def _result(  # noqa: PLR0917
    pipeline: Pipeline,
    rank: int,
    row: ScoredDoc,
    first_stage: float,
    evidence: Evidence | None,
    terms: frozenset[str],
    n: int,
) -> Result:
    document = pipeline.index.document(row.doc_id, metadata=False)
    if evidence is None:
        return Result(rank, row.doc_id, document.title, row.score, first_stage, None, 0, 0, 0, ())
    return Result(
        rank=rank,
        doc_id=row.doc_id,
        title=document.title,
        score=row.score,
        first_stage=first_stage,
        aggregate=pipeline.aggregator(evidence),
        passages=_on_pages(
            best_passages(document, evidence, terms, n, pipeline.index.document_analyzer(row.doc_id)),
            Pages(pipeline.index.metadata(row.doc_id)),
        ),
        n_passages=evidence.n_passages,
        n_scored=len(evidence.passage_index),
        n_truncated=evidence.n_truncated,
    )


def _on_pages(passages: tuple[ShownPassage, ...], pages: Pages) -> tuple[ShownPassage, ...]:
    """Return the passages with their pages."""
    if pages.page(0) is None:
        return passages
    return tuple(
        replace(item, page=pages.page(_first_word(item)), place=pages.place(item.start, item.end)) for item in passages
    )


def _first_word(passage: ShownPassage) -> int:
    return passage.words[0][0] if passage.words else passage.start


def best_passages(
    document: Document, evidence: Evidence, terms: frozenset[str], n: int, analyzer: Analyzer
) -> tuple[ShownPassage, ...]:
    """Return the `n` best places of a document, best first: by contribution in a document network, else by score.

    Args:
        document: the document.
        evidence: its evidence.
        terms: analyzed terms of the query, whose words are marked.
        n: maximum number of passages.
        analyzer: finds the terms in the passages.
    """
    contributions = None if evidence.document_score is None else evidence.passage_weight
    order = evidence.best_first()
    spans = list(zip(evidence.passage_start[order].tolist(), evidence.passage_end[order].tolist(), strict=True))
    shown = []
    for start, end, rank, _ in best_places(document.text, spans, n):
        best = int(order[rank])
        text = document.text[start:end]
        words = tuple((start + a, start + b) for term, a, b in analyzer.spans(text) if term in terms)
        shown.append(
            ShownPassage(
                index=int(evidence.passage_index[best]),
                start=start,
                end=end,
                score=float(evidence.passage_score[best]),
                contribution=None if contributions is None else float(contributions[best]),
                text=text,
                words=words,
                parts=_parts_of(evidence, best),
            )
        )
    return tuple(shown)


def _parts_of(evidence: Evidence, i: int) -> dict[str, float] | None:
    parts = evidence.passage_parts
    return None if parts is None else {name: float(part[i]) for name, part in parts.items()}
