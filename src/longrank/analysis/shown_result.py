"""Result of measuring shown passages: a row for each input, and break-downs by document length and answer place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longrank.analysis.estimates import SAMPLES, Estimate, by_query, estimates, thirds
from longrank.analysis.gold import Gold, Pair
from longrank.analysis.plots import plot_lines
from longrank.analysis.result import columns
from longrank.analysis.shown import measure_names, measured
from longrank.errors import printable
from longrank.types import Span

_LENGTHS = ("short", "medium", "long")
_PLACES = ("beginning", "middle", "end")

Estimates = Mapping[str, Estimate | None]
"""measure -> its estimate; None without a value."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The measures of an input.

    Attributes:
        measures: measures over all pairs.
        differences: measures less those of the first input, query by query; empty for the first input itself.
        by_length: measures by thirds of the document lengths: short, medium, long.
        by_place: measures by the third of the document that the first answer, or gold span, has its middle in.
    """

    measures: Estimates
    differences: Estimates
    by_length: Mapping[str, Estimates]
    by_place: Mapping[str, Estimates]


@dataclass(frozen=True, slots=True)
class ShownResult:
    """The measures of all inputs over the pairs that they have in common.

    Attributes:
        gold: ``answers`` or ``spans``.
        queries: number of queries.
        pairs: number of (query, relevant document) pairs.
        groups: group of `Shown.by_length` or `by_place` -> its number of pairs.
        lengths: longest document of each third, in characters.
        cutoffs: numbers k.
        seed: seed of the bootstrap.
        inputs: name -> measures.
    """

    gold: str
    queries: int
    pairs: int
    groups: Mapping[str, int]
    lengths: Mapping[str, int]
    cutoffs: tuple[int, ...]
    seed: int
    inputs: Mapping[str, Shown]


def shown_result(
    inputs: Mapping[str, Mapping[Pair, Sequence[Span]]],
    pairs: Mapping[Pair, Gold],
    cutoffs: Sequence[int],
    *,
    answers: bool,
    seed: int,
) -> ShownResult:
    """Measure inputs.

    Args:
        inputs: name -> (query_id, doc_id) -> passages, best first; each has all pairs.
        pairs: gold of one pair or more.
        cutoffs: numbers k, ascending.
        answers: True: passages are to contain the answer; False: to hit gold spans.
        seed: seed of the bootstrap.
    """
    names, golds = measure_names(cutoffs), list(pairs.values())
    third = thirds([gold.length for gold in golds])
    places = [place(gold, answers=answers) for gold in golds]
    groups = {name: np.flatnonzero(third == n) for n, name in enumerate(_LENGTHS)}
    groups |= {name: np.flatnonzero(np.array(places) == n) for n, name in enumerate(_PLACES)}
    ids = [query_id for query_id, _ in pairs]

    def estimated(values: NDArray[np.float64]) -> Estimates:
        return dict(zip(names, estimates(values, seed=seed), strict=True))

    rows: dict[str, Shown] = {}
    first: NDArray[np.float64] | None = None
    for name, orders in inputs.items():
        values = [measured(orders[pair], gold, cutoffs, answers=answers) for pair, gold in pairs.items()]
        every = by_query(values, ids, names)
        parts = {
            group: estimated(by_query([values[n] for n in own], [ids[n] for n in own], names))
            for group, own in groups.items()
        }
        rows[name] = Shown(
            measures=estimated(every),
            differences={} if first is None else estimated(every - first),
            by_length={group: parts[group] for group in _LENGTHS},
            by_place={group: parts[group] for group in _PLACES},
        )
        first = every if first is None else first
    longest = {name: max((golds[n].length for n in groups[name]), default=0) for name in _LENGTHS}
    return ShownResult(
        gold="answers" if answers else "spans",
        queries=len({query_id for query_id, _ in pairs}),
        pairs=len(pairs),
        groups={name: len(own) for name, own in groups.items()},
        lengths=longest,
        cutoffs=tuple(cutoffs),
        seed=seed,
        inputs=rows,
    )


def place(gold: Gold, *, answers: bool) -> int:
    """Return the third of the document, 0 to 2, that the first answer or gold span has its middle in."""
    start, end = (gold.answers if answers else gold.spans)[0]
    return int(3 * (start + end) / (2 * gold.length))


def shown_text(result: ShownResult) -> str:
    """Return tables of the measures in per cent, RR and characters, and of hits by document length and place."""
    hits, coverages = ([f"{kind}@{k}" for k in result.cutoffs] for kind in ("hit", "coverage"))
    first, *others = result.inputs
    main = [*hits, "RR", "characters"]
    kind = "answer" if result.gold == "answers" else "first gold span"
    parts = [
        f"{result.gold} of {result.pairs:,} relevant documents, {result.queries:,} queries\n"
        "means in per cent (RR and characters as they are) with 95% confidence intervals: "
        f"bootstrap over queries, {SAMPLES:,} samples, seed {result.seed}",
        _table({name: shown.measures for name, shown in result.inputs.items()}, main),
        _table(
            {name: shown.measures for name, shown in result.inputs.items()}, ["precision", "recall", "F1", *coverages]
        ),
    ]
    if others:
        differences = {name: result.inputs[name].differences for name in others}
        parts.append(f"difference from {printable(first)}\n{_table(differences, main, sign='+')}")
    parts.append(f"{hits[0]} by document length and by place of the {kind}\n{_groups(result, hits[0])}")
    return "\n\n".join(parts)


def _table(inputs: Mapping[str, Estimates], names: Sequence[str], sign: str = "") -> str:
    rows = [
        (name, *(_cell(measure, measures[measure], sign) for measure in names)) for name, measures in inputs.items()
    ]
    return columns(("", *names), rows)


def _cell(measure: str, estimate: Estimate | None, sign: str) -> str:
    if estimate is None:
        return "-"
    values = (estimate.mean, estimate.low, estimate.high)
    if measure == "characters":
        mean, low, high = (f"{value:{sign},.0f}" for value in values)
    elif measure == "RR":
        mean, low, high = (f"{value:{sign}.3f}" for value in values)
    else:
        mean, low, high = (f"{100 * value:{sign}.1f}" for value in values)
    return f"{mean} [{low}, {high}]"


def _groups(result: ShownResult, measure: str) -> str:
    rows = [("documents", *(f"{n:,}" for n in result.groups.values()))]
    rows.append(("characters, up to", *(f"{n:,}" for n in result.lengths.values()), *("" for _ in _PLACES)))
    for name, shown in result.inputs.items():
        found = [part[measure] for part in (*shown.by_length.values(), *shown.by_place.values())]
        rows.append((name, *("-" if estimate is None else f"{100 * estimate.mean:.1f}" for estimate in found)))
    return columns(("", *result.groups), rows)


def plot_shown(path: Path, result: ShownResult) -> None:
    """Draw hits and coverage by k, a line for each input."""
    panels = {
        f"{kind}@k": {
            name: {k: estimate.mean for k in result.cutoffs if (estimate := shown.measures[f"{kind}@{k}"])}
            for name, shown in result.inputs.items()
        }
        for kind in ("hit", "coverage")
    }
    plot_lines(path, panels, "k")
