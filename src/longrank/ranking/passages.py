"""Segmenter + selector + passage scorer = one DocumentScorer."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.aggregation.mixing import Mix, remixed
from longrank.errors import LongRankError
from longrank.protocols import (
    Candidate,
    CollectionStatistics,
    PassageScorer,
    PassageScores,
    ScoringTask,
    Segmenter,
    Selected,
    Selector,
)
from longrank.scoring.mixed import MixedScorer
from longrank.types import Document, Evidence, Notes, Segmentation


class Prepared(NamedTuple):
    """A block of candidates, segmented and selected, ready for the scorer."""

    candidates: Sequence[Candidate]
    tasks: Sequence[ScoringTask]
    selected: Sequence[Selected]
    n_passages: Sequence[int]
    title_cut: Sequence[bool]


FEW_BLANKS = (
    "candidates with long passages, since few blanks separate their words; passages.preset=sentences needs none"
)
_LONG, _FEW = 1000, 20  # letters, and words in their beginning
_COUNTING_WORDS = ("windows(unit=word,", "even(unit=word,", "sections(")  # by blanks
UNREAD_TITLE = "candidates with a title and no text, scored as an empty text; the setting title=true reads titles"


TITLE_TWICE = "some texts begin with their title, which is read twice there; the setting title=false reads it once"


def repeats_title(document: Document) -> bool:
    """Tell whether a text begins with the title of its document, as in an index that was built with title_in_text."""
    return bool(document.title) and f"{document.text}\n".startswith(f"{document.title}\n")


class PassageDocumentScorer:
    """Scores documents passage by passage: the DocumentScorer of MaxP, Birch, Santos and others.

    Args:
        segmenter: splits each document.
        selector: selects the passages to score.
        scorer: scores passages.
        title: true if the scorer reads the document's title before each passage.
        notes: remarks on the blocks that are prepared.
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

    def by(self, selector: Selector) -> PassageDocumentScorer:
        """Return this scorer with another selector."""
        other = copy(self)
        other.selector = selector
        return other

    def noting(self, notes: Notes) -> PassageDocumentScorer:
        """Return this scorer with other notes."""
        other = copy(self)
        other.notes = notes
        return other

    def evidence(self, block: Sequence[Candidate], *, weights: bool = True) -> list[Evidence]:
        """Score the selected passages of a block of candidates at once; one Evidence each, in order.

        With `weights` false, query terms are not counted if nothing else needs them; the weights are then ones.
        """
        prepared = self.prepare(block, weights=weights)
        return self.finish(prepared, self.scorer.score(prepared.tasks))

    def cuts_query(self, query: str) -> bool:
        """Tell whether the scorer, or a scorer that selects passages, truncates the query; BM25 never does."""
        scorers = (self.scorer, *getattr(self.selector, "scorers", ()))
        return any(scorer.cuts_query(query) for scorer in scorers if hasattr(scorer, "cuts_query"))

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
        if self.segmenter.fingerprint.startswith(_COUNTING_WORDS):
            long = {doc_id for doc_id, segmentation in segmented.items() if _has_few_blanks(segmentation)}
            counted = [document.doc_id for _, document, _ in block if document.doc_id in long]
            self.notes.add(FEW_BLANKS, next(iter(counted), ""), len(counted))
        if not self.title:
            blank = [document.doc_id for _, document, _ in block if document.title and not document.text.strip()]
            self.notes.add(UNREAD_TITLE, next(iter(blank), ""), len(blank))
        elif any(repeats_title(document) for _, document, _ in block):
            self.notes.say(TITLE_TWICE)
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


def _has_few_blanks(segmentation: Segmentation) -> bool:
    """Tell whether a passage has few words for its letters: a window of 150 words may be a whole Chinese document."""
    beginnings = (one.text[:_LONG] for one in segmentation.passages if len(one.text) > _LONG)
    return any(len(beginning.split()) < _FEW for beginning in beginnings)


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
