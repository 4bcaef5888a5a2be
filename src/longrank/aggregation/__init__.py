"""Aggregators by name: numpy functions from a document's `Evidence` to its score."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import Parameter, getdoc
from typing import Any

from longrank.aggregation.network import document
from longrank.aggregation.pooling import avgp, firstp, kmaxp, maxp, sump
from longrank.aggregation.sentence import weighted_mean
from longrank.aggregation.weighted import birch
from longrank.errors import InputError
from longrank.protocols import Aggregator
from longrank.registries import checked_options, keyword_options, lookup


@dataclass(frozen=True, slots=True)
class Aggregation:
    """An aggregator and its properties.

    Attributes:
        function: Evidence -> score; its keyword-only parameters are its options.
        bounded: the score is never below the least nor above the largest passage score.
        picks: the score is the score of one passage, or the network's own.
        needs_document_score: reads `Evidence.document_score`, which only networks that aggregate passages give.
        reads_weights: reads `Evidence.passage_weight`; a search counts query terms only for such aggregators.
        example: values of the options without a default.
    """

    function: Callable[..., float]
    bounded: bool
    picks: bool = False
    needs_document_score: bool = False
    reads_weights: bool = False
    example: Mapping[str, Any] = field(default_factory=dict)

    @property
    def options(self) -> dict[str, Parameter]:
        """The options of the function."""
        return keyword_options(self.function)

    @property
    def about(self) -> str:
        """The first line of the function's docstring."""
        return (getdoc(self.function) or "").partition("\n")[0]


AGGREGATORS: dict[str, Aggregation] = {
    "firstp": Aggregation(firstp, bounded=True, picks=True),
    "maxp": Aggregation(maxp, bounded=True, picks=True),
    "sump": Aggregation(sump, bounded=False),
    "avgp": Aggregation(avgp, bounded=True),
    "kmaxp": Aggregation(kmaxp, bounded=True),
    "birch": Aggregation(birch, bounded=False, example={"weights": [1.0, 0.1, 0.1]}),
    "max": Aggregation(maxp, bounded=True, picks=True),
    "sum": Aggregation(sump, bounded=False),
    "wmean": Aggregation(weighted_mean, bounded=True, reads_weights=True),
    "document": Aggregation(document, bounded=True, picks=True, needs_document_score=True),
}
"""Aggregators by name; ``max``, ``sum`` and ``wmean`` are Santos' names."""


def make_aggregator(name: str, **options: Any) -> Aggregator:
    """Return an aggregator.

    Args:
        name: a key of `AGGREGATORS`.
        options: the keyword-only parameters of its function; None stands for the default.

    Raises:
        InputError: unknown name or option, a value of a wrong type or out of range, or a missing option.
    """
    entry = find_aggregation(name)
    options = {option: value for option, value in options.items() if value is not None}
    options = checked_options(entry.function, f"aggregator '{name}'", options)
    for option, parameter in entry.options.items():
        if option not in options and parameter.default is parameter.empty:
            raise InputError(f"aggregator '{name}' needs {option}", fix=f"give {option}, e.g. {_shown(entry, option)}")
    return partial(entry.function, **options) if options else entry.function


def with_options(name: str, aggregator: Aggregator) -> str:
    """Return an aggregator's name with the options that are not the default: ``"kmaxp"``, ``"kmaxp k=5"``.

    Args:
        name: its name.
        aggregator: from `make_aggregator`.
    """
    parameters, options = find_aggregation(name).options, getattr(aggregator, "keywords", {})
    other = {option: value for option, value in options.items() if value != parameters[option].default}
    return " ".join([name, *(f"{option}={json.dumps(other[option])}" for option in sorted(other))])


def find_aggregation(name: str) -> Aggregation:
    """Return the entry of an aggregator.

    Raises:
        InputError: unknown name; suggests the nearest.
    """
    return lookup(AGGREGATORS, name, "aggregator")


def _shown(entry: Aggregation, option: str) -> str:
    value = entry.example.get(option)
    return ",".join(f"{number:g}" for number in value) if isinstance(value, list) else str(value)
