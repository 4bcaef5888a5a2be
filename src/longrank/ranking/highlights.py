"""The best sentence of each shown passage.

The shown passages of all results are split into sentences, and the pipeline's own scorer scores them in one call, with
the title where the pipeline reads titles. A network that scores documents would score a sentence as a whole document,
at the cost of a passage: BM25 scores the sentences of its passages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np

from longrank.protocols import Candidate, CollectionStatistics, DocumentScorer, PassageScores, ScoringTask
from longrank.ranking.passages import PassageDocumentScorer, Prepared
from longrank.ranking.stopping import StoppingScorer
from longrank.scoring.lexical import LexicalScorer
from longrank.text.segment import make_segmenter
from longrank.text.select import make_selector
from longrank.text.sentences import SentenceSplitter, make_splitter
from longrank.types import Document, Query, Span

_MAX_WORDS = 512  # of a sentence, as in the segmenters
_GIVEN, _ALL = make_segmenter("given"), make_selector("all")


class ShownPassage(Protocol):
    """A shown passage: its offsets in the document's text, and its text."""

    @property
    def start(self) -> int:
        """First code point in the document's text."""
        ...

    @property
    def end(self) -> int:
        """One past the last code point."""
        ...

    @property
    def text(self) -> str:
        """The passage."""
        ...


class ShownDocument(Protocol):
    """A result: the id, title and shown passages of a document."""

    @property
    def doc_id(self) -> str:
        """Id in the index; empty for a text that came with the query."""
        ...

    @property
    def title(self) -> str:
        """Title of the document, possibly empty."""
        ...

    @property
    def passages(self) -> Sequence[ShownPassage]:
        """The shown passages, best first."""
        ...


class Sentences(NamedTuple):
    """Sentences of shown passages, ready for the scorer.

    Attributes:
        scorer: scores the tasks of `block`.
        block: the passages with two sentences or more, each as a document whose passages are its sentences.
        spans: for each shown passage, its sentences as offsets in the document's text.
    """

    scorer: PassageDocumentScorer
    block: Prepared
    spans: list[list[Span]]

    @property
    def tasks(self) -> Sequence[ScoringTask]:
        """The tasks to score."""
        return self.block.tasks

    def find(self) -> list[tuple[Span, ...]]:
        """Score the sentences, and return the best of each shown passage (`best`)."""
        return self.best(self.scorer.scorer.score(self.tasks))

    def best(self, scores: Sequence[PassageScores]) -> list[tuple[Span, ...]]:
        """Return the best sentence of each shown passage; nothing for an empty passage. Ties go to the earlier one.

        Args:
            scores: scores of each task.

        Raises:
            LongRankError: a score is not finite.
        """
        evidence = iter(self.scorer.finish(self.block, scores))
        return [
            (spans[int(np.argmax(next(evidence).passage_score))],) if len(spans) > 1 else tuple(spans)
            for spans in self.spans
        ]


def sentences_of(
    scorer: DocumentScorer | None,
    query: Query,
    results: Iterable[ShownDocument],
    statistics: CollectionStatistics,
) -> Sentences:
    """Split the shown passages of results into sentences.

    Args:
        scorer: the pipeline's scorer.
        query: the query.
        results: the results; their passages are numbered in order.
        statistics: statistics of the collection, for BM25.
    """
    shown = [(result, passage) for result in results for passage in result.passages]
    spans = [_sentences(passage) for _, passage in shown]
    reader = sentence_scorer(scorer)
    candidates = [
        Candidate(query, _as_document(n, result, passage, own), 0.0)
        for n, ((result, passage), own) in enumerate(zip(shown, spans, strict=True))
        if len(own) > 1
    ]
    return Sentences(reader, reader.prepare(candidates, statistics, weights=False), spans)


@cache
def _splitter() -> SentenceSplitter:
    """Return the splitter, made once: to make it, the version of its package is read from the disk."""
    return make_splitter("sentencex")


def _sentences(passage: ShownPassage) -> list[Span]:
    units = _splitter().sentences(passage.text, _MAX_WORDS)
    places = zip(units.starts.tolist(), units.ends.tolist(), strict=True)
    return [(passage.start + start, passage.start + end) for start, end in places]


def _as_document(number: int, result: ShownDocument, passage: ShownPassage, sentences: Sequence[Span]) -> Document:
    """Return a passage as a document of sentences.

    Ids of an index have no blank, so this id never finds vectors stored with an index. It ends with the id of the whole
    document, whose analyzer the sentences have.
    """
    spans = tuple((start - passage.start, end - passage.start) for start, end in sentences)
    return Document(f"passage {number} {result.doc_id}", result.title, passage.text, spans)


def sentence_scorer(scorer: DocumentScorer | None) -> PassageDocumentScorer:
    """Return the scorer of sentences of a pipeline's scorer; tasks without statistics are refused by BM25."""
    if isinstance(scorer, StoppingScorer):
        scorer = scorer.expensive
    if not isinstance(scorer, PassageDocumentScorer) or scorer.scorer.scores_documents:
        return PassageDocumentScorer(_GIVEN, _ALL, LexicalScorer(None), title=False)
    return PassageDocumentScorer(_GIVEN, _ALL, scorer.scorer, title=scorer.title)
