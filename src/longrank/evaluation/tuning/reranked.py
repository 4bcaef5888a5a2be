"""Read reranked documents, to learn weights on: evidence, or runs.

A run has a single score per document; it counts as the score of a single passage.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from longrank.aggregation.mixing import method_in, parts_in
from longrank.collections import read_run
from longrank.errors import InputError
from longrank.evaluation.systems import place_of
from longrank.formats.evidence import check_complete, missing_in, open_evidence
from longrank.storage import changed, stamp_of
from longrank.types import NONE_MISSING, Evidence, Missing, Notes, Run, is_frame


@dataclass(frozen=True, slots=True)
class Reranked:
    """A first stage, and the evidence of its documents.

    Attributes:
        first_stage: the run that was reranked.
        sources: evidence files in the state that was opened, evidence in memory and reranked runs, each of some of the
            queries.
        missing: documents that the index lacked.
        scorers: fingerprints of the scorers of evidence files.
        parts: the mixed scorers of all sources, the main scorer first; empty if they differ or if there is no mix.
        mix_method: method of the mix of the first source.
    """

    first_stage: Run
    sources: tuple[_File | Run | tuple[Evidence, ...], ...]
    missing: Missing
    scorers: frozenset[str] = frozenset()
    parts: tuple[str, ...] = ()
    mix_method: str = "minmax"

    def evidence(self) -> Iterator[Evidence]:
        """Yield the evidence of every document; reads the files again.

        Raises:
            InputError: a file is another than before.
            IntegrityError: a file is damaged or unfinished.
        """
        for source in self.sources:
            if isinstance(source, Run):
                yield from (_of_score(row.query_id, row.doc_id, row.score) for row in source.rows())
            elif isinstance(source, _File):
                source.check()
                yield from open_evidence(source.path)[1]
                source.check()
            else:
                yield from source


class _File(NamedTuple):
    """An evidence file in a state; None: it is gone."""

    path: Path
    state: tuple[int, int, int] | None

    @classmethod
    def at(cls, path: Path) -> _File:
        return cls(path, stamp_of(path))

    def check(self) -> None:
        """Raise InputError if the file is in another state."""
        if stamp_of(self.path) != self.state:
            raise changed(self.path)


def open_reranked(
    first_stage: Any, sources: Any, *, depth: int | None, notes: Notes, mix_method: str | None = None
) -> Reranked:
    """Read a first stage and its evidence.

    Args:
        first_stage: a run, as `read_run` takes it.
        sources: an evidence file, `Evidence` values or a reranked run; or a list of files and runs.
        depth: documents of each query that the runs reranked, if others follow below them; None: all.
        mix_method: method of mixing scorers; None: as in the evidence.
        notes: counts remarks on the inputs, such as evidence in several units.

    Raises:
        InputError: neither evidence nor a run, evidence of early stopping or of different methods of mixing, or a
            depth below 1.
    """
    if depth is not None and depth < 1:
        raise InputError("the rerank depth must be at least 1", got=depth)
    opened: list[_File | Run | tuple[Evidence, ...]] = []
    scorers: set[str] = set()
    units: dict[str, None] = {}
    missing = NONE_MISSING
    mixes: list[tuple[tuple[str, ...], str]] = []
    for source in _separate(sources):
        if isinstance(source, tuple) or (isinstance(source, str | Path) and _is_evidence(Path(source))):
            notes.add("evidence files, which the depth does not limit", place_of(source, ""), int(depth is not None))
            file = None if isinstance(source, tuple) else _File.at(Path(source))
            header, records = open_evidence(source)
            check_complete(header, source)
            missing = Missing(*map(frozenset.union, missing, missing_in(header)))
            scorers |= {header["scorer"]} if "scorer" in header else set()
            units |= {header["unit"]: None} if "unit" in header else {}
            parts, records = parts_in(header, records)
            mixes.append((parts, method_in(header)))
            opened.append(tuple(records) if file is None else file)
        else:
            mixes.append(((), "minmax"))
            run = read_run(source, notes)
            opened.append(Run(run.tag, (row for query_id in run for row in run[query_id][:depth])))
    if mix_method is None and len({method for parts, method in mixes if parts}) > 1:
        got = ", ".join(method for _, method in mixes)
        fix = "give evidence of one method, or name the method"
        raise InputError("scorers are mixed by different methods", about=("evidence",), got=got, fix=fix)
    parts, method = mixes[0] if len({parts for parts, _ in mixes}) == 1 else ((), "minmax")
    if len(units) > 1:
        notes.say(f"evidence in several units ({', '.join(units)}): a single weight is learned for all of them")
    first = read_run(first_stage, notes)
    return Reranked(first, tuple(opened), missing, frozenset(scorers), parts, mix_method or method)


def _separate(sources: Any) -> list[Any]:
    """Return a list of sources; `Evidence` values are one source, a tuple, and so are a header and its evidence."""
    if _is_source(sources) or not isinstance(sources, Iterable):
        return [sources]
    items = list(sources)
    with_header = len(items) == 2 and isinstance(items[0], Mapping) and not _is_source(items[1])
    return [tuple(items)] if with_header or (items and isinstance(items[0], Evidence)) else items


def _is_source(value: Any) -> bool:
    return isinstance(value, str | Path | Run | Mapping) or is_frame(value)


def _is_evidence(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(1) == b"{"
    except OSError:
        return False  # `read_run` then raises the error


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
