"""Evidence files: a scorer's result for every passage, written once and resumable to the same bytes.

A journal (`longrank.storage`): one JSON header line, then one record per query
(`longrank.formats.evidence_records`), with a commit mark after each block of queries. The header names everything that
the scores depend on, so a file begun with another model, index, query set or option is refused, and the message names
the difference.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from longrank.errors import InputError, IntegrityError, LongRankError
from longrank.formats.evidence_records import PER_PASSAGE, pack, unpack
from longrank.storage import Journal, read_header, read_journal
from longrank.storage.workplace import working_on
from longrank.types import Evidence, Missing

FORMAT, VERSION = "longrank-evidence", 1
MISSING, KEPT = "missing", "kept"
"""Header keys: documents that the index lacks, ranked last; queries that rank such documents and were not reranked, so
that they keep their ranking (absent if there are none)."""
STOPPED = "stopped"
"""Header key: the aggregation, with its options, for which early stopping skipped documents (`ranking.stopping`)."""
LINEAGE = "lineage"
"""Header key: trainings of the scorer's weights, oldest first: digests of qrels and fold; absent if there are none."""
COMPARED = "compared"
"""Header key: true for evidence of `longrank compare`, whose document scores depend on all compared documents."""
PARTS, MIX = "parts", "mix"
"""Header keys: names of the mixed scorers, and method and weights of the mix (`longrank.aggregation.mixing`)."""


def evidence_header(
    *,
    unit: str,
    scorer: str,
    collection: str,
    queries: str,
    n_queries: int,
    candidates: str,
    options: Mapping[str, object],
) -> dict[str, object]:
    """Return the header of an evidence file; equal headers mean equal bytes.

    Args:
        unit: unit of the passage scores: ``logit``, ``cosine``, ``bm25``, ...
        scorer: fingerprint of the document scorer: weights, segmenter, selector and their options.
        collection: digest of the index.
        queries: digest of the query ids and texts, in order.
        n_queries: number of queries; a file with fewer records is unfinished.
        candidates: digest of the documents to score and of their first-stage scores.
        options: all other settings that change scores (depth, queries per block, ...); each is a key of the header,
            so that a refused resume names it.
    """
    header: dict[str, object] = {
        "format": FORMAT,
        "version": VERSION,
        "unit": unit,
        "scorer": scorer,
        "collection": collection,
        "queries": queries,
        "n_queries": n_queries,
        "candidates": candidates,
    }
    if taken := header.keys() & options.keys():
        raise ValueError(f"options may not be called {sorted(taken)}")
    return header | dict(options)


def missing_in(header: Mapping[str, Any]) -> Missing:
    """Return the documents that the index lacked."""
    return Missing(frozenset(header.get(MISSING, ())), frozenset(header.get(KEPT, ())))


class EvidenceWriter:
    """Writes the evidence of one query after another; as a context manager, it continues an unfinished file.

        with EvidenceWriter(path, header) as writer:
            for block in blocks_of(queries[writer.n_queries_done :]):
                for query in block:
                    writer.write_query(query.query_id, evidence_of(query))
                writer.commit()

    Only one process may write to a path at a time.
    """

    def __init__(self, path: Path, header: Mapping[str, object]) -> None:
        self._path, self._header, self._open = path, header, ExitStack()
        self._parts = _parts_of(header)

    def __enter__(self) -> EvidenceWriter:
        """Create the file, or open it to continue.

        Raises:
            InputError: the file cannot be written, is being written by another process, or was begun
                with another header (names the difference).
            IntegrityError: the file is damaged before its last block.
        """
        with ExitStack() as opening:
            opening.enter_context(working_on(self._path))
            self._journal = opening.enter_context(Journal(self._path, self._header_to_write(), "evidence file"))
            self._open = opening.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        self._open.close()

    def _header_to_write(self) -> Mapping[str, object]:
        """Return the header, without the lineage if an earlier version began the file without it."""
        known = LINEAGE not in self._header or not self._path.exists() or LINEAGE in read_header(self._path)
        return self._header if known else {key: value for key, value in self._header.items() if key != LINEAGE}

    @property
    def n_queries_done(self) -> int:
        """Number of queries whose evidence is safe in the file."""
        return self._journal.n_committed

    def write_query(self, query_id: str, evidence: Sequence[Evidence]) -> None:
        """Add the evidence of one query, one per document; safe after the next `commit`.

        Raises:
            LongRankError: a score is NaN or infinite (names query, document and passage).
        """
        for item in evidence:
            _check(query_id, item, self._parts)
        self._journal.append(pack(query_id, evidence, self._parts))

    def commit(self) -> None:
        """End a block of queries: all evidence up to here survives a crash.

        Raises:
            LongRankError: writing failed (no space left, ...).
        """
        self._journal.commit()


def read_evidence(path: Path | str) -> tuple[dict[str, Any], Iterator[Evidence]]:
    """Return the header of an evidence file, and its evidence in the order it was written.

    Raises:
        InputError: not an evidence file; or, while iterating, a file with another header by now.
        IntegrityError: of another version; or, while iterating, damaged or unfinished.
    """
    path = Path(path)
    header = read_header(path)
    if header.get("format") != FORMAT:
        raise InputError("is not an evidence file", path=path, fix="longrank rerank writes them")
    if header.get("version") != VERSION:
        raise IntegrityError(f"{path}: evidence of version {header.get('version')}; this longrank reads {VERSION}")
    if type(header.get("n_queries")) is not int:
        raise IntegrityError(f"{path}: the header line is damaged: it has no number of queries")
    return header, _evidence_of(path, dict(header))


def is_evidence(path: Path) -> bool:
    """Tell whether a journal is an evidence file, of any version.

    Raises:
        InputError, IntegrityError: as `longrank.storage.read_header`.
    """
    return read_header(path).get("format") == FORMAT


def open_evidence(source: Any) -> tuple[Mapping[str, Any], Iterable[Evidence]]:
    """Return the header and the evidence of a file, or of values in memory, whose header is empty.

    Args:
        source: an evidence file, an iterable of `Evidence`, or the result of `read_evidence`.

    Raises:
        InputError: another source; or, while iterating, an item that is no `Evidence`, or no item at all.
        IntegrityError: as `read_evidence`.
    """
    if isinstance(source, str | Path):
        return read_evidence(Path(source))
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[0], Mapping):
        return source
    if not isinstance(source, Iterable) or isinstance(source, Mapping):
        raise InputError(f"no evidence can be read from a {type(source).__name__}", got=source, fix=_SOURCES)
    return {}, _checked(source)


_SOURCES = "evidence is a file that longrank rerank writes, or Evidence values"


def _checked(values: Iterable[Any]) -> Iterator[Evidence]:
    n = 0
    for n, value in enumerate(values, 1):
        if not isinstance(value, Evidence):
            raise InputError(f"item {n} is no evidence", got=value, fix=_SOURCES)
        yield value
    if n == 0:
        raise InputError("there is no evidence", fix="the list is empty, or its iterator was read before")


def check_complete(header: Mapping[str, Any], source: Any, aggregator: str | None = None) -> None:
    """Refuse evidence that early stopping left incomplete, unless it is ranked by the score of the learned bound.

    Early stopping skips documents that cannot enter the top k by the score for which its bound was learned. By any
    other score (interpolated, of fewer passages, of fewer documents) they might enter it, but would be ranked last.

    Args:
        header: of the evidence file.
        source: the file, or values in memory.
        aggregator: the only score that ranks the documents, as `longrank.aggregation.with_options` names it; None:
            another score.

    Raises:
        InputError: the evidence is incomplete, and its bound is for another score.
    """
    learned = header.get(STOPPED)
    if learned is not None and learned != aggregator:
        what = f"early stopping left this evidence incomplete: its bound holds for {learned} only"
        path = source if isinstance(source, str | Path) else "evidence"
        raise InputError(what, path=path, got=aggregator, fix="rerank without stop.calibration")


def evidence_json(evidence: Evidence) -> dict[str, object]:
    """Return evidence as a JSON object, with its passages as a list of objects; offsets count code points."""
    columns = [getattr(evidence, name).tolist() for name, _ in PER_PASSAGE]
    names = [name.removeprefix("passage_") for name, _ in PER_PASSAGE]
    parts = evidence.passage_parts
    if parts is not None:
        names.append("parts")
        scores = zip(*(part.tolist() for part in parts.values()), strict=True)
        columns.append([dict(zip(parts, row, strict=True)) for row in scores])
    result: dict[str, object] = {
        "query_id": evidence.query_id,
        "doc_id": evidence.doc_id,
        "first_stage": evidence.first_stage,
        "n_passages": evidence.n_passages,
        "n_truncated": evidence.n_truncated,
        "passages": [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)],
    }
    return result if evidence.document_score is None else result | {"document_score": evidence.document_score}


def _parts_of(header: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(header.get(PARTS, ()))


def _evidence_of(path: Path, header: Mapping[str, Any]) -> Iterator[Evidence]:
    n_queries, parts, done = header["n_queries"], _parts_of(header), 0
    for body in read_journal(path, header):
        try:
            rows = unpack(body, parts)
        except (ValueError, KeyError, TypeError, struct.error) as error:
            raise IntegrityError(f"{path}: record {done + 1} cannot be read ({error})") from error
        yield from rows
        done += 1
    if done != n_queries:
        raise IntegrityError(
            f"{path}: unfinished: {done} of {n_queries} queries; run the command that wrote it again to finish it"
        )


def _check(query_id: str, evidence: Evidence, parts: Sequence[str]) -> None:
    arrays = [getattr(evidence, name) for name, _ in PER_PASSAGE] + [*(evidence.passage_parts or {}).values()]
    if [*(evidence.passage_parts or ())] != [*parts]:
        raise ValueError(f"evidence of query {query_id!r} has parts {[*(evidence.passage_parts or ())]}, not {parts}")
    if evidence.query_id != query_id or len({len(array) for array in arrays} | {0}) != 2:
        raise ValueError(
            f"evidence of query {evidence.query_id!r}, document {evidence.doc_id!r} has no or uneven arrays"
        )
    about = f"of document {evidence.doc_id!r} for query {query_id!r}"
    bad = np.flatnonzero(~np.logical_and.reduce([np.isfinite(array) for array in arrays]))
    if bad.size:
        raise LongRankError(f"score or weight of passage {evidence.passage_index[bad[0]]} {about} is not finite")
    if not math.isfinite(evidence.first_stage) or not math.isfinite(evidence.document_score or 0.0):
        raise LongRankError(f"score {about} is not finite")
