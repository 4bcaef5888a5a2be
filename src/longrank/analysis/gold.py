"""Gold of (query, relevant document) pairs: spans that are judged relevant, and the places of the answer.

An answer is located at all its occurrences in the gold spans of the document; in the whole document if there are no
gold spans. An occurrence begins and ends at word borders, and its white space may differ. Texts are compared exactly;
if no alternative of the answer occurs so, letter case is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from longrank.errors import InputError
from longrank.formats.passage_qrels import PassageJudgment
from longrank.types import Document, Notes, Qrels, Span

Pair = tuple[str, str]
"""(query_id, doc_id)."""


@dataclass(frozen=True, slots=True)
class Gold:
    """A relevant document of a query.

    Attributes:
        length: characters of the document's text, in code points.
        spans: gold spans, in order; empty if there are none.
        answers: occurrences of the answer, in order; each of them answers the query. Empty if there are none.
    """

    length: int
    spans: tuple[Span, ...]
    answers: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class GoldCollection:
    """Judged documents of a collection, with gold spans and answers.

    Attributes:
        pairs: (query_id, doc_id) of the relevant documents that the collection has.
        lengths: doc_id -> characters of every document.
        documents: doc_id -> judged document.
        spans: (query_id, doc_id) -> gold spans.
        answers: query_id -> alternative texts of its answer.
    """

    pairs: Sequence[Pair]
    lengths: Mapping[str, int]
    documents: Mapping[str, Document]
    spans: Mapping[Pair, Sequence[Span]]
    answers: Mapping[str, Sequence[str]]

    def gold(self, pair: Pair) -> Gold:
        """Return the gold of a relevant document."""
        text, spans = self.documents[pair[1]].text, tuple(sorted(set(self.spans.get(pair, ()))))
        return Gold(len(text), spans, occurrences(text, self.answers.get(pair[0], ()), spans))


def gold_collection(
    documents: Iterable[Document],
    qrels: Qrels,
    judged: Sequence[PassageJudgment],
    answers: Mapping[str, Sequence[str]],
    *,
    level: int = 1,
    notes: Notes,
) -> GoldCollection:
    """Read the documents of a collection, and find the gold spans of its relevant documents.

    Args:
        documents: all documents; only judged documents are held in memory.
        qrels: judgments of documents.
        judged: judgments of passages.
        answers: query_id -> alternative texts of its answer.
        level: lowest relevant grade, of documents and of passages.
        notes: counts relevant documents that are missing.

    Raises:
        InputError: a judged passage of an unknown document, a passage that the document lacks, or a span that is
            empty or outside the document.
    """
    relevant = [(q, d) for q, grades in qrels.items() for d, grade in grades.items() if grade >= level]
    needed = {doc_id for _, doc_id in relevant} | {judgment.doc_id for judgment in judged}
    lengths, kept = {}, {}
    for document in documents:
        lengths[document.doc_id] = len(document.text)
        if document.doc_id in needed:
            kept[document.doc_id] = document
    spans: dict[Pair, list[Span]] = {}
    for judgment in judged:
        span = gold_span(judgment, kept)
        if judgment.grade >= level:
            spans.setdefault((judgment.query_id, judgment.doc_id), []).append(span)
    for query_id, doc_id in relevant:
        notes.add("relevant documents that the collection lacks", f"query {query_id}, {doc_id}", doc_id not in kept)
    return GoldCollection([pair for pair in relevant if pair[1] in kept], lengths, kept, spans, answers)


def gold_span(judgment: PassageJudgment, documents: Mapping[str, Document]) -> Span:
    """Return the span of a judged passage.

    Raises:
        InputError: as `gold_collection`.
    """
    path, line, passage = judgment.path, judgment.line, judgment.passage
    document = documents.get(judgment.doc_id)
    if document is None:
        what, fix = "a judged passage is of an unknown document", "give the collection of these judgments"
        raise InputError(what, path=path, line=line, got=judgment.doc_id, fix=fix)
    if isinstance(passage, int):
        n = len(document.passages)
        if passage >= n:
            has = f"has {n} passages, numbered from 0" if n else "has no passages of its source"
            raise InputError(f"document {judgment.doc_id} {has}", path=path, line=line, got=passage)
        return document.passages[passage]
    start, end = passage
    if not 0 <= start < end <= len(document.text):
        what = f"a gold span is empty or outside document {judgment.doc_id} of {len(document.text)} characters"
        fix = "offsets are half-open and count code points"
        raise InputError(what, path=path, line=line, got=f"{start} {end}", fix=fix)
    return passage


def occurrences(text: str, alternatives: Iterable[str], spans: Sequence[Span]) -> tuple[Span, ...]:
    """Return the places of an answer in a text, in order.

    Args:
        text: the document's text.
        alternatives: texts of the answer.
        spans: parts of the text that are searched; empty: the whole text.
    """
    patterns = [_pattern(alternative) for alternative in alternatives]
    for flags in (0, re.IGNORECASE):
        places = {
            match.span()
            for pattern in patterns
            for start, end in spans or ((0, len(text)),)
            for match in _matches(re.compile(pattern, flags), text, start, end)
        }
        if places:
            return tuple(sorted(places))
    return ()


def _matches(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Yield the matches inside a span, also those that overlap; the letter behind the span decides its word border."""
    while match := pattern.search(text, start, end + 1):
        if match.end() <= end:
            yield match
        start = match.start() + 1


def _pattern(answer: str) -> str:
    """Return a pattern of the answer between word borders, with any white space for white space."""
    words = answer.split()
    before, after = (r"\b" if re.match(r"\w", letter) else "" for letter in (words[0][0], words[-1][-1]))
    return before + r"\s+".join(map(re.escape, words)) + after
