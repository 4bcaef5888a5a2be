"""Rerank texts that are in no index: the documents come with the query.

    reranker = Reranker("maxp", model="./my-cross-encoder")
    for text in reranker.rank("how are hurricanes named", texts, k=3):
        print(text.index, text.score, text.passages[0].text)

Documents are read passage by passage, whole. The pipeline's first stage and interpolation are not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from longrank.aggregation import find_aggregation, make_aggregator
from longrank.aggregation.unread import unread_notes
from longrank.config import Assignments
from longrank.errors import InputError
from longrank.index import Index
from longrank.networks.model_files import absolute_model
from longrank.protocols import Aggregator
from longrank.ranking.explain import best_passages
from longrank.ranking.found import Partial, RankedText, highlighted
from longrank.ranking.highlights import Sentences, sentences_of
from longrank.ranking.opening import fingerprints_of, open_aggregator, open_document_scorer
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.pipeline import Pipeline
from longrank.ranking.prepared_texts import (
    PreparedTexts,
    TextLimits,
    listed_texts,
    prepared_texts,
    tokenizer_of,
    units_of,
)
from longrank.ranking.relevance import relevance_of
from longrank.ranking.results import Results
from longrank.ranking.settings import Aggregate, PipelineSettings, load_pipeline, with_absolute_paths
from longrank.ranking.timed import Deadline, highlights_by, note_unread
from longrank.ranking.timed_texts import in_list, read_texts_by
from longrank.registries import check_at_least
from longrank.scoring.lexical import note_words, reads_words
from longrank.scoring.mixed import MixedScorer
from longrank.text.analysis import DECOMPOSED, Analyzer, differs_composed
from longrank.types import Evidence, Float32s, Notes


class Reranker:
    """Reranks texts that come with the query, by a pipeline's passage scorer and aggregator.

    Args:
        pipeline: a pipeline's name (`longrank pipelines` lists them), a TOML file, settings, or an open pipeline,
            whose models are shared.
        model: a Hugging Face name, a folder or an alias; replaces the pipeline's own.
        index: an index or its folder. It gives BM25 of a passage its statistics, and words that it lacks weigh
            nothing. None: the documents of each call give the statistics, and are analysed as those of an open
            pipeline's index, else as English. Models need none.
        assignments: ``{"passages.preset": "dai"}`` or ``["passages.preset=dai"]``: settings of the pipeline.
        notes: collects the remarks of loading and of all queries; None: only ``reranker.notes`` has them. The `notes`
            of a result are those of its query.

    Raises:
        InputError: an unknown name or setting, a model that cannot be loaded, or a pipeline without a passage scorer.
        MissingExtra: the scorer's libraries are not installed.
        IntegrityError: the model's files are damaged.

    Example:
        >>> reranker = longrank.Reranker("minilm")
        >>> reranker.rank("how are hurricanes named", ["An apple a day.", "Hurricanes get names."], k=1)[0].index
        1
    """

    def __init__(
        self,
        pipeline: str | Path | PipelineSettings | Pipeline = "minilm",
        *,
        model: str | None = None,
        index: Index | Path | str | None = None,
        assignments: Assignments = (),
        notes: Notes | None = None,
    ) -> None:
        self.notes = Notes() if notes is None else notes
        self._keeping = Lock()
        self._statistics = None if index is None else Index.open(index)
        if isinstance(pipeline, Pipeline):
            if model is not None or index is not None or assignments:
                raise InputError("an open pipeline takes no other model, index or settings")
            settings, scorer, self.aggregator = pipeline.settings, pipeline.scorer, pipeline.aggregator
            self._analyzer: Analyzer | None = pipeline.index.analyzer
            self._made_from: PipelineSettings | Pipeline = pipeline
        else:
            settings, scorer = with_absolute_paths(load_pipeline(pipeline, assignments, model=model)), None
            self._made_from, self._model, self._analyzer = settings, absolute_model(model), None
            self.aggregator = open_aggregator(settings)
            if settings.scorer is not None:
                scorer = open_document_scorer(self._statistics, settings, model, self.aggregator, self.notes)
        if scorer is None:
            got = None if isinstance(pipeline, PipelineSettings) else str(pipeline)
            raise InputError("this pipeline has no passage scorer, so it cannot rerank", got=got)
        if not isinstance(scorer, PassageDocumentScorer):
            raise InputError("early stopping needs a first stage", got="stop", fix="remove [stop]")
        self.scorer, self.aggregator_name = scorer, settings.aggregate.name
        self.tokenizer = tokenizer_of(scorer)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the settings: a copy, also in another process, loads the models itself and has notes of its own."""
        if isinstance(self._made_from, Pipeline):
            return Reranker, (self._made_from,)
        options: dict[str, Any] = {"model": self._model, "index": self._statistics}
        return partial(_copied, fingerprints_of(self.scorer), **options), (self._made_from,)

    def __repr__(self) -> str:
        return f"Reranker(unit={self.unit!r}, aggregator={self.aggregator_name!r})"

    @property
    def unit(self) -> str:
        """Unit of the scores."""
        return self.scorer.unit

    def rank(
        self,
        query: str,
        documents: Iterable[Any],
        k: int | None = None,
        *,
        passages: int = 3,
        limits: TextLimits | None = None,
        deadline: float | Deadline | None = None,
    ) -> Results[RankedText]:
        """Rank documents for a query, best first; ties keep the order of the list.

        Args:
            query: the query.
            documents: texts, `Document`s, mappings such as ``{"title": ..., "text": ...}``, (id, text) pairs, or a
                pandas Series, whose labels are ids where all can be ids; scores do not depend on ids.
            k: number of documents to return; None: all.
            passages: passages shown per document.
            limits: limits of reading; None: no limits.
            deadline: seconds after which what is read by then is ranked, the most promising passages first; the result
                counts the rest (`Results.partial`). Documents of which nothing is read come last, in the order of the
                list: their relevance is 0, and each score lies right below the score before it. None: all is read.

        Raises:
            InputError: the query is empty, there is no document, `k` is below 1, `passages` below 0, or `deadline` is
                not above 0.
            LongRankError: a score is not finite.
        """
        if k is not None:
            check_at_least("k", k, 1)
        check_at_least("passages", passages, 0)
        by = deadline if deadline is None or isinstance(deadline, Deadline) else Deadline(deadline)
        prepared = self.prepare(query, documents, limits or TextLimits())
        notes = self._noted(prepared)
        if by is not None:
            timed, partial = self._rank_by(prepared, by, k=k, passages=passages, notes=notes)
            return Results(query, _with_ids(timed, prepared.ids), notes, partial)
        evidence = self.scorer.finish(prepared.block, self.scorer.scorer.score(prepared.block.tasks))
        unread = unread_notes(evidence, range(len(evidence)))
        notes.merge(unread)
        self._keep(unread)
        results = self.ranked(prepared, evidence, k=k, passages=passages)
        best = self.sentences(prepared, results).find()
        return Results(query, _with_ids(highlighted(results, best), prepared.ids), notes)

    def _rank_by(
        self, prepared: PreparedTexts, deadline: Deadline, *, k: int | None, passages: int, notes: Notes
    ) -> tuple[list[RankedText], Partial | None]:
        """Rank documents by what is read of them until a deadline, and count what is not."""
        read = read_texts_by(self.scorer, prepared, deadline)
        results = self.ranked(read.texts, read.evidence, k=k, passages=passages)
        unread = unread_notes(read.evidence, read.documents, partial=read.counts is not None)
        results = highlights_by(results, self.sentences(prepared, results), deadline, read.rate, unread)
        note_unread(unread, read.counts)
        notes.merge(unread)
        self._keep(unread)
        return in_list(results, prepared, read, k), read.counts

    def predict(self, pairs: Iterable[tuple[str, Any]]) -> Any:
        """Score (query, document) pairs, as `predict` of sentence-transformers' CrossEncoder does.

        Args:
            pairs: the pairs; or a single pair. Pairs of the same query share statistics where the scorer needs any.

        Returns:
            The document scores in the order of the pairs, float32[N], in the scorer's unit; of a single pair a number.

        Raises:
            InputError: an item is not a pair, or a query is empty.
            LongRankError: a score is not finite.
        """
        items = listed_texts(pairs, "pairs of query and text")
        single = len(items) == 2 and isinstance(items[0], str)
        items = [items] if single else items
        places: dict[str, list[int]] = {}
        for n, pair in enumerate(items):
            if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], str):
                raise InputError("predict takes (query, text) pairs", got=pair)
            places.setdefault(pair[0], []).append(n)
        prepared = [self.prepare(query, [items[n][1] for n in ns], TextLimits()) for query, ns in places.items()]
        for texts in prepared:
            self._noted(texts)
        scored = iter(self.scorer.scorer.score([task for texts in prepared for task in texts.block.tasks]))
        scores: Float32s = np.empty(len(items), np.float32)
        for ns, texts in zip(places.values(), prepared, strict=True):
            evidence = self.scorer.finish(texts.block, list(islice(scored, len(ns))))
            self._keep(unread_notes(evidence, ns))
            scores[ns] = [self.aggregator(document) for document in evidence]
        return scores[0] if single else scores

    def _noted(self, prepared: PreparedTexts) -> Notes:
        """Return notes of one query: whether the scorer or the limits cut it, and how many documents the limits cut."""
        notes = Notes()
        notes.add(f"queries cut at {prepared.query_cut}", count=bool(prepared.query_cut))
        notes.add("documents cut at the limits of reading", count=sum(prepared.cut))
        if self.unit == MixedScorer.unit:
            notes.say("mixed scores compare the passages of a single call: they are no measure of a text alone")
        notes.merge(prepared.remarks)
        self.note_letters(prepared, notes)
        self._keep(notes)
        return notes

    def note_letters(self, texts: PreparedTexts, notes: Notes) -> None:
        """Count the query (`note_words`) and decomposed letters that a scorer of words reads otherwise."""
        if not reads_words(self.scorer):
            return
        documents = [candidate.document for candidate in texts.block.candidates]
        statistics = texts.block.tasks[0].statistics
        assert statistics is not None
        note_words(self.scorer, replace(texts.query, query_id=""), statistics, notes)
        if isinstance(statistics, Index) and statistics.options.analyzer_field:
            notes.say(f"texts without an index are read by the analyzer '{statistics.analyzer.name}', in any language")
        for document in documents:
            terms = statistics.document_analyzer(document.doc_id)
            notes.add(f"documents {DECOMPOSED}", count=differs_composed(f"{document.title}\n{document.text}", terms))

    def _keep(self, notes: Notes) -> None:
        """Add the notes of one query to those of all; several threads may rank."""
        with self._keeping:
            self.notes.merge(notes)

    def prepare(
        self,
        query: str,
        documents: Iterable[Any],
        limits: TextLimits,
        scorer: PassageDocumentScorer | None = None,
    ) -> PreparedTexts:
        """Split documents into passages, and select the passages to score. The pipeline's scorer is not called.

        Args:
            query: the query.
            documents: the documents.
            limits: limits of the text that is read.
            scorer: the pipeline's scorer with another selector; None: with its own.

        Raises:
            InputError: the query is empty, or there is no document.
        """
        statistics, analyzer = self._statistics, self._analyzer
        return prepared_texts(scorer or self.scorer, query, documents, limits, statistics, analyzer=analyzer)

    def ranked(
        self,
        prepared: PreparedTexts,
        evidence: Sequence[Evidence],
        *,
        k: int | None = None,
        passages: int,
        aggregator: Aggregate | None = None,
    ) -> list[RankedText]:
        """Rank the documents by their evidence, best first, without highlights; ties keep the order of the list.

        Args:
            prepared: the documents.
            evidence: evidence of each document, in order.
            k: number of documents to return; None: all.
            passages: passages shown per document.
            aggregator: replaces the pipeline's own.

        Raises:
            InputError: `aggregator` lacks an option, or needs a document network.
        """
        aggregate = self.aggregator if aggregator is None else self.other_aggregator(aggregator)
        bounded = find_aggregation(self.aggregator_name if aggregator is None else aggregator.name).bounded
        scores = [float(aggregate(document)) for document in evidence]
        best = sorted(range(len(scores)), key=lambda n: -scores[n])[:k]
        if not best:
            return []
        shown = [prepared.block.candidates[n].document for n in best]
        statistics = prepared.block.tasks[0].statistics
        assert statistics is not None
        terms = frozenset(statistics.query_terms(prepared.query))
        analyzers: list[Any] = [statistics.document_analyzer(document.doc_id) for document in shown]
        return [
            RankedText(
                index=n,
                title=document.title,
                score=scores[n],
                relevance=relevance_of(scores[n], self.unit, bounded=bounded),
                passages=best_passages(document, evidence[n], terms, passages, analyzer),
                n_passages=evidence[n].n_passages,
                n_scored=len(evidence[n].passage_index),
                n_truncated=evidence[n].n_truncated,
                cut=prepared.cut[n],
                evidence=evidence[n],
            )
            for n, document, analyzer in zip(best, shown, analyzers, strict=True)
        ]

    def sentences(self, prepared: PreparedTexts, results: Sequence[RankedText]) -> Sentences:
        """Split the shown passages of results into sentences; `highlighted` takes the best ones."""
        statistics = prepared.block.tasks[0].statistics
        assert statistics is not None
        return sentences_of(self.scorer, prepared.query, results, statistics)

    def n_tokens(self, text: str) -> int:
        """Return the number of tokens of a text; words if there is no model."""
        return len(units_of(text, self.tokenizer))

    def other_aggregator(self, settings: Aggregate) -> Aggregator:
        """Return an aggregator that replaces the pipeline's own.

        Raises:
            InputError: it lacks an option, or needs a document network.
        """
        if find_aggregation(settings.name).needs_document_score and not self.scorer.scorer.scores_documents:
            raise InputError("this pipeline scores passages, not documents", got=settings.name)
        return make_aggregator(settings.name, **settings.options)


def _with_ids(results: Iterable[RankedText], ids: Sequence[str]) -> list[RankedText]:
    return [replace(result, doc_id=ids[result.index]) for result in results]


def _copied(fingerprints: Sequence[str], settings: PipelineSettings, **options: Any) -> Reranker:
    """Return a copy of a reranker, whose models have these fingerprints.

    Raises:
        InputError: a model was replaced, or a relative path leads to another model; or as `Reranker`.
    """
    copied = Reranker(settings, **options)
    if (now := fingerprints_of(copied.scorer)) != fingerprints:
        what = "the models are not those of the reranker that was copied"
        raise InputError(what, got=", ".join(now), fix="make a new Reranker")
    return copied
