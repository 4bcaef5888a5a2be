"""Mix the scores of several passage scorers, over all scored passages of a query.

    minmax   sum over parts k of  w_k * (s_k - min_k) / (max_k - min_k)     equal scores all become 1
    rrf      sum over parts k of  w_k / (60 + rank_k)                       equal scores have equal ranks

A part is the scores of one scorer; min_k, max_k and rank_k are over all scored passages of all candidates of the
query. Sums are float64 in the order of the parts; the mixed score is float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from longrank.aggregation import find_aggregation
from longrank.config import listed
from longrank.errors import InputError
from longrank.formats.evidence import MIX, PARTS
from longrank.fusion import reciprocal_ranks, scaled
from longrank.registries import lookup, suggestion
from longrank.types import Evidence, Float32s

Parts: TypeAlias = Mapping[str, Float32s]
"""Name of a scorer -> its scores of a document's passages, float32[P]; the main scorer first."""

METHODS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {"minmax": scaled, "rrf": reciprocal_ranks}
"""name -> the scale of a part's scores, [N] -> [N]."""

_ROUNDING = 1e-9  # of a sum of weights in decimals


@dataclass(frozen=True, slots=True)
class Mix:
    """Weights of the parts, and the method; see `make_mix`.

    Attributes:
        weights: part -> weight; the main scorer first.
        method: a name of `METHODS`.
    """

    weights: Mapping[str, float]
    method: str = "minmax"

    def __str__(self) -> str:
        return f"{self.method} of {', '.join(f'{weight:.10g} {name}' for name, weight in self.weights.items())}"


def make_mix(parts: Sequence[str], weights: Mapping[str, float], method: str = "minmax") -> Mix:
    """Return a mix.

    Args:
        parts: the names of all parts, the main scorer first.
        weights: weights of the other parts; a part without a weight has 0. The main scorer has the rest, 1 - sum.
        method: a name of `METHODS`.

    Raises:
        InputError: a name that is not another part, a weight that is not 0 to 1, weights with a sum above 1, or an
            unknown method.
    """
    lookup(METHODS, method, "method of mixing")
    main, *others = parts
    for name, weight in weights.items():
        if name == main:
            raise InputError("the main scorer has the rest of the weight", got=f"{name}={weight}", fix="leave it out")
        if name not in others:
            raise InputError("no part of the mix", got=name, fix=suggestion(name, others))
        check_weight(name, weight)
    total = math.fsum(weights.values())
    if total > 1 + _ROUNDING:
        raise InputError("the weights of a mix must not add to more than 1", got=f"{total:.10g}")
    return Mix({main: max(0.0, 1 - total), **{name: float(weights.get(name, 0.0)) for name in others}}, method)


def check_mixable(aggregator: str) -> None:
    """Refuse an aggregator that does not read the scores of passages, which a mix changes.

    Raises:
        InputError: such an aggregator, or an unknown one.
    """
    if find_aggregation(aggregator).needs_document_score:
        what = "a mix changes the scores of passages, and this aggregator reads the score of the document"
        raise InputError(what, got=aggregator, fix="choose an aggregator of passage scores, e.g. maxp")


def check_weight(name: str, weight: object) -> None:
    """Refuse a weight that is not a number from 0 to 1.

    Raises:
        InputError: names the part.
    """
    if not isinstance(weight, int | float) or isinstance(weight, bool) or not 0 <= weight <= 1:
        raise InputError(f"the weight of {name} in a mix must be between 0 and 1", got=weight)


def mixed(documents: Sequence[Parts], mix: Mix) -> list[Float32s]:
    """Return the mixed passage scores of each document of one query, float32[P].

    Args:
        documents: the parts of each document, at least one; all scored passages of the query.
        mix: weights and method.
    """
    scale, ends = METHODS[mix.method], np.cumsum([len(parts[next(iter(mix.weights))]) for parts in documents])
    total = np.zeros(ends[-1])
    for name, weight in mix.weights.items():
        total += weight * scale(np.concatenate([parts[name] for parts in documents]).astype(np.float64))
    return np.split(total.astype(np.float32), ends[:-1])


def remixed(evidence: Iterable[Evidence], mix: Mix) -> Iterator[Evidence]:
    """Yield evidence with the passage scores of a mix, over the documents given of each query.

    Raises:
        InputError: evidence without a part of the mix, or the evidence of a query is not together.
    """
    seen: set[str] = set()
    for query_id, documents in groupby(evidence, key=lambda document: document.query_id):
        if query_id in seen:
            raise InputError(
                f"the evidence of query {query_id!r} is not together, so its scores cannot be mixed",
                about=("evidence",),
            )
        seen.add(query_id)
        yield from remixed_query(list(documents), mix)


def remixed_query(documents: Sequence[Evidence], mix: Mix) -> list[Evidence]:
    """Return the evidence of one query with the passage scores of a mix.

    Raises:
        InputError: evidence without a part of the mix.
    """
    scores = mixed([_parts_of(document, mix) for document in documents], mix)
    return [replace(document, passage_score=score) for document, score in zip(documents, scores, strict=True)]


def _parts_of(evidence: Evidence, mix: Mix) -> Parts:
    known = evidence.passage_parts or {}
    for name in mix.weights:
        if name not in known:
            fault = f"evidence of document {evidence.doc_id!r} for query {evidence.query_id!r} has no part of a mix"
            raise InputError(fault, got=name, fix=suggestion(name, known) if known else NO_PARTS)
    return known


NO_PARTS = "rerank with [mix] in the pipeline, which keeps the scores of each scorer"


def mixed_again(
    header: Mapping[str, Any],
    evidence: Iterable[Evidence],
    weights: Mapping[str, float] | None,
    method: str | None = None,
) -> Iterable[Evidence]:
    """Return evidence with the passage scores of another mix; without weights, the evidence as it is.

    Args:
        header: of the evidence file; empty for values in memory.
        evidence: evidence with parts, query by query.
        weights: as of `make_mix`.
        method: a name of `METHODS`; None: the method of the file, else ``minmax``.

    Raises:
        InputError: a method without weights, evidence without parts, or as `make_mix`.
    """
    if weights is None:
        if method is not None:
            raise InputError("a method of mixing needs weights", got=method, fix="give `mix`, such as lexical=0.3")
        return evidence
    names, evidence = parts_in(header, evidence)
    if not names:
        raise InputError(
            "this evidence keeps no parts of a mix", about=("evidence",), got=listed(weights), fix=NO_PARTS
        )
    return remixed(evidence, make_mix(names, weights, method or method_in(header)))


def parts_in(header: Mapping[str, Any], evidence: Iterable[Evidence]) -> tuple[tuple[str, ...], Iterable[Evidence]]:
    """Return the names of the parts, by the header or, of values in memory, by the first document; and the evidence."""
    if header:
        return tuple(header.get(PARTS, ())), evidence
    rest = iter(evidence)
    first = list(islice(rest, 1))
    return tuple(name for document in first for name in document.passage_parts or ()), chain(first, rest)


def mix_header(mix: Mix) -> dict[str, Any]:
    """Return the keys of a mix in the header of an evidence file."""
    main, *others = mix.weights
    about = {"method": mix.method, "weights": {name: mix.weights[name] for name in others}}
    return {PARTS: [main, *others], MIX: about}


def method_in(header: Mapping[str, Any]) -> str:
    """Return the method of the mix in an evidence file, ``minmax`` if there is none."""
    return str(header.get(MIX, {}).get("method", "minmax"))


def mix_of(header: Mapping[str, Any]) -> Mix | None:
    """Return the mix of the passage scores in an evidence file, by its header; None: no mix."""
    about = header.get(MIX)
    return None if about is None else make_mix(header[PARTS], about["weights"], about["method"])
