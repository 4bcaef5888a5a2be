"""Search within a time: the first stage whole, then what is read of its documents by then."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from longrank.errors import InputError
from longrank.protocols import Candidate
from longrank.ranking.explain import explained, search_for
from longrank.ranking.found import Partial, Result
from longrank.ranking.highlights import sentences_of
from longrank.ranking.one_query import RankedQuery, retrieved
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.pipeline import Pipeline
from longrank.ranking.timed import Deadline, highlights_by, note_unread, read_by
from longrank.types import Evidence, Notes, Query


class _Read(NamedTuple):
    """Evidence of the documents that were read, counts if some were not, and characters read per second."""

    evidence: list[Evidence]
    counts: Partial | None
    rate: float


def search_within(
    pipeline: Pipeline, query: Query, seconds: float | Deadline | None, *, k: int, passages: int, notes: Notes
) -> tuple[list[Result], Partial | None]:
    """Search for one query, within a time if there is one, with explained results.

    Documents of which nothing was read follow below those that were read, in first-stage order, if the pipeline keeps
    its tail; they have no passages. The first stage is not stopped, nor is evidence from stored vectors alone.

    Args:
        pipeline: see `open_pipeline`.
        query: the query, whose text has no unpaired surrogate.
        seconds: seconds from now, or a deadline that has begun; None: all is read.
        k: number of documents.
        passages: passages shown per document.
        notes: say what was left unread.

    Returns:
        At most `k` results, best first; and counts if not all was read.

    Raises:
        InputError: a time that is not above 0, or for early stopping, which reads documents in an order of its own.
    """
    if seconds is None:
        return search_for(pipeline, query, k=k, passages=passages), None
    if pipeline.settings.stop is not None:
        raise InputError("early stopping takes no deadline", got="stop", fix="remove [stop] or the deadline")
    deadline = seconds if isinstance(seconds, Deadline) else Deadline(seconds)
    first_stage, found, candidates = retrieved(pipeline, query, k)
    read = _read_by(pipeline, candidates, deadline) if found is None else _Read(found, None, math.inf)
    run = pipeline.run(read.evidence, first_stage, "search") if read.evidence else first_stage
    results = explained(pipeline, query, RankedQuery(run, first_stage, read.evidence), k=k, passages=passages)
    sentences = sentences_of(pipeline.scorer, query, results, pipeline.index)
    results = highlights_by(results, sentences, deadline, read.rate, notes)
    note_unread(notes, read.counts)
    return results, read.counts


def _read_by(pipeline: Pipeline, candidates: Sequence[Candidate], deadline: Deadline) -> _Read:
    scorer = pipeline.scorer
    assert isinstance(scorer, PassageDocumentScorer)
    block = scorer.prepare(candidates, weights=pipeline.reads_weights)
    part, counts, rate = read_by(scorer, block, deadline, pipeline.index)
    return _Read(scorer.finish(part.block, part.scores) if part.documents else [], counts, rate)
