"""Read the most promising passages first, and rank what is read when the time is up.

BM25 of the passages gives the order, as in a cascade whose budget is not known beforehand. A network that scores
documents reads them whole, those with the best passage first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.protocols import CollectionStatistics, PassageScores, ScoringTask
from longrank.ranking.found import Partial
from longrank.ranking.passages import PassageDocumentScorer, Prepared
from longrank.scoring.lexical import LexicalScorer


class Piece(NamedTuple):
    """Passages of a document that are scored together: the document's place in its block, theirs in its task."""

    document: int
    passages: tuple[int, ...]


class Part(NamedTuple):
    """The scored part of a block: places of its documents, these with their scored passages, and the scores."""

    documents: list[int]
    block: Prepared
    scores: list[PassageScores]


def promising(
    scorer: PassageDocumentScorer, tasks: Sequence[ScoringTask], statistics: CollectionStatistics | None = None
) -> list[Piece]:
    """Return all passages of a query's tasks, most promising first; ties keep the order of the tasks.

    Args:
        scorer: reads the tasks; documents stay whole if it scores documents.
        tasks: the tasks.
        statistics: statistics of the collection for BM25, for tasks without any.
    """
    tasks = [task if task.statistics is not None else task._replace(statistics=statistics) for task in tasks]
    scores = [task.scores for task in LexicalScorer(None).score(tasks)] if tasks else []
    if scorer.scorer.scores_documents:
        best = sorted(range(len(tasks)), key=lambda n: -float(scores[n].max()))
        return [Piece(n, tuple(range(len(tasks[n].passages)))) for n in best]
    places = [(n, m) for n, task in enumerate(tasks) for m in range(len(task.passages))]
    return [Piece(n, (m,)) for n, m in sorted(places, key=lambda place: -float(scores[place[0]][place[1]]))]


def task_of(piece: Piece, tasks: Sequence[ScoringTask]) -> ScoringTask:
    """Return the task of a piece alone."""
    task = tasks[piece.document]
    return task._replace(
        passages=tuple(task.passages[m] for m in piece.passages), texts=tuple(task.texts[m] for m in piece.passages)
    )


def part_of(block: Prepared, pieces: Sequence[Piece], scores: Mapping[int, PassageScores]) -> Part:
    """Return the scored part of a block, its passages in the order of the documents.

    Args:
        block: the block.
        pieces: all of its pieces.
        scores: scores of pieces, by their places in `pieces`.
    """
    by_document: dict[int, list[tuple[Piece, PassageScores]]] = {}
    for place in sorted(scores, key=lambda place: pieces[place]):
        by_document.setdefault(pieces[place].document, []).append((pieces[place], scores[place]))
    documents = list(by_document)
    read = [np.array([m for piece, _ in by_document[n] for m in piece.passages], np.intp) for n in documents]
    return Part(documents, _narrowed(block, documents, read), [_joined(by_document[n]) for n in documents])


def counts_of(block: Prepared, part: Part) -> Partial | None:
    """Return the counts of a part; None if it is the whole block."""
    wanted = [len(block.tasks[n].passages) for n in part.documents]
    whole = sum(len(task.passages) == n for task, n in zip(part.block.tasks, wanted, strict=True))
    n_documents = len(block.tasks)
    if whole == n_documents:
        return None
    return Partial(n_documents, whole, len(wanted) - whole, n_documents - len(wanted))


def _narrowed(block: Prepared, documents: Sequence[int], read: Sequence[NDArray[np.intp]]) -> Prepared:
    pairs = list(zip(documents, read, strict=True))
    return Prepared(
        candidates=[block.candidates[n] for n in documents],
        tasks=[task_of(Piece(n, tuple(places.tolist())), block.tasks) for n, places in pairs],
        selected=[
            block.selected[n]._replace(
                positions=block.selected[n].positions[places], weights=block.selected[n].weights[places]
            )
            for n, places in pairs
        ],
        n_passages=[block.n_passages[n] for n in documents],
        title_cut=[block.title_cut[n] for n in documents],
    )


def _joined(pieces: Sequence[tuple[Piece, PassageScores]]) -> PassageScores:
    """Join the scores of single passages; those of a whole document stay as they are."""
    found = [scores for _, scores in pieces]
    if len(found) == 1:
        return found[0]
    parts = found[0].parts
    return PassageScores(
        np.concatenate([one.scores for one in found]),
        np.concatenate([one.truncated for one in found]),
        parts=None
        if parts is None
        else {name: np.concatenate([(one.parts or {})[name] for one in found]) for name in parts},
    )
