"""Reranking of texts that are in no index: the documents come with the query.

    reranker = open_text_reranker("maxp", model="./my-cross-encoder")
    for one in reranker.rank("how are hurricanes named", documents):
        print(one.index, one.relevance, one.passages[0].text)

Documents are read whole, passage by passage; a first stage, and what a pipeline mixes with it, means nothing here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from longrank.aggregation import make_aggregator
from longrank.errors import InputError
from longrank.index import Index
from longrank.protocols import Aggregator, Candidate, CollectionStatistics
from longrank.ranking.explain import ShownPassage, best_passages
from longrank.ranking.passages import PassageDocumentScorer, Prepared, open_aggregator, open_document_scorer
from longrank.ranking.settings import PipelineSettings, load_pipeline
from longrank.scoring.lexical import TextStatistics
from longrank.storage import digest_of
from longrank.text.analysis import ANALYZERS
from longrank.text.windows import OffsetTokenizer, Units, whitespace_words, wordpieces
from longrank.text.words import readable
from longrank.types import Document, Evidence, Notes, Query

MEANS = frozenset({"firstp", "maxp", "avgp", "kmaxp", "max", "wmean", "document"})
"""Aggregators whose scores stay in the range of the passages' scores."""

_ANALYZER = ANALYZERS["porter"]
_CHARACTERS_PER_TOKEN = 100  # more than most have; text beyond is not tokenised where that suffices


@dataclass(frozen=True, slots=True)
class RankedText:
    """A document's place and why.

    Attributes:
        index: its place in the list that was given, from 0.
        score: the passages' score after aggregation, in the scorer's unit.
        relevance: the same as a number between 0 and 1 (`relevance_of`); the order is that of `score`.
        passages: its best passages, best first; offsets are of the text that was given.
        n_passages: how many passages the document has.
        n_scored: how many of them were scored.
        n_truncated: how many of those the scorer could not read to their end.
        cut: whether a limit that was asked for left the document's end, or passages, unread.
        evidence: of all that was scored.
    """

    index: int
    score: float
    relevance: float
    passages: tuple[ShownPassage, ...]
    n_passages: int
    n_scored: int
    n_truncated: int
    cut: bool
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class TextLimits:
    """What a user wants read at most: tokens of each document, passages of each, tokens of the query; None: all."""

    document_tokens: int | None = None
    passages: int | None = None
    query_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class PreparedTexts:
    """Documents up to the point where a model is asked: see `TextReranker.prepare`."""

    query: Query
    block: Prepared
    cut: tuple[bool, ...]
    query_cut: bool


class TextReranker:
    """A pipeline's passage scorer and aggregator, for documents that come with the query.

    Args:
        scorer: splits documents and scores their passages.
        aggregator: makes a document's score of them.
        aggregator_name: its name.
        statistics: of a collection, for scorers that read them; None: those of the documents of each call.
    """

    def __init__(
        self,
        scorer: PassageDocumentScorer,
        aggregator: Aggregator,
        aggregator_name: str,
        statistics: CollectionStatistics | None = None,
    ) -> None:
        self.scorer, self.aggregator, self.aggregator_name = scorer, aggregator, aggregator_name
        self._statistics = statistics
        self.tokenizer: OffsetTokenizer | None = getattr(scorer.scorer, "offset_tokenizer", None)

    @property
    def unit(self) -> str:
        """The unit of scores."""
        return self.scorer.unit

    def rank(
        self,
        query: str,
        documents: Sequence[str | Document],
        *,
        top_n: int | None = None,
        passages: int = 3,
        limits: TextLimits | None = None,
    ) -> list[RankedText]:
        """Rank documents for a query, best first; ties keep the order given.

        Args:
            query: the query.
            documents: texts, or documents with a title; their ids do not matter.
            top_n: how many to return; None: all.
            passages: how many passages to show of each.
            limits: what is read at most; None: everything.

        Raises:
            InputError: the query is empty, or there is no document.
            LongRankError: a score is not finite.
        """
        prepared = self.prepare(query, documents, limits or TextLimits())
        evidence = self.scorer.finish(prepared.block, self.scorer.scorer.score(prepared.block.tasks))
        return self.ranked(prepared, evidence, top_n=top_n, passages=passages)

    def prepare(self, query: str, documents: Sequence[str | Document], limits: TextLimits) -> PreparedTexts:
        """Split documents into passages and select those to score; no model of the pipeline's scorer is asked.

        Raises:
            InputError: the query is empty, or there is no document.
        """
        if not query.strip():
            raise InputError("the query is empty")
        if not documents:
            raise InputError("list of documents must not be empty")
        text, query_cut = self._shortened(readable(query), limits.query_tokens)
        asked = Query("q", text)
        candidates, cut = [], []
        for one in documents:
            title, whole = map(readable, (one.title, one.text) if isinstance(one, Document) else ("", one))
            read, shorter = self._shortened(whole, limits.document_tokens)
            candidates.append(Candidate(asked, Document(_id_of(title, read), title, read), 0.0))
            cut.append(shorter)
        statistics = self._statistics or TextStatistics([candidate.document for candidate in candidates])
        block, fewer = _at_most(self.scorer.prepare(candidates, statistics), limits.passages)
        both = tuple(a or b for a, b in zip(cut, fewer, strict=True))
        return PreparedTexts(asked, block, both, query_cut or self.scorer.cuts_query(text))

    def ranked(
        self,
        prepared: PreparedTexts,
        evidence: Sequence[Evidence],
        *,
        top_n: int | None = None,
        passages: int,
        aggregator: str | None = None,
    ) -> list[RankedText]:
        """Rank the documents by their evidence, best first; ties keep the order given.

        Args:
            prepared: the documents.
            evidence: of each of them, in order.
            top_n: how many to return; None: all.
            passages: how many passages to show of each.
            aggregator: the name of another than the pipeline's own.

        Raises:
            InputError: `aggregator` is unknown, or needs what the evidence lacks.
        """
        aggregate = self.aggregator if aggregator is None else self.other_aggregator(aggregator)
        bounded = (aggregator or self.aggregator_name) in MEANS
        scores = [float(aggregate(one)) for one in evidence]
        best = sorted(range(len(scores)), key=lambda n: -scores[n])[:top_n]
        terms = frozenset(_ANALYZER(prepared.query.text))
        return [
            RankedText(
                index=n,
                score=scores[n],
                relevance=relevance_of(scores[n], self.unit, bounded=bounded),
                passages=best_passages(prepared.block.candidates[n].document, evidence[n], terms, passages, _ANALYZER),
                n_passages=evidence[n].n_passages,
                n_scored=len(evidence[n].passage_index),
                n_truncated=evidence[n].n_truncated,
                cut=prepared.cut[n],
                evidence=evidence[n],
            )
            for n in best
        ]

    def n_tokens(self, text: str) -> int:
        """Return how many tokens the model makes of a text; words where there is no model."""
        return len(self._units(text))

    def _units(self, text: str) -> Units:
        return whitespace_words(text) if self.tokenizer is None else wordpieces(text, self.tokenizer)

    def other_aggregator(self, name: str) -> Aggregator:
        """Return an aggregator that replaces the pipeline's own, without options.

        Raises:
            InputError: it is unknown, has no meaning for this scorer, or needs options.
        """
        if name == "document" and self.aggregator_name != "document":
            raise InputError("this pipeline scores passages, not documents", got=name)
        return make_aggregator(name)

    def _shortened(self, text: str, n_tokens: int | None) -> tuple[str, bool]:
        """Return the beginning of a text that has so many tokens, and whether that is not all of it."""
        if n_tokens is None:
            return text, False
        length = _CHARACTERS_PER_TOKEN * (n_tokens + 1)
        while len(units := self._units(text[:length])) <= n_tokens and length < len(text):
            length *= 2
        return (text, False) if len(units) <= n_tokens else (text[: units.span(0, n_tokens)[1]], True)


def open_text_reranker(
    pipeline: str | PipelineSettings,
    *,
    model: str | None = None,
    assignments: Sequence[str] = (),
    notes: Notes | None = None,
    index: Index | None = None,
) -> TextReranker:
    """Load what a pipeline scores passages with.

    Args:
        pipeline: the name of a shipped pipeline, a TOML file, or settings.
        model: a Hugging Face name, a folder or an alias; replaces the pipeline's own.
        assignments: ``section.key=value`` on top of a name or a file.
        notes: what was decided on the user's behalf.
        index: gives BM25 of a passage its statistics, where words that the index lacks weigh nothing. None: the
            documents of each call give them. Models need none.

    Raises:
        InputError: unknown names, settings out of range, a model that cannot be had, or a pipeline without a passage
            scorer.
        MissingExtra: the scorer's libraries are not installed.
    """
    notes = Notes() if notes is None else notes
    settings = load_pipeline(pipeline, assignments) if isinstance(pipeline, str) else pipeline
    aggregator = open_aggregator(settings)
    if settings.scorer is None:
        raise InputError("this pipeline has no passage scorer: there is nothing to rerank with", got=str(pipeline))
    scorer = open_document_scorer(index, settings, model, aggregator, notes)
    if not isinstance(scorer, PassageDocumentScorer):
        raise InputError("early stopping needs a first stage", got="stop", fix="leave it out")
    return TextReranker(scorer, aggregator, settings.aggregate.name, index)


def relevance_of(score: float, unit: str, *, bounded: bool = True) -> float:
    """Return a score as a number between 0 and 1 that keeps the order; it is no probability.

    Logits go through the sigmoid, log probabilities through exp, a cosine c becomes (1 + c) / 2, BM25 s >= 0
    becomes s / (1 + s). Where aggregation leaves the unit's range (a sum), x becomes (1 + x / (1 + |x|)) / 2.

    Args:
        score: the document's or a passage's.
        unit: the scorer's.
        bounded: whether it is in the unit's range.
    """
    if unit.startswith("logit"):
        return _sigmoid(score)
    if not bounded:
        return (1 + score / (1 + abs(score))) / 2
    to_relevance = _RELEVANCE.get(unit)
    return _sigmoid(score) if to_relevance is None else min(1.0, max(0.0, to_relevance(score)))


_RELEVANCE: dict[str, Callable[[float], float]] = {
    "prob": lambda score: score,
    "logprob": math.exp,
    "cosine": lambda score: (1 + score) / 2,
    "bm25": lambda score: score / (1 + score),
}


def _sigmoid(score: float) -> float:
    small = math.exp(-abs(score))
    return 1 / (1 + small) if score >= 0 else small / (1 + small)


def _at_most(block: Prepared, n: int | None) -> tuple[Prepared, list[bool]]:
    """Keep the first `n` of the passages to score of each document, and say of which documents that is not all."""
    fewer = [n is not None and len(task.passages) > n for task in block.tasks]
    if not any(fewer):
        return block, fewer
    tasks = [task._replace(passages=task.passages[:n], texts=task.texts[:n]) for task in block.tasks]
    selected = [one._replace(positions=one.positions[:n], weights=one.weights[:n]) for one in block.selected]
    return block._replace(tasks=tasks, selected=selected), fewer


def _id_of(title: str, text: str) -> str:
    """Return a document's id, by which passages of a long one are drawn: where it stands among others changes nothing.

    An id with a blank is no document of an index, whose stored vectors are found by it.
    """
    return f"text {digest_of([title, text])}"
