"""Rows of TREC CAR: the query is an article's title and headings, the texts are BM25's best paragraphs.

A paragraph is relevant if it stands under that heading in the article (the automatic judgments). Of the five predefined
folds, four are for training and the fifth is for validation (Nogueira and Cho 2019).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from longrank.collections.judgments import note_topics
from longrank.errors import InputError
from longrank.protocols import DocumentStore
from longrank.training.passage_data.rows import Row
from longrank.types import Notes, Qrels, Query, Run

DEPTH = 10


def car_rows(
    queries: Sequence[Query], qrels: Qrels, run: Run, paragraphs: DocumentStore, notes: Notes, *, depth: int = DEPTH
) -> Iterator[Row]:
    """Yield a row for each of a query's first `depth` paragraphs, best first; queries keep their order.

    Relevant paragraphs that BM25 missed are not added.

    Args:
        queries: of one fold, read with ``format="car"``.
        qrels: its automatic judgments.
        run: BM25's.
        paragraphs: their texts.
        notes: counts judged topics without a query, queries without judgments, queries that the run lacks and
            paragraphs without text; all are left out.
        depth: 1 or more.

    Raises:
        InputError: `depth` below 1, or a paragraph of the run that is not in the collection.
    """
    if depth < 1:
        raise InputError("depth must be at least 1", got=depth)
    note_topics(qrels, {query.query_id for query in queries}, notes)
    for query in queries:
        judged = qrels.get(query.query_id)
        if not judged:
            notes.add("queries without judgments, left out", query.query_id)
            continue
        notes.add("queries that the run lacks, left out", query.query_id, query.query_id not in run)
        for _, doc_id, _ in run.get(query.query_id)[:depth]:
            if doc_id not in paragraphs:
                raise InputError("the collection lacks a paragraph of the run", about=("run",), got=doc_id)
            text = paragraphs.document(doc_id).text
            if text.strip():
                yield Row(query.text, text, int(judged.get(doc_id, 0) > 0))
            else:
                notes.add("paragraphs without text, left out", doc_id)
