"""Documents that have been reranked, from evidence files or from runs: what weights can be learned of.

Of a run, the score of each document is all that is known; it stands for a document of one passage.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from longrank.errors import InputError
from longrank.formats.evidence import check_complete, read_evidence
from longrank.formats.trec import read_run
from longrank.types import Evidence, Notes, Run


@dataclass(frozen=True, slots=True)
class Reranked:
    """A first stage, and what has been said of its documents.

    Attributes:
        first_stage: the run that was reranked.
        sources: evidence files and reranked runs, each of some of the queries.
        last: documents that come after all others: those that the index lacked.
        scorers: fingerprints of what has scored the evidence files; of runs, nothing is known.
    """

    first_stage: Run
    sources: tuple[Path | Run, ...]
    last: frozenset[str]
    scorers: frozenset[str] = frozenset()

    def evidence(self) -> Iterator[Evidence]:
        """Yield the evidence of every document, read anew.

        Raises:
            IntegrityError: a file is damaged or unfinished.
        """
        for source in self.sources:
            if isinstance(source, Run):
                yield from (_of_score(row.query_id, row.doc_id, row.score) for row in source.rows())
            else:
                yield from read_evidence(source)[1]


def open_reranked(first_stage: Path, sources: Sequence[Path], *, depth: int | None, notes: Notes) -> Reranked:
    """Read a first stage and what reranked it.

    Args:
        first_stage: a TREC run.
        sources: evidence files, or TREC runs.
        depth: how many documents of each query the runs have reranked, where others follow below them; None: all.
        notes: what was accepted with a remark: a depth for evidence, for one, which says itself what was reranked.

    Raises:
        InputError: a file that is neither, evidence of early stopping, or a depth below 1.
    """
    if depth is not None and depth < 1:
        raise InputError("the depth of reranking must be at least 1", got=depth)
    opened: list[Path | Run] = []
    scorers: set[str] = set()
    last: set[str] = set()
    for path in sources:
        if _is_evidence(path):
            notes.add("evidence files, for which a depth means nothing", str(path), int(depth is not None))
            header, _ = read_evidence(path)
            check_complete(header, path)
            last.update(header.get("missing", ()))
            scorers.add(header["scorer"])
            opened.append(path)
        else:
            run = read_run(path, notes)
            opened.append(Run(run.tag, (row for query_id in run for row in run[query_id][:depth])))
    return Reranked(read_run(first_stage, notes), tuple(opened), frozenset(last), frozenset(scorers))


def _is_evidence(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(1) == b"{"
    except OSError:
        return False  # and `read_run` says what is wrong


def _of_score(query_id: str, doc_id: str, score: float) -> Evidence:
    place = np.zeros(1, np.int32)
    return Evidence(
        query_id=query_id,
        doc_id=doc_id,
        first_stage=math.nan,
        passage_index=place,
        passage_start=place,
        passage_end=place,
        passage_score=np.array([score], np.float32),
        passage_weight=np.ones(1, np.float32),
        n_passages=1,
        n_truncated=0,
    )
