"""Calibrations: a bound learned from evidence, with its cost on held-out queries, in a JSON file.

The cheap and the expensive evidence have the same candidates. Costs are measured by five-fold cross-validation:
each fold by a bound (`longrank.ranking.bounds`) learned on the other four.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from longrank.errors import InputError, IntegrityError
from longrank.formats.evidence import check_complete, read_evidence
from longrank.protocols import Aggregator
from longrank.ranking.bounds import Bound, Pairs, fit, held_out, walk
from longrank.small_files import RECORD, read_small
from longrank.storage import atomic_write, digest_of
from longrank.types import Evidence

FORMAT, VERSION = "longrank-calibration", 1


@dataclass(frozen=True, slots=True)
class Calibration:
    """A bound, its training data and its cost.

    Attributes:
        k: size of the top k that must be preserved.
        risk: allowed risk: mean share of the true top k that may be skipped.
        aggregator: name of the aggregator, of both scorers.
        cheap: fingerprint of the cheap document scorer.
        expensive: fingerprint of the expensive document scorer.
        queries: number of training queries.
        missed: on held-out queries, the mean share of the true top k that was skipped.
        left_alone: on held-out queries, the share of all candidates that was skipped.
        x: x coordinates of the `Bound`.
        y: y coordinates of the `Bound`.
        margin: margin of the `Bound`.
        depth: most candidates of a training query; the bound holds for no more. 0: unknown, of an earlier version.
    """

    k: int
    risk: float
    aggregator: str
    cheap: str
    expensive: str
    queries: int
    missed: float
    left_alone: float
    x: tuple[float, ...]
    y: tuple[float, ...]
    margin: float
    depth: int = 0

    @property
    def bound(self) -> Bound:
        """The bound."""
        return Bound(np.array(self.x), np.array(self.y), self.margin)

    @property
    def summary(self) -> str:
        """Savings and cost on one line."""
        return (
            f"{self.left_alone:.1%} of the candidates skipped, {self.missed:.1%} of the true top {self.k} missed, "
            f"on held-out queries ({self.queries} queries; at most {self.risk:.1%} may be missed)"
        )


def calibrate(
    cheap_path: Path, expensive_path: Path, aggregator: str, score: Aggregator, *, k: int, risk: float
) -> Calibration:
    """Learn a bound from two evidence files of the same queries and candidates.

    Args:
        cheap_path: evidence of the cheap scorer.
        expensive_path: evidence of the expensive scorer.
        aggregator: name of `score`.
        score: the aggregator, of both scorers.
        k: size of the top k that must be preserved, 1 or more.
        risk: mean share of the true top k that may be skipped, above 0 and below 1.

    Raises:
        InputError: an option is out of range, the evidence is of two indexes, of other queries or of other passages, or
            incomplete since early stopping skipped documents, a candidate has no cheap evidence, or there are too few
            queries for the risk.
        IntegrityError: a file is damaged or unfinished.
    """
    if k < 1 or not 0 < risk < 1:
        raise InputError("k must be 1 or more, and the risk between 0 and 1", got=f"k={k} risk={risk}")
    (cheap_header, cheap), (header, expensive) = read_evidence(cheap_path), read_evidence(expensive_path)
    check_complete(cheap_header, cheap_path)
    check_complete(header, expensive_path)
    for key, what in (("collection", "another collection"), ("queries", "other queries")):
        if cheap_header.get(key) != header.get(key):
            fix = "score the same run of the same queries and index with both scorers"
            raise InputError(f"is evidence of {what} than {expensive_path}", path=cheap_path, fix=fix)
    if _passages_of(cheap_header) != _passages_of(header):
        fix = "split documents in the same way for both scorers: see passages.preset and title"
        raise InputError(f"is evidence of other passages than {expensive_path}", path=cheap_path, fix=fix)
    pairs = joined(document_scores(cheap, score), document_scores(expensive, score), cheap_path)
    bound = fit(list(pairs.values()), k, risk)
    missed, left_alone = held_out(pairs, k, risk)
    return Calibration(
        k=k,
        risk=risk,
        aggregator=aggregator,
        cheap=cheap_header["scorer"],
        expensive=header["scorer"],
        queries=len(pairs),
        missed=missed,
        left_alone=left_alone,
        x=tuple(bound.x.tolist()),
        y=tuple(bound.y.tolist()),
        margin=bound.margin,
        depth=max(len(each.cheap) for each in pairs.values()),
    )


def _passages_of(header: Mapping[str, Any]) -> str:
    """Return the part of a scorer's fingerprint that names title and segmenter; empty for other evidence."""
    parts = header["scorer"].split(" | ")
    return parts[-2] if len(parts) > 2 else ""


def document_scores(evidence: Iterable[Evidence], score: Aggregator) -> dict[str, dict[str, float]]:
    """Return query_id -> doc_id -> score."""
    result: dict[str, dict[str, float]] = {}
    for document in evidence:
        result.setdefault(document.query_id, {})[document.doc_id] = score(document)
    return result


def joined(
    cheap: Mapping[str, Mapping[str, float]], expensive: Mapping[str, Mapping[str, float]], cheap_path: Path
) -> dict[str, Pairs]:
    """Return the pairs of each query in the order of `walk`.

    Raises:
        InputError: a candidate has a score of one scorer only; names it.
    """
    result = {}
    for query_id, scores in expensive.items():
        known = cheap.get(query_id, {})
        if differing := scores.keys() ^ known.keys():
            doc_id = min(differing)
            what = "holds no" if doc_id in scores else "alone holds"
            raise InputError(
                f"{what} evidence of document {doc_id!r} for query {query_id!r}",
                path=cheap_path,
                fix="score the same run to the same depth with both scorers",
            )
        candidates = list(scores)
        doc_ids = [candidates[n] for n in walk(candidates, [known[doc_id] for doc_id in candidates])]
        cheap_scores, expensive_scores = (np.array([of[doc_id] for doc_id in doc_ids]) for of in (known, scores))
        result[query_id] = Pairs(cheap_scores, expensive_scores, doc_ids)
    return result


def write_calibration(calibration: Calibration, path: Path) -> None:
    """Write a calibration as JSON.

    Raises:
        InputError: it cannot be written there.
    """
    data = {"format": FORMAT, "version": VERSION} | asdict(calibration)
    with atomic_write(path, "w") as stream:
        json.dump(data | {"checksum": digest_of(data)}, stream, indent=1)
        stream.write("\n")


def read_calibration(path: Path) -> Calibration:
    """Read a calibration.

    Raises:
        InputError: no such file, or not a calibration.
        IntegrityError: it has another checksum; calibrations of earlier versions have none.
    """
    try:
        data: dict[str, Any] = json.loads(read_small(path, RECORD, "calibrations"))
        if (checksum := data.pop("checksum", None)) is not None and checksum != digest_of(data):
            raise IntegrityError(f"{path}: checksum differs; the file is damaged: calibrate again")
        if (data.pop("format"), data.pop("version")) != (FORMAT, VERSION):
            raise ValueError
        calibration = TypeAdapter(Calibration).validate_python(data)
        unlike = Calibration.__dataclass_fields__.keys() ^ data.keys()
        if unlike - {"depth"} or not _is_sound(calibration):
            raise ValueError
        return calibration
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError("is not a calibration", path=path, fix="longrank calibrate writes them") from None


def _is_sound(calibration: Calibration) -> bool:
    """Tell whether the points are those of a bound: finite, as many x as y, and both ascending."""
    x, y, margin = calibration.bound
    finite = bool(np.isfinite([*x, *y, margin]).all())
    return finite and len(x) == len(y) > 0 and all(bool((np.diff(values) >= 0).all()) for values in (x, y))
