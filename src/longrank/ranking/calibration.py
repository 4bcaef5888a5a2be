"""Calibrations: a bound that was learned from evidence, and what it costs on held-out queries, in a JSON file.

The cheap and the expensive evidence are of the same candidates. What is reported is measured on held-out
queries: each fifth by a bound (`longrank.ranking.bounds`) learned from the other four.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from longrank.errors import InputError
from longrank.formats.evidence import read_evidence
from longrank.protocols import Aggregator
from longrank.ranking.bounds import Bound, Pairs, fit, held_out, walk
from longrank.storage import atomic_write
from longrank.types import Evidence

FORMAT, VERSION = "longrank-calibration", 1


@dataclass(frozen=True, slots=True)
class Calibration:
    """A bound, what it was learned from, and what it costs.

    Attributes:
        k: the top that is to be kept.
        risk: asked for: mean share of the true top k that may be left alone.
        aggregator: passage scores to document score, for both scorers.
        cheap: fingerprint of the cheap document scorer.
        expensive: fingerprint of the expensive one.
        queries: how many queries it was learned from.
        missed: on held-out queries, the mean share of the true top k that was left alone.
        left_alone: on held-out queries, the share of all candidates that was left alone.
        x: with `y` and `margin` the `Bound`.
        y: as said.
        margin: as said.
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

    @property
    def bound(self) -> Bound:
        """The bound, ready for use."""
        return Bound(np.array(self.x), np.array(self.y), self.margin)

    @property
    def summary(self) -> str:
        """What it saves and what it costs, in words."""
        return (
            f"{self.left_alone:.1%} of the candidates left alone, {self.missed:.1%} of the true top {self.k} "
            f"missed, on held-out queries ({self.queries} in all; asked for: at most {self.risk:.1%})"
        )


def calibrate(
    cheap_path: Path, expensive_path: Path, aggregator: str, score: Aggregator, *, k: int, risk: float
) -> Calibration:
    """Learn a bound from two evidence files of the same queries and candidates.

    Args:
        cheap_path: what the cheap scorer says.
        expensive_path: what the expensive one says.
        aggregator: the name of `score`.
        score: passage scores to document score, for both.
        k: the top that is to be kept, 1 or more.
        risk: mean share of the true top k that may be left alone, above 0 and below 1.

    Raises:
        InputError: an option is out of range, a candidate has no cheap evidence, or there are too few queries
            for the risk.
        IntegrityError: a file is damaged or unfinished.
    """
    if k < 1 or not 0 < risk < 1:
        raise InputError("k must be 1 or more, and the risk between 0 and 1", got=f"k={k} risk={risk}")
    (cheap_header, cheap), (header, expensive) = read_evidence(cheap_path), read_evidence(expensive_path)
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
    )


def document_scores(evidence: Iterable[Evidence], score: Aggregator) -> dict[str, dict[str, float]]:
    """Return query_id -> doc_id -> score."""
    result: dict[str, dict[str, float]] = {}
    for one in evidence:
        result.setdefault(one.query_id, {})[one.doc_id] = score(one)
    return result


def joined(
    cheap: Mapping[str, Mapping[str, float]], expensive: Mapping[str, Mapping[str, float]], cheap_path: Path
) -> dict[str, Pairs]:
    """Return the pairs of each query, in the order of the walk: cheap score falling, doc_id falling.

    Raises:
        InputError: a candidate has no cheap score; names it.
    """
    result = {}
    for query_id, scores in expensive.items():
        known = cheap.get(query_id, {})
        for doc_id in scores:
            if doc_id not in known:
                raise InputError(
                    f"holds no evidence of document {doc_id!r} for query {query_id!r}",
                    path=cheap_path,
                    fix="score the same run to the same depth with both scorers",
                )
        order = walk(list(scores), [known[doc_id] for doc_id in scores])
        doc_ids = [list(scores)[n] for n in order]
        result[query_id] = Pairs(np.array([known[d] for d in doc_ids]), np.array([scores[d] for d in doc_ids]))
    return result


def write_calibration(calibration: Calibration, path: Path) -> None:
    """Write a calibration as JSON.

    Raises:
        InputError: it cannot be written there.
    """
    with atomic_write(path, "w") as stream:
        json.dump({"format": FORMAT, "version": VERSION} | asdict(calibration), stream, indent=1)
        stream.write("\n")


def read_calibration(path: Path) -> Calibration:
    """Read a calibration.

    Raises:
        InputError: no such file, or not a calibration.
    """
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if (data.pop("format"), data.pop("version")) != (FORMAT, VERSION):
            raise ValueError
        return Calibration(**data | {"x": tuple(map(float, data["x"])), "y": tuple(map(float, data["y"]))})
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError("is not a calibration", path=path, fix="longrank calibrate writes them") from None
