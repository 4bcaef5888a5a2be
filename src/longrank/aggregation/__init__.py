"""From the evidence of a document to its score: pure numpy functions of `Evidence`, by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from inspect import Parameter, signature
from typing import Any

from longrank.aggregation.network import document
from longrank.aggregation.pooling import avgp, firstp, kmaxp, maxp, sump
from longrank.aggregation.sentence import weighted_mean
from longrank.aggregation.weighted import birch
from longrank.config import lookup
from longrank.errors import InputError
from longrank.protocols import Aggregator

AGGREGATORS: dict[str, Callable[..., float]] = {
    "firstp": firstp,
    "maxp": maxp,
    "sump": sump,
    "avgp": avgp,
    "kmaxp": kmaxp,
    "birch": birch,
    "max": maxp,
    "sum": sump,
    "wmean": weighted_mean,
    "document": document,
}
"""name -> function of Evidence; keyword-only parameters are its options (``max``, ``sum``, ``wmean``: Santos)."""


def make_aggregator(name: str, *, k: int | None = None, weights: Sequence[float] | None = None) -> Aggregator:
    """Return an aggregator.

    Args:
        name: one of `AGGREGATORS`.
        k: how many passages `kmaxp` counts, 1 or more; 3 if not given.
        weights: of the best, second best, ... sentence (`birch`).

    Raises:
        InputError: unknown name, an option that the aggregator does not take or that is out of
            range, or one that it needs and that is not given.
    """
    function = lookup(AGGREGATORS, name, "aggregator")
    options: dict[str, Any] = {}
    if k is not None:
        options["k"] = _positive(k)
    if weights is not None:
        options["weights"] = _finite(weights)
    taken = {p.name: p for p in signature(function).parameters.values() if p.kind is Parameter.KEYWORD_ONLY}
    for option, value in options.items():
        if option not in taken:
            raise InputError(f"aggregator '{name}' takes no {option}", got=value)
    for option, parameter in taken.items():
        if option not in options and parameter.default is Parameter.empty:
            raise InputError(f"aggregator '{name}' needs {option}", fix=f"give {option}, e.g. {_EXAMPLES[option]}")
    return partial(function, **options) if options else function


_EXAMPLES = {"weights": "1,0.1,0.1"}


def _positive(k: int) -> int:
    if k < 1:
        raise InputError("k of kmaxp is 1 or more", got=k)
    return k


def _finite(weights: Sequence[float]) -> tuple[float, ...]:
    if not weights or not all(map(math.isfinite, weights)):
        raise InputError("weights are one or more finite numbers", got=list(weights))
    return tuple(weights)
