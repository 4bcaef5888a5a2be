"""Ranked documents and texts as values: parts of scores, best passages, and counts of what is left unread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import chain, pairwise
from typing import Any, NamedTuple, TypeVar

from longrank.aggregation.unread import note_unread_passages
from longrank.types import Evidence, Notes, Span


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
        n_passages: number of passages of the document; 0 if nothing of the document was read.
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
    def truncated(self) -> bool:
        """True if a part of the document was not read, although others were; see `Results.partial` for the rest."""
        return self.n_truncated > 0 or self.n_scored < self.n_passages

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
        doc_id: id of the document as it was given; empty for a plain text.
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
    doc_id: str = ""

    @property
    def key(self) -> str:
        """Id of the document, or its position in the list if it has none."""
        return self.doc_id or str(self.index)

    @property
    def truncated(self) -> bool:
        """True if a part of the document was not read."""
        return self.cut or self.n_truncated > 0 or self.n_scored < self.n_passages

    @property
    def detail(self) -> str:
        """Relevance and counts on one line."""
        return f"relevance {self.relevance:.4f} | {_counts(self) if self.n_passages else 'not read'}"


Shown = TypeVar("Shown", Result, RankedText)


def _counts(document: Result | RankedText) -> str:
    cut = f" | {document.n_truncated} cut at the length limit" if document.n_truncated else ""
    return f"{document.n_scored} of {document.n_passages} passages read{cut}"


@dataclass(frozen=True, slots=True)
class Partial:
    """Counts of a ranking that its deadline cut short.

    Attributes:
        n_documents: documents to read.
        n_read: documents that were read as far as the pipeline reads them.
        n_partly: documents of which some of these passages were read.
        n_unread: documents of which nothing was read; they have no score.
    """

    n_documents: int
    n_read: int
    n_partly: int
    n_unread: int

    def __str__(self) -> str:
        unread = f"{self.n_unread} of {self.n_documents} documents were not read"
        return f"the deadline passed: {unread}, {self.n_partly} were read in part"

    def json(self) -> dict[str, int]:
        """Return the counts as JSON values."""
        return asdict(self)


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


def note_unread_in(results: Iterable[Result], partial: Partial | None, notes: Notes) -> None:
    """Count the passages of results that were truncated, and those that were not scored, but for a deadline."""
    for result in results:
        n_left_out = 0 if partial else result.n_passages - result.n_scored
        note_unread_passages(notes, f"document {result.doc_id}", result.n_truncated, n_left_out)
