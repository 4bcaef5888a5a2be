"""Records of evidence files: the evidence of one query in bytes.

A record is

    uint32          length of the names below, a multiple of 8 less 4
    names           JSON {"doc_id": [D], "query_id": ...}, padded with spaces
    float64[D]      first_stage, document_score (NaN: none)
    int32[D]        n_passages, n_truncated, P (scored passages of each document)
    int32[sum P]    passage_index, passage_start, passage_end
    float32[sum P]  passage_score, passage_weight
    float32[sum P]  passage_parts, once for each name of the header's `parts`; only where scorers are mixed

all little-endian, field after field.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.types import Evidence

_PER_DOCUMENT = (("first_stage", "<f8"), ("document_score", "<f8"))
_COUNTS = (("n_passages", "<i4"), ("n_truncated", "<i4"), ("n_scored", "<i4"))
PER_PASSAGE = (
    ("passage_index", "<i4"),
    ("passage_start", "<i4"),
    ("passage_end", "<i4"),
    ("passage_score", "<f4"),
    ("passage_weight", "<f4"),
)


def pack(query_id: str, rows: Sequence[Evidence], part_names: Sequence[str]) -> bytes:
    """Return the record of one query.

    Args:
        query_id: the query.
        rows: its evidence, one per document.
        part_names: names of the mixed scorers, in the order of the header.
    """
    names = json.dumps({"doc_id": [row.doc_id for row in rows], "query_id": query_id}).encode()
    names += b" " * (-(len(names) + 4) % 8)
    columns: dict[str, list[Any]] = {
        "first_stage": [row.first_stage for row in rows],
        "document_score": [math.nan if row.document_score is None else row.document_score for row in rows],
        "n_passages": [row.n_passages for row in rows],
        "n_truncated": [row.n_truncated for row in rows],
        "n_scored": [len(row.passage_index) for row in rows],
    }
    parts = [np.array(columns[name], dtype).tobytes() for name, dtype in _PER_DOCUMENT + _COUNTS]
    for name, dtype in PER_PASSAGE:
        parts.extend(getattr(row, name).astype(dtype).tobytes() for row in rows)
    for name in part_names:
        parts.extend(row.passage_parts[name].astype("<f4").tobytes() for row in rows if row.passage_parts)
    return b"".join([struct.pack("<I", len(names)), names, *parts])


def unpack(body: bytes, part_names: Sequence[str]) -> Iterator[Evidence]:
    """Return the evidence of a record, one per document.

    Raises:
        ValueError, KeyError, TypeError, struct.error: the bytes are no record with these parts.
    """
    (length,) = struct.unpack_from("<I", body)
    names = json.loads(body[4 : 4 + length])
    doc_ids, at = names["doc_id"], 4 + length
    column: dict[str, NDArray[Any]] = {}
    for name, dtype in _PER_DOCUMENT + _COUNTS:
        column[name] = np.frombuffer(body, dtype, len(doc_ids), at)
        at += column[name].nbytes
    ends = np.cumsum(column["n_scored"])
    parts: dict[str, NDArray[Any]] = {}
    fields = [(column, *field) for field in PER_PASSAGE] + [(parts, name, "<f4") for name in part_names]
    for values, name, dtype in fields:
        values[name] = np.frombuffer(body, dtype, int(ends[-1]) if len(ends) else 0, at)
        at += values[name].nbytes
    if at != len(body):
        raise ValueError(f"{len(body) - at} bytes too many")
    return _rows(names["query_id"], doc_ids, column, parts, ends)


def _rows(
    query_id: str,
    doc_ids: list[str],
    column: Mapping[str, NDArray[Any]],
    parts: Mapping[str, NDArray[Any]],
    ends: NDArray[Any],
) -> Iterator[Evidence]:
    for d, doc_id in enumerate(doc_ids):
        span = slice(int(ends[d] - column["n_scored"][d]), int(ends[d]))
        score = float(column["document_score"][d])
        yield Evidence(
            query_id=query_id,
            doc_id=doc_id,
            first_stage=float(column["first_stage"][d]),
            passage_index=column["passage_index"][span],
            passage_start=column["passage_start"][span],
            passage_end=column["passage_end"][span],
            passage_score=column["passage_score"][span],
            passage_weight=column["passage_weight"][span],
            n_passages=int(column["n_passages"][d]),
            n_truncated=int(column["n_truncated"][d]),
            document_score=None if math.isnan(score) else score,
            passage_parts={name: values[span] for name, values in parts.items()} or None,
        )
