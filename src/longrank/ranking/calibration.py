"""Which documents cannot enter the top k? A bound on the expensive score given the cheap one, learned from evidence.

The candidates of a query are read in the order of their cheap document score, k at a time, until the
bound of the next one is below the k-th best expensive score so far (`may_stop`); all others are left alone.

    bound(x) = g(x) + margin

g is the monotone regression (pool adjacent violators) of expensive on cheap scores over all pairs of the
calibration's queries. The margin is the least for which the risk, the mean share of a query's true top k
that is left alone, is controlled (conformal risk control, Angelopoulos et al. 2022): R being the risk over
the n queries, (n R + 1) / (n + 1) <= the risk asked for. What is reported is measured on held-out queries: each
fifth by a bound learned from the other four.
"""

from __future__ import annotations

import bisect
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.formats.evidence import read_evidence
from longrank.protocols import Aggregator
from longrank.storage import atomic_write
from longrank.types import Evidence

Floats = NDArray[np.float64]

FORMAT, VERSION = "longrank-calibration", 1
_FOLDS = 5
_BARELY = 1e-9


class Pairs(NamedTuple):
    """Cheap and expensive document scores of one query's candidates, float64[D] each, cheap ones falling."""

    cheap: Floats
    expensive: Floats


class Bound(NamedTuple):
    """The bound: g is piecewise linear through the points (x, y), and constant beyond them; float64[N] each."""

    x: Floats
    y: Floats
    margin: float

    def of(self, cheap: Floats) -> Floats:
        """Return the bound on the expensive score of each document."""
        return np.interp(cheap, self.x, self.y) + self.margin


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


def may_stop(expensive: Sequence[float], next_bound: float, k: int) -> bool:
    """Say whether no document whose bound is at most `next_bound` can enter the top k of those scored."""
    return len(expensive) >= k and next_bound < sorted(expensive)[-k]


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


def fit(pairs: Sequence[Pairs], k: int, risk: float) -> Bound:
    """Return the bound with the least margin that controls the risk.

    Raises:
        InputError: too few queries for this risk.
    """
    n = len(pairs)
    if (n + 1) * risk < 1:
        fix = f"calibrate with {math.ceil(1 / risk) - 1} queries or more, or allow more risk"
        raise InputError("too few queries for this risk", got=f"{n} queries, risk {risk}", fix=fix)
    x, y = monotone(np.concatenate([one.cheap for one in pairs]), np.concatenate([one.expensive for one in pairs]))
    # A walk changes only where the margin passes the distance of a bound to the score that it is compared with.
    distances = sorted({distance for one in pairs for distance in _distances(one, Bound(x, y, 0.0), k)})
    margins = [*(distance - _BARELY for distance in distances), distances[-1] + _BARELY] if distances else [0.0]

    def controlled(margin: float) -> bool:
        missed = math.fsum(_missed(one, n_read(one, Bound(x, y, margin), k), k) for one in pairs)
        return (missed + 1) / (n + 1) <= risk

    return Bound(x, y, margins[bisect.bisect_left(margins, True, hi=len(margins) - 1, key=controlled)])


def held_out(pairs: Mapping[str, Pairs], k: int, risk: float) -> tuple[float, float]:
    """Return the mean share of the true top k, and the share of candidates, left alone by bounds of other queries.

    Raises:
        InputError: too few queries for this risk.
    """
    bounds = held_out_bounds(pairs, k, risk)
    read = {query_id: n_read(one, bounds[query_id], k) for query_id, one in pairs.items()}
    missed = math.fsum(_missed(one, read[query_id], k) for query_id, one in pairs.items()) / len(pairs)
    return missed, 1 - sum(read.values()) / sum(len(one.cheap) for one in pairs.values())


def held_out_bounds(pairs: Mapping[str, Pairs], k: int, risk: float) -> dict[str, Bound]:
    """Return for each query the bound that is learned from the four fifths of queries without it.

    Raises:
        InputError: too few queries for this risk.
    """
    others = [[one for query_id, one in pairs.items() if _fold(query_id) != fold] for fold in range(_FOLDS)]
    bounds = [fit(some, k, risk) for some in others]
    return {query_id: bounds[_fold(query_id)] for query_id in pairs}


def n_read(pairs: Pairs, bound: Bound, k: int) -> int:
    """Return how many documents of a query are read before the walk stops."""
    bounds, expensive = bound.of(pairs.cheap).tolist(), pairs.expensive.tolist()
    for n in range(k, len(bounds), k):
        if may_stop(expensive[:n], bounds[n], k):
            return n
    return len(bounds)


def monotone(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the monotone regression of y on x: the mean x and the mean y, both rising, of pooled neighbours."""
    values, place = np.unique(x, return_inverse=True)
    counts = np.bincount(place).astype(float)
    pools: list[tuple[float, float, float]] = []  # sums of x and of y, and how many
    for one in zip(values * counts, np.bincount(place, y), counts, strict=True):
        sum_x, sum_y, n = (float(part) for part in one)
        while pools and pools[-1][1] / pools[-1][2] >= sum_y / n:
            before = pools.pop()
            sum_x, sum_y, n = sum_x + before[0], sum_y + before[1], n + before[2]
        pools.append((sum_x, sum_y, n))
    sums = np.array(pools)
    return sums[:, 0] / sums[:, 2], sums[:, 1] / sums[:, 2]


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


def walk(doc_ids: Sequence[str], cheap: Sequence[float]) -> list[int]:
    """Return the positions of documents in the order in which they are read: best first, ties by doc_id falling."""
    return sorted(range(len(doc_ids)), key=lambda n: (cheap[n], doc_ids[n]), reverse=True)


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


def _distances(pairs: Pairs, bound: Bound, k: int) -> Iterator[float]:
    """Yield, for each place where the walk may stop, the margin from which on it does not."""
    bounds, expensive = bound.of(pairs.cheap).tolist(), pairs.expensive.tolist()
    for n in range(k, len(bounds), k):
        yield sorted(expensive[:n])[-k] - bounds[n]


def _missed(pairs: Pairs, read: int, k: int) -> float:
    """Return the share of the true top k that is not among the first `read` documents."""
    best = np.argsort(-pairs.expensive, kind="stable")[:k]
    return float(np.mean(best >= read))


def _fold(query_id: str) -> int:
    return int.from_bytes(hashlib.sha256(query_id.encode()).digest()[:8], "big") % _FOLDS
