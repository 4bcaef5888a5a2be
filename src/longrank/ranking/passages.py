"""Segmenter + selector + passage scorer = one DocumentScorer."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.aggregation import find_aggregation, make_aggregator
from longrank.aggregation.mixing import Mix, remixed
from longrank.config import toml_value
from longrank.errors import InputError, LongRankError, shown
from longrank.formats.evidence import LINEAGE
from longrank.index import Index
from longrank.models.description import lineage_of, run_of
from longrank.networks.model_files import Model
from longrank.protocols import (
    Aggregator,
    Candidate,
    CollectionStatistics,
    DocumentScorer,
    PassageScorer,
    PassageScores,
    ScoringTask,
    Segmenter,
    Selected,
    Selector,
)
from longrank.ranking.build import attach_vectors
from longrank.ranking.cascade import CheapScorers, open_selector
from longrank.ranking.known_passages import KnownPassages
from longrank.ranking.settings import DEFAULT_MODEL, PipelineSettings
from longrank.ranking.settings import Scorer as ScorerSettings
from longrank.ranking.stopping import open_stopping
from longrank.registries import keyword_options
from longrank.scoring import make_scorer, scorer_class
from longrank.scoring.document_network import DocumentNetworkScorer
from longrank.scoring.mixed import MixedScorer
from longrank.scoring.score_cache import ScoreCache
from longrank.text.segment import make_segmenter
from longrank.text.select import make_selector
from longrank.types import Document, Evidence, Notes, Segmentation


class Prepared(NamedTuple):
    """A block of candidates, segmented and selected, ready for the scorer."""

    candidates: Sequence[Candidate]
    tasks: Sequence[ScoringTask]
    selected: Sequence[Selected]
    n_passages: Sequence[int]
    title_cut: Sequence[bool]


class PassageDocumentScorer:
    """Scores documents passage by passage: the DocumentScorer of MaxP, Birch, Santos and others.

    Args:
        segmenter: splits each document.
        selector: selects the passages to score.
        scorer: scores passages.
        title: true if the scorer reads the document's title before each passage.
        notes: remarks of the scorer.
    """

    def __init__(
        self,
        segmenter: Segmenter,
        selector: Selector,
        scorer: PassageScorer,
        *,
        title: bool,
        notes: Notes | None = None,
    ) -> None:
        self.segmenter, self.selector, self.scorer, self.title = segmenter, selector, scorer, title
        self.notes = Notes() if notes is None else notes
        self.mix: Mix | None = scorer.mix if isinstance(scorer, MixedScorer) else None

    @property
    def unit(self) -> str:
        """Unit of the passage scores."""
        return self.scorer.unit

    @property
    def fingerprint(self) -> str:
        """Scorer, segmenter and selector with all their options."""
        title = "title + " if self.title else ""
        return f"{self.scorer.fingerprint} | {title}{self.segmenter.fingerprint} | {self.selector.fingerprint}"

    def evidence(self, block: Sequence[Candidate], *, weights: bool = True) -> list[Evidence]:
        """Score the selected passages of a block of candidates at once; one Evidence each, in order.

        With `weights` false, query terms are not counted if nothing else needs them; the weights are then ones.
        """
        prepared = self.prepare(block, weights=weights)
        return self.finish(prepared, self.scorer.score(prepared.tasks))

    def cuts_query(self, query: str) -> bool:
        """Tell whether the scorer truncates the query; BM25 never does."""
        cuts = getattr(self.scorer, "cuts_query", None)
        return cuts is not None and bool(cuts(query))

    def prepare(
        self, block: Sequence[Candidate], statistics: CollectionStatistics | None = None, *, weights: bool = True
    ) -> Prepared:
        """Split the documents and select the passages to score; `finish` takes the scores of its tasks.

        Args:
            block: the candidates.
            statistics: statistics of the collection, if it is not the scorer's index.
            weights: as of `evidence`.
        """
        segmented: dict[str, Segmentation] = {}
        for _, document, _ in block:
            if document.doc_id not in segmented:
                segmented[document.doc_id] = self.segmenter.segment(document)
        tasks = [self._task(candidate, segmented[candidate.document.doc_id], statistics) for candidate in block]
        selected = self.selector.select(tasks, weights=weights)
        narrowed = [_narrowed(task, chosen.positions) for task, chosen in zip(tasks, selected, strict=True)]
        segmentations = [segmented[task.doc_id] for task in tasks]
        n_passages = [segmentation.n_passages for segmentation in segmentations]
        return Prepared(block, narrowed, selected, n_passages, [one.title is not None for one in segmentations])

    def finish(self, prepared: Prepared, scored: Sequence[PassageScores]) -> list[Evidence]:
        """Return one Evidence per candidate, in order, from the scores of each task.

        The scores of several scorers are mixed over all candidates of a query, so a query's tasks come together.

        Raises:
            LongRankError: a score is not finite; names query, document and passage.
        """
        evidence = [
            _evidence(candidate, task, scores, selected.weights, n_passages, title_cut)
            for candidate, task, selected, n_passages, title_cut, scores in zip(*prepared, scored, strict=True)
        ]
        return evidence if self.mix is None else list(remixed(evidence, self.mix))

    def _task(
        self, candidate: Candidate, segmentation: Segmentation, statistics: CollectionStatistics | None
    ) -> ScoringTask:
        texts = texts_read(candidate.document, segmentation, title=self.title)
        return ScoringTask(candidate.query, candidate.document.doc_id, segmentation.passages, texts, statistics)


def texts_read(document: Document, segmentation: Segmentation, *, title: bool) -> tuple[str, ...]:
    """Return the text that the scorer reads of each passage: with `title`, after the document's title."""
    before = document.title if segmentation.title is None else segmentation.title
    passages = (passage.text for passage in segmentation.passages)
    return tuple(f"{before} {text}".strip() for text in passages) if title and before else tuple(passages)


def _narrowed(task: ScoringTask, positions: NDArray[np.intp]) -> ScoringTask:
    places = positions.tolist()
    return task._replace(passages=tuple(task.passages[n] for n in places), texts=tuple(task.texts[n] for n in places))


def _evidence(  # noqa: PLR0917
    candidate: Candidate,
    task: ScoringTask,
    scores: PassageScores,
    weight: np.ndarray,
    n_passages: int,
    title_cut: bool,
) -> Evidence:
    if not np.isfinite(scores.scores).all():
        bad = task.passages[int(np.flatnonzero(~np.isfinite(scores.scores))[0])]
        raise LongRankError(
            f"score of passage {bad.index} of document {task.doc_id!r} for query {task.query.query_id!r} is not finite"
        )
    return Evidence(
        query_id=task.query.query_id,
        doc_id=task.doc_id,
        first_stage=candidate.first_stage,
        passage_index=np.array([p.index for p in task.passages], dtype=np.int32),
        passage_start=np.array([p.start for p in task.passages], dtype=np.int32),
        passage_end=np.array([p.end for p in task.passages], dtype=np.int32),
        passage_score=scores.scores,
        passage_weight=weight if scores.contributions is None else scores.contributions,
        n_passages=n_passages,
        n_truncated=len(task.passages) if title_cut else int(scores.truncated.sum()),
        document_score=scores.document,
        passage_parts=scores.parts,
    )


def open_aggregator(settings: PipelineSettings) -> Aggregator:
    """Return the aggregator of a pipeline.

    Raises:
        InputError: an unknown aggregator, a wrong option, or ``document`` with a scorer of passages only.
    """
    name, scorer = settings.aggregate.name, settings.scorer
    aggregator = make_aggregator(name, **settings.aggregate.options)
    needs_document_score = find_aggregation(name).needs_document_score
    if needs_document_score and scorer is not None and not scorer_class(scorer.name).scores_documents:
        raise InputError(f"the {scorer.name} scorer scores passages, not documents", got=f"aggregate.name={name}")
    return aggregator


def open_document_scorer(
    index: Index | None,
    settings: PipelineSettings,
    model: str | None,
    aggregator: Aggregator,
    notes: Notes,
    *,
    score_cache: Path | None = None,
) -> DocumentScorer:
    """Build the document scorer of a pipeline.

    Args:
        index: index of the documents; None: documents come with the query.
        settings: settings of a pipeline with a scorer.
        model: replaces the pipeline's own model.
        aggregator: aggregator of the pipeline.
        notes: records decisions made for you.
        score_cache: file of scores shared with other runs (`longrank.scoring.score_cache`).

    Raises:
        InputError: an unknown name, a missing model, or a cache for a scorer that takes none.
        IntegrityError: the score cache is damaged.
    """
    assert settings.scorer is not None
    name, model, options = _choose_scorer(settings.scorer, model, notes)
    mix = None if settings.mix is None else settings.mix.of(name)
    scorer = make_scorer(name, index=index, model=model, options=options, notes=notes)
    _about_reading(scorer, settings, notes)
    tokenizer = getattr(scorer, "offset_tokenizer", None)  # for passages counted in a model's wordpieces
    passages = settings.passages
    segmenter = KnownPassages(make_segmenter(passages.preset, passages.options, tokenizer, title=settings.title))
    selects = settings.select.name != "all"
    if index is not None:
        attach_vectors(scorer, index, segmenter, title=settings.title, selects=selects, notes=notes)
    if score_cache is not None and isinstance(scorer, DocumentNetworkScorer):
        scorer.use_cache(score_cache)
    elif score_cache is not None:
        scorer = ScoreCache(scorer, score_cache, notes)
    if mix is not None:
        others = CheapScorers(index, segmenter, title=settings.title, notes=notes, selects=selects)
        scorer = MixedScorer(mix, [scorer, *(others.open(other, None) for other in list(mix.weights)[1:])])
    cheap = CheapScorers(index, segmenter, title=settings.title, notes=notes)
    selector = open_selector(settings.select, cheap)
    selecting = PassageDocumentScorer(segmenter, selector, scorer, title=settings.title, notes=notes)
    if settings.stop is None:
        return selecting
    scoring_all = PassageDocumentScorer(
        segmenter, make_selector("all"), cheap.open(settings.stop.scorer, settings.stop.model), title=settings.title
    )
    return open_stopping(scoring_all, selecting, aggregator, settings, notes)


_SETTING_OF = {
    "passages": "passages.preset",
    "options": "passages.options",
    "title": "title",
    "max_tokens": "scorer.options.max_tokens",
    "max_query_tokens": "scorer.options.max_query_tokens",
}  # key of a training's section `read` -> key of a pipeline


def lineage_header(scorer: DocumentScorer) -> dict[str, object]:
    """Return what an evidence header holds of the trainings of a scorer's weights; empty if there are none."""
    lineage = lineage_of(*(model.path for model in _models(scorer)))
    return {LINEAGE: lineage} if lineage else {}


def _models(scorer: Any) -> Iterator[Model]:
    """Yield the models of a scorer and of the scorers that it consists of. Models of selectors have no lineage."""
    if getattr(scorer, "model", None) is not None:
        yield scorer.model
    parts = (scorer.scorer,) if isinstance(scorer, PassageDocumentScorer) else getattr(scorer, "scorers", ())
    for part in parts:
        yield from _models(part)


def _about_reading(scorer: Any, settings: PipelineSettings, notes: Notes) -> None:
    """Note where a pipeline reads documents otherwise than the training of its network, which may cost quality."""
    if getattr(scorer, "model", None) is None:
        return
    training = run_of(scorer.model.path).get("training")
    then = training.get("read", {}) if isinstance(training, dict) else {}
    now = {
        "passages": settings.passages.preset,
        "options": dict(settings.passages.options),
        "title": settings.title,
        "max_tokens": getattr(scorer, "max_tokens", None),
        "max_query_tokens": scorer.packer.max_query_tokens if hasattr(scorer, "packer") else None,
    }
    for key, value in now.items():
        if value is not None and then.get(key) not in (None, value):
            notes.say(
                f"'{scorer.model.name}' was trained with {key} {shown(then[key])} but reads with {shown(value)}: "
                f"add --set {shlex.quote(f'{_SETTING_OF[key]}={toml_value(then[key])}')} to read as in training"
            )


def _choose_scorer(
    scorer: ScorerSettings, model: str | None, notes: Notes
) -> tuple[str, str | None, Mapping[str, object]]:
    """Return name, model and options of the pipeline's scorer, or of its substitute if there is no model."""
    if not scorer_class(scorer.name).needs_model:
        if model is not None:
            raise InputError(f"the {scorer.name} scorer takes no model", got=model)
        return scorer.name, None, scorer.options
    model = model or scorer.model
    if model is not None:
        return scorer.name, model, scorer.options
    if scorer.without_model is None:
        raise InputError(f"this pipeline's {scorer.name} needs a model", fix="name it with `model`")
    notes.say(f"no model given: the {scorer.without_model} {DEFAULT_MODEL} scores the passages, not a {scorer.name}")
    own, stand_in = (keyword_options(scorer_class(name)) for name in (scorer.name, scorer.without_model))
    options = {name: value for name, value in scorer.options.items() if name in stand_in or name not in own}
    return scorer.without_model, DEFAULT_MODEL, options
