"""Explained results: the parts of a document's score, and its best passages with the query's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import chain, pairwise
from typing import Any, NamedTuple, TypeVar

from longrank.index.languages import in_language
from longrank.ranking.highlights import sentences_of
from longrank.ranking.one_query import RankedQuery, rank_one
from longrank.ranking.pipeline import Pipeline
from longrank.ranking.places import best_places
from longrank.text.analysis import Analyzer
from longrank.text.words import readable
from longrank.types import Document, Evidence, Pages, Query, ScoredDoc, Span


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A passage of a result, or passages joined to one (`best_places`): ``document.text[start:end] == text``.

    Attributes:
        index: number of the passage in the document, from 0; of joined passages the best one's, as are the scores.
        start: first code point in the document's text.
        end: one past the last.
        score: score of the passage, in the pipeline's unit; from a document network, the score of a document that
            consists of this passage alone.
        contribution: contribution to the document's score in a document network; else None.
        text: the passage.
        words: (start, end) of the query's words, in code points of the document's text.
        highlights: (start, end) of the best sentence, in code points of the document's text; empty if the passage is.
        parts: of a mix, name of each scorer -> its own score; else None.
        page: number from 1 of the page with the first word of the query, else with the passage's start; None if the
            document has no pages.
        place: file and pages, e.g. ``report.pdf, p. 12``; None if the document has no pages.
    """

    index: int
    start: int
    end: int
    score: float
    contribution: float | None
    text: str
    words: tuple[Span, ...]
    highlights: tuple[Span, ...] = ()
    parts: Mapping[str, float] | None = None
    page: int | None = None
    place: str | None = None

    @property
    def sentence(self) -> str:
        """The best sentence; empty if the passage is."""
        return " ".join(self.text[start - self.start : end - self.start] for start, end in self.highlights)

    @property
    def detail(self) -> str:
        """Parts of the score, in brackets; empty without a mix."""
        return f" ({', '.join(f'{name} {score:.4f}' for name, score in self.parts.items())})" if self.parts else ""


@dataclass(frozen=True, slots=True)
class Result:
    """One ranked document, explained.

    Attributes:
        rank: from 1.
        doc_id: id of the document.
        title: title, possibly empty.
        score: final score.
        first_stage: first-stage score.
        aggregate: aggregated passage score; None if no passage was scored.
        n_passages: number of passages of the document.
        n_scored: number of scored passages.
        n_truncated: number of scored passages that the scorer truncated.
        passages: best passages, best first.
        metadata: other fields of the document, as JSON values.
    """

    rank: int
    doc_id: str
    title: str
    score: float
    first_stage: float
    aggregate: float | None
    n_passages: int
    n_scored: int
    n_truncated: int
    passages: tuple[ShownPassage, ...] = field(repr=False)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Id of the document."""
        return self.doc_id

    @property
    def detail(self) -> str:
        """Parts of the score, and counts, on one line."""
        first_stage = f"first stage {self.first_stage:.4f}"
        if self.aggregate is None:
            return first_stage
        return f"{first_stage} | passages {self.aggregate:.4f} | {_counts(self)}"


@dataclass(frozen=True, slots=True)
class RankedText:
    """One ranked text, explained.

    Attributes:
        index: position in the list of documents, from 0.
        title: title, empty for a plain text.
        score: aggregated passage score, in the scorer's unit.
        relevance: the score as a number between 0 and 1 (`relevance_of`), in the same order.
        passages: best passages, best first; offsets are positions in the document's text.
        n_passages: number of passages of the document.
        n_scored: number of scored passages.
        n_truncated: number of scored passages that the scorer truncated.
        cut: true if a limit left the document's end, or passages, unread.
        evidence: evidence of all scored passages.
    """

    index: int
    title: str
    score: float
    relevance: float
    passages: tuple[ShownPassage, ...] = field(repr=False)
    n_passages: int
    n_scored: int
    n_truncated: int
    cut: bool
    evidence: Evidence = field(repr=False)

    @property
    def doc_id(self) -> str:
        """Empty: the text is in no index."""
        return ""

    @property
    def key(self) -> str:
        """Position in the list of documents."""
        return str(self.index)

    @property
    def detail(self) -> str:
        """Relevance and counts on one line."""
        return f"relevance {self.relevance:.4f} | {_counts(self) if self.n_passages else 'not read'}"


Shown = TypeVar("Shown", Result, RankedText)


def _counts(document: Result | RankedText) -> str:
    cut = f" | {document.n_truncated} cut at the length limit" if document.n_truncated else ""
    return f"{document.n_scored} of {document.n_passages} passages read{cut}"


def search(pipeline: Pipeline, text: str, *, k: int = 10, passages: int = 2, lang: str | None = None) -> list[Result]:
    """Search for one query, with explained results.

    Args:
        pipeline: see `open_pipeline`.
        text: the query.
        k: number of documents.
        passages: passages shown per document.
        lang: language of the query, for an index of several languages; None: all of them.

    Returns:
        At most `k` results, best first; empty if no document shares a term with the query.

    Raises:
        InputError: a language that is none, or the documents of the index share an analyzer.
    """
    (query,) = in_language([Query("q", readable(text))], lang, pipeline.index.options)
    return search_for(pipeline, query, k=k, passages=passages)


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
    document = pipeline.index.document(row.doc_id)
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


def highlighted(results: Sequence[Shown], highlights: Iterable[tuple[Span, ...]]) -> list[Shown]:
    """Return the results with the highlights of their passages, in order."""
    rest = iter(highlights)
    return [
        replace(result, passages=tuple(replace(passage, highlights=next(rest)) for passage in result.passages))
        for result in results
    ]


class Marked(NamedTuple):
    """A part of a shown passage: text, True for a word of the query, True within the best sentence."""

    text: str
    word: bool
    best: bool


def marked(passage: ShownPassage) -> Iterator[Marked]:
    """Yield the parts of a passage between the borders of its words and highlights, in order."""
    cuts = {passage.start, passage.end, *chain(*passage.words, *passage.highlights)}
    for start, end in pairwise(sorted(cuts)):
        word, best = (any(a <= start < b for a, b in spans) for spans in (passage.words, passage.highlights))
        yield Marked(passage.text[start - passage.start : end - passage.start], word, best)


def result_json(result: Result) -> dict[str, Any]:
    """Return a result as plain values for JSON; offsets count code points of the document's text."""
    return asdict(result) | {"passages": [passage_json(passage) for passage in result.passages]}


def passage_json(passage: ShownPassage) -> dict[str, Any]:
    """Return a passage as plain values for JSON; offsets count code points of the document's text."""
    spans = {name: [list(span) for span in getattr(passage, name)] for name in ("words", "highlights")}
    parts = {} if passage.parts is None else {"parts": dict(passage.parts)}
    values = {name: getattr(passage, name) for name in _PASSAGE_FIELDS} | spans | parts
    return {name: value for name, value in values.items() if value is not None}


_PASSAGE_FIELDS = tuple(field.name for field in fields(ShownPassage))
