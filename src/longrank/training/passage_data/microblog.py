"""Rows of TREC Microblog 2011-2014: one per judged tweet (Akkalyoncu Yilmaz et al., EMNLP 2019).

The query is a topic's title, without its time; URLs in tweets are removed. Grades 1 and 2 are relevant. The paper
validates on 59 of the 225 queries (`split_queries`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from longrank.errors import InputError
from longrank.formats.queries import read_queries
from longrank.formats.trec import read_qrels
from longrank.training.passage_data.rows import Row
from longrank.types import Document, Notes, Qrels, Query

DEV_QUERIES = 59

_TOPIC = re.compile(r"MB0*([1-9][0-9]*)")
_URL = re.compile(r"(?:https?://|\bwww\.)\S+", re.IGNORECASE)


def read_microblog_queries(paths: Sequence[Path], notes: Notes) -> list[Query]:
    """Read the topics of several years; ``MB001`` becomes ``1``, as in the judgments.

    Raises:
        InputError: as `read_queries`, or a topic occurs twice.
    """
    seen: dict[str, Path] = {}
    queries = []
    for path in paths:
        for query in read_queries(path, notes):
            number = _TOPIC.fullmatch(query.query_id)
            query_id = number[1] if number else query.query_id
            if query_id in seen:
                raise InputError(f"topic {query_id} is also in {seen[query_id]}", path=path)
            seen[query_id] = path
            queries.append(Query(query_id, query.text))
    return queries


def read_microblog_qrels(paths: Sequence[Path], notes: Notes) -> Qrels:
    """Read the judgments of several years.

    Raises:
        InputError: as `read_qrels`, or a topic is judged in two files.
    """
    seen: dict[str, Path] = {}
    qrels: dict[str, Mapping[str, int]] = {}
    for path in paths:
        for query_id, judged in read_qrels(path, notes).items():
            if query_id in seen:
                raise InputError(f"topic {query_id} is also judged in {seen[query_id]}", path=path)
            seen[query_id] = path
            qrels[query_id] = judged
    return qrels


def microblog_rows(queries: Sequence[Query], qrels: Qrels, tweets: Iterable[Document], notes: Notes) -> Iterator[Row]:
    """Yield a row for each judgment of the queries, in the order of the tweets, then of the queries.

    Args:
        queries: of one part, see `split_queries`.
        qrels: judgments of all years. Grades below zero are no judgments.
        tweets: the collection; it is read once.
        notes: counts queries without judgments, and judged tweets that the collection lacks, holds again or that hold
            only URLs; these are left out.
    """
    judged: dict[str, list[tuple[str, int]]] = {}
    for query in queries:
        notes.add("queries without judgments, left out", query.query_id, not qrels.get(query.query_id))
        for doc_id, grade in qrels.get(query.query_id, {}).items():
            if grade >= 0:
                judged.setdefault(doc_id, []).append((query.text, int(grade > 0)))
    read: set[str] = set()
    for tweet in tweets:
        again = "judged tweets that the collection holds again, of which the first is read"
        notes.add(again, tweet.doc_id, tweet.doc_id in read)
        judgments = judged.pop(tweet.doc_id, [])
        read |= {tweet.doc_id} if judgments else set()
        text = without_urls(tweet.text)
        if text:
            yield from (Row(query, text, label) for query, label in judgments)
        else:
            notes.add("judged tweets with URLs only, left out", tweet.doc_id, bool(judgments))
    notes.add("judged tweets that the collection lacks, left out", next(iter(judged), ""), len(judged))


def without_urls(text: str) -> str:
    """Return the text without URLs, its words separated by single spaces."""
    return " ".join(_URL.sub(" ", text).split())
